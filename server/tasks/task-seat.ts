import type { Question } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import { relatedTask } from '../../protocol/messages/tasks.js'
import { cut } from '../../runtime/base/cut.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { forever, type ProcessRef, type RefOf } from '../../runtime/process/ref.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Response } from '../../transports/contract/contract.js'
import { AskError, ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { digestOf, workFacts } from '../base/work-facts.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { SessionFacts } from '../context/context.js'
import type { SessionUse } from '../context/session-state.js'
import { Steps } from '../context/steps.js'
import { readQuestion, withRequirements } from '../requests/question.js'
import type { Work } from '../requests/work.js'
import { type RequestDelivery, SeatWithoutSession } from '../runs/seat.js'
import type { mcpTaskActor } from './actor.js'
import { channelOf, type McpTask } from './mcp-task.js'

const { readMs } = readersOf()
/** Characters of what a handler says that it does. */
const maxMessage = 1_000

/** A run in a task: it has neither a request nor a session any more, and its steps are stored. */
export class McpTaskSeat extends SeatWithoutSession {
  readonly delivery: RequestDelivery
  readonly dialect: Dialect
  /** Undefined for work that was done at once, or is cancelled. */
  answer: Promise<Response | undefined> | undefined
  /** How many answers of each key this run has been given. */
  readonly taken = new Map<string, number>()
  /** Those that wait for an answer, by the id of the question. */
  readonly waiting = new Map<
    string,
    { readonly reply: Deferred<JsonObject>; readonly timer: TimerRef | undefined }
  >()
  /** What `ctx.once` has done and does. */
  readonly steps: Steps
  readonly #task: McpTask

  override get taskId(): string {
    return this.#task.record.id
  }

  /** Its request has been. */
  override get isCounted(): boolean {
    return false
  }

  constructor(
    task: McpTask,
    { name, timeout = Number.POSITIVE_INFINITY }: Work,
    dialect: Dialect,
    delivery: RequestDelivery,
  ) {
    const { host, world, origin } = task
    super({ holdings: host.holdings, tasks: host.runs, world, origin }, { name, timeout })
    this.#task = task
    this.dialect = dialect
    this.delivery = delivery
    this.steps = new Steps(
      new Map(task.record.steps.map(([step, text]) => [step, text ?? undefined])),
      (step, text) => this.#keepStep(step, text),
    )
  }

  override get link(): ProcessRef {
    return this.#task.self
  }

  /** Its id is as good as the task. */
  override about(): WorkFacts {
    const { request, peer } = this.delivery
    return workFacts({ ...request, id: `task ${digestOf(this.#task.record.id)}` }, peer)
  }

  /** The task is being stopped, too, and will go on. */
  override interrupted(): undefined {
    return undefined
  }

  /** Starts the time of the run, or stops it: it stands still while the client is asked. */
  override startClock(since?: number): void {
    if (this.#task.record.asked.length > 0) this.stopClock()
    else super.startClock(since)
  }

  /** Aborts the handler, and nobody waits for an answer any more. */
  override cancel(): void {
    this.stopClock()
    for (const { timer } of this.waiting.values()) timer?.cancel()
    super.cancel()
  }

  get session(): SessionFacts {
    const { client, revision, capabilities } = this.#task.record
    return Object.freeze({ id: undefined, client, revision, capabilities })
  }

  /** Progress and logs go with a request that waits for the task, if there is one. */
  override tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const channel = this.isActive ? channelOf(this.#task) : undefined
    if (channel === undefined) return false
    const _meta = { ...params._meta, [relatedTask]: { taskId: this.#task.record.id } }
    return channel.tell(method, { ...params, _meta })
  }

  noteProgress(message: string): void {
    if (this.isActive) this.#actor.cast('progress', cut(message, maxMessage))
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
    const asked = { run: this, key, method: question, params: this.#fit(question, params), timeout }
    return (await this.#actor.call('ask', asked, forever)) as object as Result<M>
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.checkOpen()
    return this.steps.once(key, fn)
  }

  async #keepStep(key: string, text: string | undefined): Promise<void> {
    this.checkOpen()
    await this.#actor.call('step', { run: this, key, text: text ?? null }, forever)
  }

  get #actor(): RefOf<typeof mcpTaskActor> {
    return this.#task.self as RefOf<typeof mcpTaskActor>
  }

  protected noSession(use: SessionUse = 'state'): ServerError {
    if (use === 'assigns') {
      const problem = `${this.work}: ctx.assigns is made by session.init at the beginning of a session, and a task has none: it outlives it. Open what it has once for the program`
      return new ServerError('NO_SESSION', problem)
    }
    const problem = `${this.work}: ctx.get, ctx.update and ctx.assign need a session, and a task has none: it outlives it. Keep the value under a key that comes with the arguments`
    return new ServerError('NO_SESSION', problem)
  }

  /** Throws AskError MISSING_CAPABILITY, and ServerError BAD_OPTION for a bad question. */
  #fit<Q extends Question>(method: Q, params: Params<Q>): JsonObject {
    const { dialect } = this
    try {
      const { capabilities } = this.#task.record
      return (readQuestion(method, params, { dialect, capabilities }) ?? {}) as JsonObject
    } catch (error) {
      throw dialect.handshake ? error : withRequirements(error)
    }
  }

  protected wants(level: LoggingLevel): boolean {
    return channelOf(this.#task)?.wantsLog(level) === true
  }
}
