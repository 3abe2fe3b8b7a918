import type { Dialect } from '../../protocol/dialects/dialect.js'
import { unsupported } from '../../protocol/stateless/era.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import { modernDialectOf } from '../../protocol/dialects/versions.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { processOf } from '../../runtime/process/ref.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Rota } from '../../runtime/tasks/rota.js'
import { callerOf } from '../../transports/contract/caller.js'
import type { Response } from '../../transports/contract/contract.js'
import type { ExchangeAnswer, ExchangeCall } from '../../transports/inbound/exchange-call.js'
import { TransportError } from '../../transports/base/errors.js'
import { answerNow, encodedResult, refusal, tryAgain } from '../requests/answer.js'
import { tooManyRequests, wouldWaitTooLong } from '../base/errors.js'
import { conversing, firstTry } from './conversation.js'
import { Conversations } from './conversations.js'
import { Exchange } from './exchange.js'
import { type ExchangeHost, ExchangeSeat } from './exchange-seat.js'
import { ExchangeTurns } from './turns.js'
import { checkArguments } from '../requests/handlers/tools.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { route } from '../requests/router.js'
import { noteAnswer, noteRequest } from '../base/events.js'
import { isAudited, refusedCall } from '../runs/audited.js'
import { impersonalFacts } from '../base/work-facts.js'
import { tasksOf } from '../tasks/load.js'
import type { McpTasks } from '../tasks/tasks.js'
import { UndeclaredNeeds } from '../definitions/session-needs.js'
import { Subscriptions } from '../subscriptions/subscriptions.js'

const started = () => ({ type: 'start' }) as const
const cancelled: ExchangeAnswer = Object.freeze({ response: undefined, refused: false })

/** Checks and prepared answers run in the caller's scope, an author's code in a task. */
export class Exchanges {
  readonly #host: ExchangeHost
  readonly #rota: Rota
  readonly #subscriptions: Subscriptions
  readonly #turns: ExchangeTurns
  readonly #tasks: McpTasks | undefined
  #tooLate: TransportError | undefined

  /** Throws RuntimeError NOPROC when the group is not complete. */
  constructor(holdings: Holdings, ctx: ActorContext) {
    const { names, name } = holdings.settings
    const { world, registry } = ctx
    const tasks = registry.whereis(names.tasks)
    if (tasks === undefined)
      throw new RuntimeError('NOPROC', 'exchanges need the task supervisor of their group')
    this.#turns = new ExchangeTurns(holdings, (exchange) => this.#begin(exchange))
    this.#host = Object.freeze({
      holdings,
      tasks: new TaskSupervisor(tasks),
      world,
      origin: Object.freeze({ server: name, tree: processOf(tasks).tree.id }),
      undeclared: new UndeclaredNeeds(name),
      conversations: new Conversations(holdings, world),
    })
    this.#tasks = tasksOf(holdings, registry, world)
    this.#rota = holdings.rota
    this.#subscriptions = new Subscriptions(holdings, ctx, this.#rota)
  }

  /**
   * Never rejects for a client's mistake. Rejects with TransportError EXCHANGE_LIMIT without room to wait.
   */
  exchange(call: ExchangeCall): Promise<ExchangeAnswer> {
    const startedAt = this.#host.world.now()
    noteRequest(this.#host, call.request, started)
    const caller = (): string => callerOf(call.peer, undefined)
    if (this.#rota.isFree) return this.#rota.run(caller, () => this.#answered(call, startedAt))
    const { waiting } = this.#host.holdings.settings.timeouts
    if (this.#rota.wouldWait(caller(), waiting)) {
      // one for all: a server that refuses most of what comes has no time for stacks
      this.#tooLate ??= new TransportError('EXCHANGE_LIMIT', wouldWaitTooLong(waiting), { retryable: true })
      return this.#failed(call, startedAt, this.#tooLate)
    }
    return this.#rota
      .next(caller())
      .then(() => (call.isAborted ? this.#note(call, cancelled, startedAt) : this.#answered(call, startedAt)))
  }

  #answered(call: ExchangeCall, startedAt: number): Promise<ExchangeAnswer> {
    try {
      return this.#serve(call, startedAt)
    } catch (error) {
      return this.#failed(call, startedAt, error)
    }
  }

  /** Ends every stream of `subscriptions/listen` with its result: the server is being stopped. */
  endSubscriptions(): void {
    this.#subscriptions.end()
    this.#tasks?.release()
  }

  /** Checks in the order of the specification (2026-07-28, Streamable HTTP); the transport did the first. */
  #serve(call: ExchangeCall, startedAt: number): Promise<ExchangeAnswer> {
    const { request, envelope } = call
    const { catalog, settings } = this.#host.holdings
    const dialect = modernDialectOf(envelope.revision, settings.revisions)
    if (dialect === undefined) throw unsupported(envelope.revision, settings.revisions)
    if (call.mirrored && request.method === 'tools/call') checkArguments(call, catalog)
    if (request.method === 'subscriptions/listen')
      return this.#subscriptions.open(call).then(
        (answer) => this.#note(call, answer, startedAt),
        (error) => this.#failed(call, startedAt, error),
      )
    const { clientCapabilities: capabilities } = envelope
    const planned = route(request, { dialect, catalog, peer: call.peer, capabilities, tasks: this.#tasks })
    if (!('text' in planned)) {
      const exchange = new Exchange(call, dialect, planned, startedAt, this.#settled)
      this.#turns.enter(exchange)
      return exchange.answered()
    }
    const make = (): Response => encodedResult(request.id, planned.result, planned.text)
    const response = answerNow(request, dialect, this.#host.origin, make)
    return Promise.resolve(this.#note(call, { response, refused: false }, startedAt))
  }

  readonly #settled = (exchange: Exchange, answer: ExchangeAnswer): void => {
    this.#note(exchange.call, answer, exchange.startedAt)
    this.#turns.left(exchange)
  }

  #begin(exchange: Exchange): void {
    try {
      const mayAsk = conversing.has(exchange.call.request.method)
      const retry = mayAsk ? this.#host.conversations.enter(exchange) : firstTry
      if (retry !== undefined) new ExchangeSeat(exchange, retry, this.#host).start()
    } catch (error) {
      const response = responseTo(error, exchange.call, exchange.dialect)
      if (response === undefined) throw error
      const { auditor } = this.#host.holdings
      if (auditor === undefined || !isAudited(exchange.call.request)) return exchange.settle(response, true)
      // it never rejects
      void auditor
        .answered(refusedCall(exchange.call, exchange.startedAt), response)
        .then((told) => exchange.settle(told, true))
    }
  }

  /** Answers what the client did wrong; throws anything else. */
  async #failed(call: ExchangeCall, startedAt: number, error: unknown): Promise<ExchangeAnswer> {
    const dialect = modernDialectOf(call.envelope.revision)
    const refused = responseTo(error, call, dialect)
    let response =
      refused === undefined || dialect === undefined
        ? refused
        : answerNow(call.request, dialect, this.#host.origin, () => refused)
    const { auditor } = this.#host.holdings
    if (response !== undefined && auditor !== undefined && isAudited(call.request))
      response = await auditor.answered(refusedCall(call, startedAt), response)
    const isBusy = error instanceof TransportError && error.code === 'EXCHANGE_LIMIT'
    const code = isBusy ? tooManyRequests : errorCodes.internalError
    const noted = response ?? buildError(call.request.id, { code, message: 'failed' })
    const answer = this.#note(call, { response: noted, refused: true }, startedAt)
    if (response === undefined) throw error
    return answer
  }

  #note({ request, peer }: ExchangeCall, answer: ExchangeAnswer, startedAt: number): ExchangeAnswer {
    noteAnswer(this.#host, request, answer.response, {
      duration: () => this.#host.world.now() - startedAt,
      hasTool: (name) => this.#host.holdings.catalog.has('tool', name),
      about: () => impersonalFacts(request, peer),
    })
    return answer
  }
}

/** The answer to a client's mistake, or to a restart of the group; undefined for any other error. */
function responseTo(
  error: unknown,
  { request }: ExchangeCall,
  dialect: Dialect | undefined,
): Response | undefined {
  if (error instanceof RuntimeError) return tryAgain(request.id, 'The request was interrupted') // the group is being restarted
  return error instanceof McpError ? refusal(request.id, error, dialect) : undefined
}
