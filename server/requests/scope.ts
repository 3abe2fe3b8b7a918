import { type Dialect, reachesClient } from '../../protocol/dialects/dialect.js'
import { fitNotification } from '../../protocol/dialects/fit.js'
import { buildNotification, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo } from '../../protocol/messages/methods.js'
import type { ProgressToken } from '../../protocol/messages/base.js'
import { RuntimeError, show } from '../../runtime/base/errors.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Outlet, Peer } from '../../transports/contract/contract.js'
import type { Catalog } from '../catalog/catalog.js'
import type { Isolation } from '../context/isolated.js'
import { optionError } from '../base/errors.js'
import { noteNotification, type RequestOrigin } from '../base/events.js'
import { factsOf, type RequestFacts } from '../context/request-facts.js'

export interface RequestDelivery {
  readonly request: JsonRpcRequest
  readonly outlet: Outlet
  readonly peer: Peer
}

export abstract class Scope {
  readonly task: TaskContext
  readonly #catalog: Catalog
  readonly #origin: RequestOrigin

  constructor(task: TaskContext, catalog: Catalog, origin: RequestOrigin) {
    this.task = task
    this.#catalog = catalog
    this.#origin = origin
  }

  abstract get work(): string
  abstract get isolation(): Isolation | undefined
  /** The request that is worked on now: in 2026-07-28 each round of questions brings another one. */
  protected abstract get delivery(): RequestDelivery
  protected abstract get dialect(): Dialect
  protected abstract get isOver(): boolean
  /** Whether there is a request whose client can still be told something. */
  protected abstract get isActive(): boolean
  protected abstract wants(level: LoggingLevel): boolean

  get requestId(): RequestId {
    return this.delivery.request.id
  }

  get request(): RequestFacts {
    return factsOf(this.delivery.request)
  }

  get progressToken(): ProgressToken | undefined {
    const { _meta: meta } = (this.delivery.request.params ?? {}) as {
      _meta?: { progressToken?: ProgressToken }
    }
    return meta?.progressToken
  }

  get peer(): Peer {
    return this.delivery.peer
  }

  get signal(): AbortSignal {
    return this.task.signal
  }

  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const { dialect } = this
    if (!this.isActive || !reachesClient(dialect, method)) return false
    const fitted = fitNotification(dialect, method, params as never)
    const sent = this.delivery.outlet.send(buildNotification(method, fitted))
    if (sent) noteNotification(this.#origin, 'sent', method)
    return sent
  }

  wantsLog(level: LoggingLevel): boolean {
    if (!isLoggingLevel(level))
      throw optionError('level', `log: expected a level such as info, got ${show(level)}`)
    return this.#catalog.capabilities.logging !== undefined && this.wants(level)
  }

  /** Throws RuntimeError ACTOR_DEAD: code that hears of the end through the signal comes too late, too. */
  protected checkOpen(): void {
    if (this.isOver)
      throw new RuntimeError('ACTOR_DEAD', `${this.work} has ended: what it still does has no effect`)
  }
}
