import type { Question } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import { relatedTask } from '../../protocol/messages/tasks.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import { AskError, ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Changes } from '../context/changes.js'
import type { RequestScope, SessionFacts } from '../context/context.js'
import type { Isolation } from '../context/isolated.js'
import { Steps } from '../context/steps.js'
import { readQuestion, withRequirements } from '../requests/question.js'
import { type RequestDelivery, Scope } from '../requests/scope.js'
import type { mcpTaskActor } from './actor.js'
import { channelOf, type McpTask } from './mcp-task.js'
import type { TaskRun } from './run.js'

const { readMs } = readersOf()
/** Characters of what a handler says that it does. */
const maxMessage = 1_000
/** A task has no stream of its own: see `tell`. */
const nowhere = Object.freeze({ send: () => false })

/** What the handler of a task does, which has neither a request nor a session any more. */
export class McpTaskScope extends Scope implements RequestScope {
  readonly assigned = undefined
  readonly #task: McpTask
  readonly #run: TaskRun
  readonly #steps: Steps

  constructor(task: McpTask, run: TaskRun, ctx: TaskContext) {
    super(ctx, task.host.holdings.catalog, task.origin)
    this.#task = task
    this.#run = run
    this.#steps = new Steps(
      new Map(task.record.steps.map(([step, text]) => [step, text ?? undefined])),
      (step, text) => this.#keep(step, text),
    )
    run.steps = this.#steps
  }

  get session(): SessionFacts {
    const { client, revision, capabilities } = this.#task.record
    return Object.freeze({ id: undefined, client, revision, capabilities })
  }

  get changes(): Changes {
    this.checkOpen()
    return this.#task.host.holdings.changes
  }

  get isolation(): Isolation | undefined {
    return this.#task.host.holdings.isolation
  }

  get work(): string {
    return this.#run.work.name
  }

  /** Progress and logs go with a request that waits for the task, if there is one. */
  override tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const channel = this.isActive ? channelOf(this.#task) : undefined
    if (channel === undefined) return false
    const _meta = { ...params._meta, [relatedTask]: { taskId: this.#task.record.id } }
    return channel.tell(method, { ...params, _meta })
  }

  noteProgress(message: string): void {
    const self = this.#task.self as RefOf<typeof mcpTaskActor>
    if (this.isActive) self.cast('progress', message.slice(0, maxMessage))
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    { timeout }: AskOptions,
  ): Promise<Result<M>> {
    this.checkOpen()
    if (timeout !== undefined) readMs(timeout, 'timeout')
    if (method === 'ping') throw new AskError('MISSING_CAPABILITY', 'ping: a task has nobody to ping')
    const question: Question = method
    const asked = { run: this.#run, key, method: question, params: this.#fit(question, params), timeout }
    const self = this.#task.self as RefOf<typeof mcpTaskActor>
    return (await self.call('ask', asked, forever)) as object as Result<M>
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.checkOpen()
    return this.#steps.once(key, fn)
  }

  async #keep(key: string, text: string | undefined): Promise<void> {
    this.checkOpen()
    const self = this.#task.self as RefOf<typeof mcpTaskActor>
    await self.call('step', { run: this.#run, key, text: text ?? null }, forever)
  }

  assign(): never {
    throw this.#noSession()
  }

  async read(): Promise<never> {
    throw this.#noSession()
  }

  async swap(): Promise<never> {
    throw this.#noSession()
  }

  #noSession(): ServerError {
    const problem = `${this.work}: ctx.get, ctx.update and ctx.assign need a session, and a task has none: it outlives it. Keep the value under a key that comes with the arguments`
    return new ServerError('NO_SESSION', problem)
  }

  /** Throws AskError MISSING_CAPABILITY, and ServerError BAD_OPTION for a bad question. */
  #fit<Q extends Question>(method: Q, params: Params<Q>): JsonObject {
    const { dialect } = this.#run
    try {
      const { capabilities } = this.#task.record
      return (readQuestion(method, params, { dialect, capabilities }) ?? {}) as JsonObject
    } catch (error) {
      throw dialect.handshake ? error : withRequirements(error)
    }
  }

  protected get delivery(): RequestDelivery {
    const { request, peer } = this.#run
    return { request, outlet: nowhere, peer }
  }

  protected get dialect(): Dialect {
    return this.#run.dialect
  }

  protected get isActive(): boolean {
    return !this.isOver
  }

  protected get isOver(): boolean {
    const { task, cancelled } = this.#run
    return cancelled || task?.ref.alive === false
  }

  protected wants(level: LoggingLevel): boolean {
    return channelOf(this.#task)?.wantsLog(level) === true
  }
}
