import type { Dialect } from '../../protocol/dialects/dialect.js'
import { unsupported } from '../../protocol/stateless/era.js'
import { errorCodes, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { fitError } from '../../protocol/dialects/fit.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import { modernDialectOf } from '../../protocol/dialects/versions.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { processOf } from '../../runtime/process/ref.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { ExchangeAnswer, ExchangeCall, Response } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { encodedResult } from '../requests/answer.js'
import { tooManyRequests } from '../base/errors.js'
import { Exchange, type ExchangeOwner } from './exchange.js'
import { ExchangeRun, interrupted, type OpenDialogue, type RunHost } from './exchange-run.js'
import { withoutQuestions } from './exchange-scope.js'
import { ExchangeTurns } from './exchange-turns.js'
import { checkArguments } from '../requests/handlers/tools.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { route, unknownMethod } from '../requests/router.js'
import { noteAnswer, noteRequest } from '../base/events.js'
import { UndeclaredNeeds } from '../definitions/session-needs.js'
import type { Work } from '../requests/work.js'

/**
 * Where a request meets the rounds before it: only `tools/call`, `prompts/get` and `resources/read` come
 * here.
 */
export interface Conversations {
  /**
   * What a run is to begin with, or undefined when the exchange was taken: by a run that waits for it, or by
   * what one has come to. Throws McpError -32602 for a retry that brings what was never given out; nothing
   * runs then.
   */
  enter(exchange: Exchange, work: Work): OpenDialogue | undefined
}

/** Where the streams of `subscriptions/listen` are kept. */
export interface Listening {
  /**
   * Answers once the stream has ended, or has been refused; throws or rejects with McpError for what is wrong
   * with the request.
   */
  open(call: ExchangeCall, dialect: Dialect): Promise<ExchangeAnswer>
  /** Ends all of them with their result. */
  end(): void
}

/** What serves the requests that take more than one answer. */
export interface ExchangeParts {
  readonly conversations: Conversations | undefined
  readonly listening: Listening | undefined
}

/** The methods that may ask the client something (specification: 2026-07-28, mrtr). */
const conversing: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

const started = () => ({ type: 'start' }) as const

/**
 * Serves requests of revisions without sessions, each on its own. One for each incarnation of the group;
 * checks and prepared answers run in the scope of whoever asks, an author's code in a task.
 */
export class Exchanges implements ExchangeOwner {
  readonly #holdings: Holdings
  readonly #host: RunHost
  readonly #parts: ExchangeParts
  readonly #now: () => number
  readonly #turns: ExchangeTurns

  /** Throws RuntimeError NOPROC when the group is not complete. */
  constructor(holdings: Holdings, ctx: ActorContext, makeParts: (host: RunHost) => ExchangeParts) {
    const { names, name, exposeErrors } = holdings.settings
    const tasks = ctx.registry.whereis(names.tasks)
    if (tasks === undefined)
      throw new RuntimeError('NOPROC', 'exchanges need the task supervisor of their group')
    const { clock } = ctx
    this.#holdings = holdings
    this.#now = clock.now
    this.#turns = new ExchangeTurns(holdings, (exchange, work) => this.#begin(exchange, work))
    this.#host = Object.freeze({
      tasks: new TaskSupervisor(tasks),
      clock,
      catalog: holdings.catalog,
      origin: Object.freeze({ server: name, tree: processOf(tasks).tree.id }),
      exposeErrors,
      undeclared: new UndeclaredNeeds(name),
      changes: holdings.changes,
    })
    this.#parts = makeParts(this.#host)
  }

  /**
   * Never rejects for what the client did wrong. Rejects with TransportError EXCHANGE_LIMIT when too many are
   * worked on.
   */
  exchange(call: ExchangeCall): Promise<ExchangeAnswer> {
    const startedAt = this.#now()
    noteRequest(this.#host, call.request, started)
    try {
      return this.#serve(call, startedAt)
    } catch (error) {
      return this.#failed(call, startedAt, error)
    }
  }

  /** Ends what would go on for ever: the server is being stopped. */
  endSubscriptions(): void {
    this.#parts.listening?.end()
  }

  settled({ call, startedAt }: Exchange, response: Response | undefined): void {
    this.#note(call, response, startedAt)
    this.#turns.left()
  }

  /**
   * Checks in the order of the ladder (specification: 2026-07-28, Streamable HTTP); what comes before is the
   * transport's.
   */
  #serve(call: ExchangeCall, startedAt: number): Promise<ExchangeAnswer> {
    const { request, envelope } = call
    const { catalog, settings } = this.#holdings
    const dialect = modernDialectOf(envelope.revision, settings.revisions)
    if (dialect === undefined) throw unsupported(envelope.revision, settings.revisions)
    if (call.mirrored && request.method === 'tools/call') checkArguments(call, catalog)
    if (request.method === 'subscriptions/listen') return this.#listen(call, dialect, startedAt)
    const planned = route(request, { dialect, catalog, peer: call.peer })
    if (!('text' in planned)) return this.#work(new Exchange(call, dialect, startedAt, this), planned)
    const response = encodedResult(request.id, planned.result, planned.text)
    this.#note(call, response, startedAt)
    return Promise.resolve({ response, refused: false })
  }

  #work(exchange: Exchange, work: Work): Promise<ExchangeAnswer> {
    this.#turns.enter(exchange, work)
    return exchange.answered()
  }

  #begin(exchange: Exchange, work: Work): void {
    try {
      this.#start(exchange, work)
    } catch (error) {
      const response = responseTo(error, exchange.call, exchange.dialect)
      if (response === undefined) throw error
      exchange.settle(response, true)
    }
  }

  #start(exchange: Exchange, work: Work): void {
    const { conversations } = this.#parts
    const mayAsk = conversations !== undefined && conversing.has(exchange.call.request.method)
    const open = mayAsk ? conversations.enter(exchange, work) : withoutQuestions
    if (open === undefined) return
    const { timeout = this.#holdings.settings.requestTimeout } = work
    new ExchangeRun(exchange, work, { timeout, open }, this.#host).start()
  }

  async #listen(call: ExchangeCall, dialect: Dialect, startedAt: number): Promise<ExchangeAnswer> {
    try {
      const { listening } = this.#parts
      if (listening === undefined) throw unknownMethod(call.request.method)
      const answer = await listening.open(call, dialect)
      this.#note(call, answer.response, startedAt)
      return answer
    } catch (error) {
      return this.#failed(call, startedAt, error)
    }
  }

  /** What no client has done wrong is thrown on. */
  async #failed(call: ExchangeCall, startedAt: number, error: unknown): Promise<ExchangeAnswer> {
    const response = responseTo(error, call, modernDialectOf(call.envelope.revision))
    const isBusy = error instanceof TransportError && error.code === 'EXCHANGE_LIMIT'
    const code = isBusy ? tooManyRequests : errorCodes.internalError
    this.#note(call, response ?? buildError(call.request.id, { code, message: 'failed' }), startedAt)
    if (response === undefined) throw error
    return { response, refused: true }
  }

  #note({ request }: ExchangeCall, response: Response | undefined, startedAt: number): void {
    noteAnswer(this.#host, request, response, () => this.#now() - startedAt)
  }
}

/** The answer that an error is; undefined for what is none. */
function responseTo(
  error: unknown,
  { request }: ExchangeCall,
  dialect: Dialect | undefined,
): Response | undefined {
  if (error instanceof RuntimeError) return interrupted(request) // the group is being restarted
  if (!(error instanceof McpError)) return undefined
  const told = toJsonRpcError(error)
  return buildError(request.id, dialect === undefined ? told : fitError(dialect, told))
}
