import type { JsonRpcRequest, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { World } from '../../runtime/time/world.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef, TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Response } from '../../transports/contract/contract.js'
import { answer, type InProgress, responseAfter, tryAgain } from '../requests/answer.js'
import { ToolContext } from '../context/context.js'
import type { RequestOrigin } from '../base/events.js'
import { workFacts } from '../base/work-facts.js'
import type { UndeclaredNeeds } from '../definitions/session-needs.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { Work } from '../requests/work.js'
import { Conversation, type Retry } from './conversation.js'
import type { Conversations } from './conversations.js'
import type { Exchange } from './exchange.js'
import { ExchangeScope } from './exchange-scope.js'

export interface RunHost {
  readonly holdings: Holdings
  readonly tasks: TaskSupervisor
  readonly world: World
  readonly origin: RequestOrigin
  readonly undeclared: UndeclaredNeeds
  readonly conversations: Conversations
}

/** One run of an author's code. It works for one request at a time; its time runs only while there is one. */
export class ExchangeRun implements InProgress {
  readonly host: RunHost
  readonly work: Work
  readonly timeout: number
  readonly conversation: Conversation
  deadline = Number.POSITIVE_INFINITY
  cancelled = false
  response: Response | undefined
  #exchange: Exchange
  #task: TaskRef<void> | undefined
  #timer: unknown

  constructor(exchange: Exchange, retry: Retry, host: RunHost) {
    this.#exchange = exchange
    this.host = host
    this.work = exchange.work
    this.timeout = exchange.work.timeout ?? host.holdings.settings.requestTimeout
    this.conversation = new Conversation(this, retry)
  }

  get exchange(): Exchange {
    return this.#exchange
  }

  get request(): JsonRpcRequest {
    return this.#exchange.call.request
  }

  get isActive(): boolean {
    return !this.isOver && this.#exchange.isOpen
  }

  get isOver(): boolean {
    return this.cancelled || this.#task?.ref.alive === false
  }

  /** Starts the work, which may be done on return. Throws RuntimeError NOPROC without a task supervisor. */
  start(): void {
    const { tasks, world } = this.host
    this.deadline = world.now() + this.timeout
    const task = tasks.start((ctx) => this.#perform(ctx), {
      name: this.work.name,
      serves: this.request,
      about: () => workFacts(this.request, this.#exchange.call.peer),
    })
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
    this.deadline = this.host.world.now() + this.timeout
    this.#attend()
  }

  /** Aborts the run: what it still does has no effect, and its request gets no answer. */
  cancel(): void {
    this.cancelled = true
    this.#task?.cancel()
  }

  #perform(task: TaskContext): void | Promise<void> {
    const response = answer(
      this,
      this.#exchange.dialect,
      new ToolContext(new ExchangeScope(this, task)),
      this.host.origin,
    )
    if (isPromise(response)) return this.#conclude(response)
    this.response = response
  }

  async #conclude(response: PromiseLike<Response>): Promise<void> {
    this.response = await response
  }

  /** Only for work that takes a while: listeners and timers cost more than most of it. */
  #attend(): void {
    this.#timer = this.host.world.setTimeout(() => this.#task?.ref.kill(), this.timeout)
    this.#exchange.onAbort(() => this.#clientGone())
  }

  #clientGone(): void {
    const next = this.conversation.successor()
    if (next === undefined) return this.cancel()
    const gone = this.#exchange
    this.#exchange = next
    gone.settle(undefined)
    next.onAbort(() => this.#clientGone())
  }

  #stopTimer(): void {
    if (this.#timer !== undefined) this.host.world.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #ended(reason: ExitReason): void {
    this.#stopTimer()
    const response = this.#responseAfter(reason)
    this.conversation.ended(response, reason.type === 'crash')
    this.#exchange.settle(response)
  }

  #responseAfter(reason: ExitReason): Response | undefined {
    const { tasks, world, holdings } = this.host
    const task = this.#task
    const isInterrupted = this.response === undefined && !this.cancelled && !tasks.ref.alive
    if (task === undefined || isInterrupted) return interrupted(this.request.id)
    const { exposeErrors } = holdings.settings
    return responseAfter(this, task.ref, reason, { exposeErrors, now: world.now() })
  }
}

export function interrupted(id: RequestId): Response {
  return tryAgain(id, 'The request was interrupted')
}
