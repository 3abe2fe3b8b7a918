import { acceptsNotification } from '../../protocol/dialects/dialect.js'
import { fitNotification } from '../../protocol/dialects/fit.js'
import { buildNotification, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { isLoggingLevel, isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import type { ProgressToken } from '../../protocol/messages/base.js'
import { RuntimeError, show } from '../../runtime/base/errors.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { RequestScope, SessionFacts } from '../context/context.js'
import { AskError, type ServerError, optionError } from '../base/errors.js'
import { emitServer } from '../base/events.js'
import type { Dialogue, ExchangeRun } from './exchange-run.js'
import { factsOf, type RequestFacts } from '../context/request-facts.js'
import type { Changes } from '../context/changes.js'
import { Steps } from '../context/steps.js'

/** Whoever does not say. */
const unknownClient = Object.freeze({ name: 'unknown', version: 'unknown' })

/**
 * What a request without a session may do. All of it is looked up when it is used: after a question the run
 * works for another request, with another id, progress token, log level, capabilities and outlet.
 */
export class ExchangeScope implements RequestScope {
  readonly #run: ExchangeRun
  readonly #task: TaskContext

  constructor(run: ExchangeRun, task: TaskContext) {
    this.#run = run
    this.#task = task
  }

  get session(): SessionFacts {
    const { clientInfo: client = unknownClient, clientCapabilities: capabilities } = this.#call.envelope
    return Object.freeze({ id: undefined, client, revision: this.#run.dialect.revision, capabilities })
  }

  get requestId(): RequestId {
    return this.#call.request.id
  }

  get request(): RequestFacts {
    return factsOf(this.#call.request)
  }

  get progressToken(): ProgressToken | undefined {
    const { _meta: meta } = (this.#call.request.params ?? {}) as { _meta?: { progressToken?: ProgressToken } }
    return meta?.progressToken
  }

  get peer(): Peer {
    return this.#call.peer
  }

  get signal(): AbortSignal {
    return this.#task.signal
  }

  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const { dialect, host } = this.#run
    if (!this.#run.isActive || !acceptsNotification(dialect, 'client', method)) return false
    const sent = this.#call.outlet.send(
      buildNotification(method, fitNotification(dialect, method, params as never)),
    )
    if (sent) emitServer('notification', () => ({ ...host.origin, type: 'sent', method }))
    return sent
  }

  wantsLog(level: LoggingLevel): boolean {
    if (!isLoggingLevel(level))
      throw optionError('level', `log: expected a level such as info, got ${show(level)}`)
    const { logLevel } = this.#call.envelope
    const { logging } = this.#run.host.catalog.capabilities
    return logging !== undefined && isWantedLevel(level, logLevel)
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    options: AskOptions,
  ): Promise<Result<M>> {
    this.#checkAlive()
    return this.#run.dialogue.ask(key, method, params, options)
  }

  async once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.#checkAlive()
    return this.#run.dialogue.once(key, fn)
  }

  readonly assigned = undefined

  assign(): never {
    throw this.#noSession()
  }

  get changes(): Changes {
    this.#checkAlive()
    return this.#run.host.changes
  }

  async read(): Promise<never> {
    throw this.#noSession()
  }

  async swap(): Promise<never> {
    throw this.#noSession()
  }

  #noSession(): ServerError {
    const { host, work, dialect } = this.#run
    return host.undeclared.found(work.name, dialect.revision)
  }

  get #call() {
    return this.#run.exchange.call
  }

  /** Also code that hears of the end through the signal comes too late. */
  #checkAlive(): void {
    const { cancelled, isOver, work } = this.#run
    if (cancelled || isOver)
      throw new RuntimeError('ACTOR_DEAD', `${work.name} has ended: what it still does has no effect`)
  }
}

/**
 * The dialogue of a request that has none: only tools, prompts and resources may ask (specification:
 * 2026-07-28, mrtr).
 */
export function withoutQuestions(): Dialogue {
  const steps = new Steps()
  return {
    ask: (_key, method) =>
      Promise.reject(
        new AskError('MISSING_CAPABILITY', `${method}: this request has no way to ask its client`),
      ),
    once: (key, fn) => steps.once(key, fn),
  }
}
