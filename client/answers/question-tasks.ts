import { latestHandshake } from '../../protocol/dialects/versions.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { readTaskId, relatedTask, type Task } from '../../protocol/messages/tasks.js'
import { isOver } from '../../protocol/messages/told-tasks.js'
import type { TaskMetadata } from '../../protocol/messages/tools.js'
import { McpError, unknownMethod } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { metaOf } from '../../protocol/stateless/envelope.js'
import type { World } from '../../runtime/time/world.js'

/** Tasks of one server that are at work; more are refused, since each may ask a person. */
const maxAtWork = 100
/** Tasks in all, those that have ended and are kept included. */
const maxTasks = 1_000
/** Milliseconds that a task is kept from its creation; a server may wish for less, or for more up to the most. */
const usualTtl = 600_000
const mostTtl = 3_600_000
/** Milliseconds between two looks, as a server is told; `tasks/result` waits without any. */
const pollInterval = 1_000

interface QuestionTask {
  task: Task
  readonly controller: AbortController
  readonly expiry: unknown
  /** The outcome, once it is over. */
  outcome: (() => JsonObject) | undefined
  /** Resolved at its end. */
  readonly waiting: Set<() => void>
}

interface QuestionTasksHost {
  readonly world: World
  /** Runs it as a message to the actor; after its end, not at all. */
  readonly post: (fn: () => void) => void
  /** What a handler has thrown, as a server may hear it. */
  readonly refusal: (error: unknown) => McpError
}

/**
 * Questions that a server wants to be tasks (2025-11-25, tasks: sampling and elicitation): answered at once with
 * a task, whose result the server comes back for, in this session or a later one. They end with the actor.
 */
export class QuestionTasks {
  readonly #host: QuestionTasksHost
  readonly #all = new Map<string, QuestionTask>()

  constructor(host: QuestionTasksHost) {
    this.#host = host
  }

  /** Throws McpError -32603 when there are too many. */
  begin({ ttl }: TaskMetadata, work: (signal: AbortSignal) => Promise<JsonObject>): Task {
    const { world, post, refusal } = this.#host
    const atWork = [...this.#all.values()].filter(({ outcome }) => outcome === undefined).length
    if (atWork >= maxAtWork || this.#all.size >= maxTasks)
      throw McpError.internal('this client has too many tasks of the server')
    const now = new Date(world.date()).toISOString()
    const kept = ttlOf(ttl)
    const taskId = world.id()
    const controller = new AbortController()
    const one: QuestionTask = {
      task: { taskId, status: 'working', createdAt: now, lastUpdatedAt: now, ttl: kept, pollInterval },
      controller,
      expiry: world.setTimeout(() => this.#drop(taskId), kept),
      outcome: undefined,
      waiting: new Set(),
    }
    this.#all.set(taskId, one)
    work(controller.signal).then(
      (result) => post(() => this.#end(one, 'completed', () => result)),
      (cause: unknown) => {
        if (controller.signal.aborted) return
        post(() => {
          const error = refusal(cause)
          this.#end(one, 'failed', () => {
            throw error
          })
        })
      },
    )
    return one.task
  }

  /** `tasks/get`, `tasks/result`, `tasks/list`, `tasks/cancel`. Rejects with McpError. */
  async answer(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<JsonObject> {
    switch (method) {
      case 'tasks/get':
        return { ...this.#one(method, params).task }
      case 'tasks/result':
        return await this.#result(this.#one(method, params), signal)
      case 'tasks/list':
        // all are on the first page
        if (params?.cursor !== undefined) throw McpError.invalidParams(`${method}: params.cursor: unknown`)
        return { tasks: [...this.#all.values()].map(({ task }) => task) }
      case 'tasks/cancel':
        return this.#cancel(this.#one(method, params))
      default:
        throw unknownMethod(method)
    }
  }

  /** Ends all of them; nobody is told. */
  end(): void {
    for (const taskId of [...this.#all.keys()]) this.#drop(taskId)
  }

  async #result(one: QuestionTask, signal: AbortSignal): Promise<JsonObject> {
    if (one.outcome === undefined)
      await new Promise<void>((resolve) => {
        const over = (): void => {
          one.waiting.delete(over)
          signal.removeEventListener('abort', over)
          resolve()
        }
        one.waiting.add(over)
        signal.addEventListener('abort', over)
      })
    const { outcome, task } = one
    if (outcome === undefined) throw unknownTask()
    const result = outcome()
    return { ...result, _meta: { ...metaOf(result), [relatedTask]: { taskId: task.taskId } } }
  }

  #cancel(one: QuestionTask): JsonObject {
    if (one.outcome !== undefined)
      throw McpError.invalidParams(`The task has ended already (${one.task.status})`)
    this.#end(one, 'cancelled', () => {
      throw McpError.invalidParams('The task was cancelled')
    })
    one.controller.abort()
    return { ...one.task }
  }

  /** The first end counts. */
  #end(one: QuestionTask, status: Task['status'], outcome: () => JsonObject): void {
    if (isOver(one.task.status)) return
    const lastUpdatedAt = new Date(this.#host.world.date()).toISOString()
    one.task = { ...one.task, status, lastUpdatedAt }
    one.outcome = outcome
    for (const over of [...one.waiting]) over()
  }

  #drop(taskId: string): void {
    const one = this.#all.get(taskId)
    if (one === undefined) return
    this.#all.delete(taskId)
    this.#host.world.clearTimeout(one.expiry)
    one.controller.abort()
    for (const over of [...one.waiting]) over()
  }

  #one(method: string, params: JsonObject | undefined): QuestionTask {
    const one = this.#all.get(readTaskId(method, params))
    if (one === undefined) throw unknownTask()
    return one
  }
}

/** With what servers of 2025-11-25 may have as tasks: all that there is a handler for. */
export function withQuestionTasks(capabilities: ClientCapabilities): ClientCapabilities {
  const { sampling, elicitation } = capabilities
  if (sampling === undefined && elicitation === undefined) return capabilities
  const requests = {
    ...(sampling !== undefined && { sampling: { createMessage: {} } }),
    ...(elicitation !== undefined && { elicitation: { create: {} } }),
  }
  return { tasks: { list: {}, cancel: {}, requests }, ...capabilities }
}

/** Whether a server of this revision knows that. */
export function takesQuestionTasks({ revision }: Dialect, capabilities: ClientCapabilities): boolean {
  return revision === latestHandshake.revision && withQuestionTasks(capabilities).tasks !== undefined
}

function ttlOf(wanted: unknown): number {
  if (typeof wanted !== 'number' || !(wanted > 0)) return usualTtl
  return Math.min(Math.ceil(wanted), mostTtl)
}

function unknownTask(): McpError {
  return McpError.invalidParams('Unknown task')
}
