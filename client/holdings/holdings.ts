import type { JsonObject } from '../../protocol/wire/json.js'
import { currentOwner, guard } from '../../runtime/faults/containment.js'
import { messageOf } from '../../runtime/base/errors.js'
import { isNormal } from '../../runtime/base/exit.js'
import { handled } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import { LinkGauge } from '../../transports/link/gauge.js'
import { Demand } from '../base/demand.js'
import { callError, type ClientError } from '../base/errors.js'
import { codeOf, emitClient } from '../base/events.js'
import { clientActorName } from '../base/names.js'
import {
  type ClientCounts,
  type ClientState,
  firstState,
  type ServerFacts,
  type Undo,
} from '../base/state.js'
import { HandlerOwner, Watchers } from '../base/watchers.js'
import type { ClientSettings } from '../options/options.js'
import { Cache } from './cache.js'
import { Reports } from './reports.js'
import { RetryBudget } from './retry-budget.js'
import { ToolBook } from './tool-book.js'
import { noWishes, type Wishes } from './wishes.js'

/** Calls that wait for a connection, and calls that wait for their answer. */
interface Load {
  readonly waiting: number
  readonly inFlight: number
}

/** The era that a server was last found to speak. */
export interface KnownEra {
  readonly era: 'modern' | 'handshake'
  /** When that was found out, by the clock of the tree. */
  readonly at: number
  /** Whether it has been spoken since. */
  readonly proven: boolean
}

type HoldingsInput = Pick<ClientSettings, 'name' | 'cacheSize' | 'cacheBytes'> &
  Partial<Pick<ClientSettings, 'retryBudget'>>

/** What outlives the actors of a client: its last state, its handlers, counters, wishes and caches. */
export class Holdings {
  readonly name: string
  state: ClientState = firstState
  server: ServerFacts | undefined
  readonly counts: ClientCounts = {
    sessions: 0,
    late: 0,
    unknown: 0,
    junk: 0,
    repeated: 0,
    troubles: 0,
    unexpected: 0,
  }
  /** Counts what goes over its connections. */
  readonly gauge = new LinkGauge()
  era: KnownEra | undefined
  readonly wishes: Wishes = noWishes()
  readonly tools = new ToolBook()
  readonly reports = new Reports(this)
  readonly cache: Cache
  /** Who waits for it to be ready, besides the calls that its actor has. */
  readonly demand: Demand
  /** Bounds how often calls are made again for a busy server. */
  readonly budget: RetryBudget | undefined
  /** Set by the actor that runs now. */
  load: () => Load = noLoad
  /** Whether `close()` was called: an actor that starts after that does not connect. */
  closing = false
  /** Whether its tree was ever up: before that, an end is a failure to start. */
  started = false
  /** Whether its supervisor gave up on it, and no actor has come since. */
  gaveUp = false
  /** Whether no actor will ever come again. */
  over = false
  /** The supervisor of the client, for inspection. */
  group: ProcessRef | undefined
  /** The number of the last connection that was asked for, over all incarnations. */
  lastLink = 0
  /** Resolves when the client is closed; rejects when it ended in another way. */
  readonly closed: Promise<void>
  /** Owns the handlers that code without an owner has registered. */
  readonly handlerOwner: HandlerOwner
  readonly #states: Watchers<[ClientState]>
  readonly #handlers = new Map<string, Watchers<[JsonObject]>>()
  // Assigned by the executor in the constructor, which runs at once.
  #settleClosed: (error?: Error) => void = () => {}
  #lastToken = 0

  constructor({ name, cacheSize, cacheBytes, retryBudget }: HoldingsInput, demand = new Demand()) {
    this.name = name
    this.demand = demand
    this.budget = retryBudget && new RetryBudget(retryBudget)
    this.cache = new Cache({ cacheSize, cacheBytes })
    this.handlerOwner = new HandlerOwner(name)
    this.#states = new Watchers(this.handlerOwner)
    this.closed = handled(
      new Promise((resolve, reject) => {
        this.#settleClosed = (error) => (error === undefined ? resolve() : reject(error))
      }),
    )
  }

  /** The tree of the client, for reports. */
  get tree(): number {
    return this.handlerOwner.tree
  }

  /** A progress token that no other call of this client has. */
  nextToken(): number {
    this.#lastToken += 1
    return this.#lastToken
  }

  /** Takes a new state, and tells the watchers. Nothing follows the end. */
  tell(state: ClientState): void {
    if (this.over) return
    this.reports.look(this.state, state)
    this.state = state
    emitClient('state', () => {
      const { phase, attempt, delay, reason } = state
      const isBad = phase === 'failed' || (phase === 'disconnected' && reason !== undefined)
      const type = isBad ? 'error' : 'changed'
      const { name: client, tree } = this
      return { client, tree, type, phase, attempt, ...(delay !== undefined && { delay }), ...codeOf(reason) }
    })
    this.#states.tell(state)
  }

  /** The actor has ended; its supervisor decides whether another one comes. */
  interrupted(reason: Error): void {
    this.load = noLoad
    if (!this.closing) this.tell({ ...firstState, reason })
  }

  /** Tells the last state. */
  end(state: ClientState): void {
    if (this.over) return
    // The actor may have told already that it is closed.
    if (state.phase !== 'closed' || this.state.phase !== 'closed') this.tell(state)
    this.over = true
    this.#settleClosed(state.phase === 'closed' ? undefined : state.reason)
    this.#states.end()
    // after the last state has been told
    queueMicrotask(() => this.#handlers.clear())
  }

  /** Whether the client, which no supervisor will bring back, was closed, or ended with its tree in order. */
  isClosed(registry: Registry): boolean {
    if (this.over) return this.state.phase === 'closed'
    const known = registry.state(clientActorName(this.name))
    const isInOrder = known.state === 'ended' && isNormal(known.reason)
    return this.closing || (this.started && !this.gaveUp && isInOrder)
  }

  /**
   * The error for a client that no supervisor will bring back: CLOSED, or GAVE_UP when it crashed too often.
   */
  goneError(
    what: string,
    registry: Registry,
    { sent, cause }: { readonly sent: boolean; readonly cause: unknown },
  ): ClientError {
    const details = { sent, retryable: false, cause }
    if (this.isClosed(registry)) return callError('CLOSED', `${what} is closed`, details)
    const why = this.gaveUp ? 'it crashed too often' : messageOf(cause)
    return callError('GAVE_UP', `${what} has ended for good: ${why}`, details)
  }

  /** Changes may have been missed: what was remembered of the server does not hold any more. */
  changesMissed(): void {
    this.tools.clear()
    this.cache.clear()
  }

  /** The server has told a change: what is remembered of that does not hold any more. */
  changed(method: string, params: JsonObject): void {
    if (method === 'notifications/tools/list_changed') this.tools.clear()
    this.cache.changed(method, params)
  }

  watch(fn: (state: ClientState) => void): Undo {
    return this.#states.add(fn)
  }

  /** Whether a notification has a handler. */
  hears(method: string): boolean {
    return (this.#handlers.get(method)?.size ?? 0) > 0
  }

  /** Gives a notification to its handlers. */
  notify(method: string, params: JsonObject): void {
    this.#handlers.get(method)?.tell(params)
  }

  /** Adds a handler of a notification. */
  handle(method: string, fn: (params: JsonObject) => void): Undo {
    const handlers = this.#handlers.get(method) ?? new Watchers(this.handlerOwner)
    this.#handlers.set(method, handlers)
    const undo = handlers.add(fn)
    return () => {
      undo()
      // the method may be one of thousands that had a handler for a moment
      if (handlers.size === 0 && this.#handlers.get(method) === handlers) this.#handlers.delete(method)
    }
  }

  /** The same function, run later and in the scope of whoever calls this. */
  outside<Value>(fn: (value: Value) => void): (value: Value) => void {
    const owner = currentOwner() ?? this.handlerOwner.token
    return (value) => {
      if (!owner.fenced) queueMicrotask(() => guard(owner, () => fn(value)))
    }
  }
}

function noLoad(): Load {
  return { waiting: 0, inFlight: 0 }
}
