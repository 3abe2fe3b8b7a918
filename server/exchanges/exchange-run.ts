import type { Changes } from '../context/changes.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError, type JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef, TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Response } from '../../transports/contract/contract.js'
import { answer, type InProgress, responseAfter } from '../requests/answer.js'
import type { Ask } from '../context/ask.js'
import type { Catalog } from '../catalog/catalog.js'
import { ToolContext } from '../context/context.js'
import type { RequestOrigin } from '../base/events.js'
import type { Exchange } from './exchange.js'
import { ExchangeScope } from './exchange-scope.js'
import type { UndeclaredNeeds } from '../definitions/session-needs.js'
import type { Once } from '../context/steps.js'
import type { Work } from '../requests/work.js'

/** What all runs of a server share. */
export interface RunHost {
  readonly tasks: TaskSupervisor
  readonly clock: Clock
  readonly catalog: Catalog
  readonly origin: RequestOrigin
  readonly exposeErrors: boolean
  readonly undeclared: UndeclaredNeeds
  readonly changes: Changes
}

/**
 * How the code of a run talks with its client across requests: a question is the answer to one, and its
 * answer comes with another.
 */
export interface Dialogue {
  readonly ask: Ask
  readonly once: Once
  /**
   * The run has come to an end; `response` is its answer to the request it worked for last, undefined when
   * that was cancelled.
   */
  ended?(response: Response | undefined): void
  /** Another request for the run to go on with, now that the client of this one is gone. */
  successor?(): Exchange | undefined
}

/** Makes the dialogue of a run that is about to start. */
export type OpenDialogue = (run: ExchangeRun) => Dialogue

/**
 * One run of an author's code, as a task. It works for one request at a time: `park` answers that one while
 * the run waits, `resume` has it go on for another. The time of the work runs only while there is a request.
 */
export class ExchangeRun implements InProgress {
  readonly work: Work
  readonly timeout: number
  readonly dialogue: Dialogue
  deadline = Number.POSITIVE_INFINITY
  cancelled = false
  response: Response | undefined
  readonly #host: RunHost
  #exchange: Exchange
  #task: TaskRef<void> | undefined
  #timer: unknown

  constructor(exchange: Exchange, work: Work, { timeout, open }: RunOptions, host: RunHost) {
    this.#exchange = exchange
    this.work = work
    this.timeout = timeout
    this.#host = host
    this.dialogue = open(this)
  }

  /** The request that it works for, or has worked for last. */
  get exchange(): Exchange {
    return this.#exchange
  }

  get request(): JsonRpcRequest {
    return this.#exchange.call.request
  }

  get dialect(): Dialect {
    return this.#exchange.dialect
  }

  get host(): RunHost {
    return this.#host
  }

  /** Whether it has not ended, and there is a request that what it does is for. */
  get isActive(): boolean {
    return !this.cancelled && this.#exchange.isOpen && this.#task?.ref.alive !== false
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#task?.ref.alive === false
  }

  /**
   * Starts the work, which may be done when this returns. Throws RuntimeError NOPROC when there is no task
   * supervisor.
   */
  start(): void {
    const { tasks, clock } = this.#host
    this.deadline = clock.now() + this.timeout
    const task = tasks.start((ctx) => this.#perform(ctx), { name: this.work.name })
    this.#task = task
    const { reason } = task.ref
    if (reason !== undefined) return this.#ended(reason)
    task.ref.onExit((late) => this.#ended(late))
    this.#attend()
  }

  /** Answers the request while the run goes on without one. */
  park(response: Response): void {
    this.#stopTimer()
    this.#exchange.settle(response)
  }

  /** Goes on for another request, with all its time. */
  resume(exchange: Exchange): void {
    this.#exchange = exchange
    this.deadline = this.#host.clock.now() + this.timeout
    this.#attend()
  }

  /**
   * Ends the run: its signal is aborted, and what it still does has no effect. A request that it works for is
   * answered by nobody.
   */
  cancel(): void {
    this.cancelled = true
    this.#task?.cancel()
  }

  #perform(task: TaskContext): void | Promise<void> {
    const response = answer(this, this.dialect, new ToolContext(new ExchangeScope(this, task)))
    if (isPromise(response)) return this.#conclude(response)
    this.response = response
  }

  async #conclude(response: PromiseLike<Response>): Promise<void> {
    this.response = await response
  }

  /** Only for work that takes a while: listeners and timers cost more than most of it. */
  #attend(): void {
    const { clock } = this.#host
    this.#timer = clock.setTimeout(() => this.#task?.ref.kill(), this.timeout)
    this.#exchange.onAbort(() => this.#clientGone())
  }

  #clientGone(): void {
    const next = this.dialogue.successor?.()
    if (next === undefined) return this.cancel()
    const gone = this.#exchange
    this.#exchange = next
    gone.settle(undefined)
    next.onAbort(() => this.#clientGone())
  }

  #stopTimer(): void {
    if (this.#timer !== undefined) this.#host.clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #ended(reason: ExitReason): void {
    this.#stopTimer()
    const response = this.#responseAfter(reason)
    this.dialogue.ended?.(response)
    this.#exchange.settle(response)
  }

  #responseAfter(reason: ExitReason): Response | undefined {
    const { tasks, clock, exposeErrors } = this.#host
    const task = this.#task
    const isInterrupted = this.response === undefined && !this.cancelled && !tasks.ref.alive
    if (task === undefined || isInterrupted) return interrupted(this.request)
    return responseAfter(this, task.ref, reason, { exposeErrors, now: clock.now() })
  }
}

/** How a run is made. */
export interface RunOptions {
  /** Milliseconds for each request. */
  readonly timeout: number
  readonly open: OpenDialogue
}

/** The answer to a request whose group went down: another try may find it up again. */
export function interrupted({ id }: JsonRpcRequest): Response {
  const message = 'The request was interrupted: try once more'
  return buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
}
