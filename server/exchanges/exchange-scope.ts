import type { Dialect } from '../../protocol/dialects/dialect.js'
import { isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { ExchangeCall } from '../../transports/contract/contract.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Carried, RequestScope, SessionFacts } from '../context/context.js'
import type { ServerError } from '../base/errors.js'
import type { Changes } from '../context/changes.js'
import type { Isolation } from '../context/isolated.js'
import { Scope } from '../requests/scope.js'
import type { ExchangeRun } from './run.js'

const unknownClient = Object.freeze({ name: 'unknown', version: 'unknown' })

/** All of it is looked up when it is used: after a question the run works for another request. */
export class ExchangeScope extends Scope implements RequestScope {
  readonly assigned = undefined
  readonly #run: ExchangeRun

  constructor(run: ExchangeRun, task: TaskContext) {
    super(task, run.host.holdings.catalog, run.host.origin)
    this.#run = run
  }

  get session(): SessionFacts {
    const { clientInfo: client = unknownClient, clientCapabilities: capabilities } = this.delivery.envelope
    return Object.freeze({ id: undefined, client, revision: this.dialect.revision, capabilities })
  }

  get changes(): Changes {
    this.checkOpen()
    return this.#run.host.holdings.changes
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    options: AskOptions,
  ): Promise<Result<M>> {
    this.checkOpen()
    return this.#run.conversation.ask(key, method, params, options)
  }

  async once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.checkOpen()
    return this.#run.conversation.once(key, fn)
  }

  carried(): Carried {
    return this.#run.conversation.carried
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
    return this.#run.host.undeclared.found(this.work, this.dialect.revision)
  }

  protected get delivery(): ExchangeCall {
    return this.#run.exchange.call
  }

  protected get dialect(): Dialect {
    return this.#run.exchange.dialect
  }

  get isolation(): Isolation | undefined {
    return this.#run.host.holdings.isolation
  }

  get work(): string {
    return this.#run.work.name
  }

  protected get isActive(): boolean {
    return this.#run.isActive
  }

  protected get isOver(): boolean {
    return this.#run.isOver
  }

  protected wants(level: LoggingLevel): boolean {
    return isWantedLevel(level, this.delivery.envelope.logLevel)
  }
}
