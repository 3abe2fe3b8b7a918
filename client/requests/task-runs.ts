import { hasCapability } from '../../protocol/dialects/capabilities.js'
import { latestHandshake } from '../../protocol/dialects/versions.js'
import { type Task, tasksExtension } from '../../protocol/messages/tasks.js'
import type { TaskMetadata } from '../../protocol/messages/tools.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import { callError } from '../base/errors.js'
import type { ServerFacts } from '../base/state.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import type { TaskDesk, TaskRun } from '../tasks/run.js'
import { readMade, type Told } from '../tasks/told.js'
import { Caller, type CallInput, type CallOutcome } from './caller.js'
import type { ClientParts } from './parts.js'
import type { ToolResult } from './results.js'

const method = 'tools/call'
/** Few clients have tasks. */
const loadRun = /* @__PURE__ */ lazy('../../client/tasks/run.js', () => import('../tasks/run.js'))

/** A tool that was started: its task, or, where the server of 2026-07-28 made none, its result. */
export type StartedTask =
  | { readonly task: Task; readonly result?: undefined }
  | { readonly task?: undefined; readonly result: ToolResult }

/** Calls of tools that are run as tasks, and the wait for tasks of earlier calls. */
export class TaskRuns {
  readonly #parts: ClientParts
  readonly #desk: TaskDesk

  constructor(parts: ClientParts, caller: Caller) {
    const { settings, holdings, gate } = parts
    const { gate: _gate, ...free } = parts
    const request = (by: Caller): TaskDesk['ask'] => {
      return (asked, params, options) =>
        by.call({ method: asked, params, wantsAnswer: true, options: { ...options, retry: 'safe' } })
    }
    this.#parts = parts
    const freely = gate === undefined ? caller : new Caller(free)
    this.#desk = { settings, holdings, ask: request(caller), tell: request(freely), gate }
  }

  /** Asks for a task, and waits for it (2025-11-25). Where the server makes none, that is the result. */
  async call(
    make: (input: CallInput) => Promise<CallOutcome>,
    params: JsonObject,
    task: TaskMetadata,
    options: CallOptions,
  ): Promise<CallOutcome> {
    const run = await this.#run(options, { what: method, owns: true })
    const token = run.track()
    try {
      const { onProgress: _progress, resetOnProgress: _reset, ...plain } = options
      const asked = { ...params, task, ...(token !== undefined && { _meta: { progressToken: token } }) }
      const outcome = await make({ method, params: asked, wantsAnswer: true, options: plain })
      const made = readMade(method, outcome)
      if (made === undefined) return outcome
      return { ...outcome, result: await run.finish(made.task.taskId, made) }
    } finally {
      run.end()
    }
  }

  /** The task that a call has become, as the server decided (2026-07-28); undefined: it is a result. */
  made(outcome: CallOutcome): Told | undefined {
    return readMade(method, outcome)
  }

  /** Waits for the end of a task; `owns`: who gives the wait up gives the task up. */
  async finish(
    taskId: string,
    options: CallOptions | undefined,
    { what = method, owns, first }: { readonly what?: string; readonly owns: boolean; readonly first?: Told },
  ): Promise<JsonObject> {
    return (await this.#run(options, { what, owns })).finish(taskId, first)
  }

  async #run(
    options: CallOptions | undefined,
    { what, owns }: { readonly what: string; readonly owns: boolean },
  ): Promise<TaskRun> {
    const call = readCallOptions(options, this.#parts.settings.timeout)
    const { TaskRun } = await loadRun()
    return new TaskRun(this.#desk, { what, call, owns, isCall: what === method })
  }
}

/** Whether calls of tools may ask for a task (2025-11-25, tasks: `tasks.requests.tools.call`). */
export function takesTasks(server: ServerFacts | undefined): boolean {
  if (server?.capabilities.tasks === undefined || server.revision !== latestHandshake.revision) return false
  return hasCapability(server.capabilities, 'tasks.requests.tools.call')
}

/** Whether a tool can be started as a task at all; in 2026-07-28 the server decides each time. */
export function startsTasks(server: ServerFacts): boolean {
  return server.revision === latestHandshake.revision ? takesTasks(server) : hasTasks(server, '')
}

/** Whether the server declares tasks; in 2025-11-25 it declares `list` and `cancel` apart. */
export function hasTasks({ revision, capabilities }: ServerFacts, part: '' | 'list' | 'cancel'): boolean {
  if (revision === latestHandshake.revision)
    return hasCapability(capabilities, part === '' ? 'tasks' : `tasks.${part}`)
  return part !== 'list' && hasCapability(capabilities, `extensions.${tasksExtension}`)
}

export function unsupported(what: string, { info, revision }: ServerFacts) {
  const text = `${what}: ${info.name} does not offer this, in revision ${revision}`
  return callError('NOT_SUPPORTED', text, { sent: false, retryable: false })
}

/** Whether a tool may have been refused because it has to be a task: it has not run. */
export function mayWantTask(error: unknown): boolean {
  if (!(error instanceof McpError)) return false
  return error.code === errorCodes.methodNotFound || error.code === errorCodes.invalidRequest
}

/** The same where a server puts it into a result: those of the official SDK 1 do. */
export function tellsRefusal({ isError, content }: JsonObject): boolean {
  if (isError !== true || !Array.isArray(content)) return false
  const [first] = content as readonly unknown[]
  return isObject(first) && typeof first.text === 'string' && first.text.startsWith('MCP error -32601')
}
