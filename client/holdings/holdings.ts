import type { JsonObject } from '../../protocol/wire/json.js'
import { currentOwner, guard, type OwnerToken } from '../../runtime/faults/containment.js'
import { handled } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { LinkGauge } from '../../transports/link/gauge.js'
import { Cache } from './cache.js'
import { Demand } from '../base/demand.js'
import { codeOf, emitClient } from '../base/events.js'
import { HandlerOwner } from '../base/handler-owner.js'
import type { ClientSettings } from '../options/options.js'
import { Reports } from '../base/reports.js'
import {
  type ClientCounts,
  type ClientState,
  firstState,
  type ServerFacts,
  type Undo,
} from '../base/state.js'
import { RetryBudget } from './retry-budget.js'
import { ToolBook } from './tool-book.js'
import { noWishes, type Wishes } from './wishes.js'

/** Calls that wait for a connection, and calls that wait for their answer. */
export interface Load {
  readonly waiting: number
  readonly inFlight: number
}

/** What is known of the era of a server since the last connection. */
export interface KnownEra {
  readonly era: 'modern' | 'handshake'
  /** When that was found out, by the clock of the tree. */
  readonly at: number
  /** Whether it has been spoken since. */
  readonly proven: boolean
}

/** Somebody else's function, and in whose scope it runs. */
interface Watcher<Value> {
  readonly fn: (value: Value) => void
  readonly owner: OwnerToken
}

type HoldingsInput = Pick<ClientSettings, 'name' | 'cacheSize' | 'cacheBytes'> &
  Partial<Pick<ClientSettings, 'retryBudget'>>

/**
 * What outlives the actors of a client: the last known state, who watches it, and counters. Handlers of users
 * run in a microtask of their own, in the scope of whoever registered them, so that one that throws or hangs
 * stops no other and no actor.
 */
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
  /** What goes over its connections. */
  readonly gauge = new LinkGauge()
  /** What is known of the server's era. */
  era: KnownEra | undefined
  readonly wishes: Wishes = noWishes()
  readonly tools = new ToolBook()
  readonly reports = new Reports(this)
  readonly cache: Cache
  /** Who waits for it to be ready, besides the calls that its actor has. */
  readonly demand: Demand
  /** How often calls may still be made again for a busy server; undefined: there is no limit but theirs. */
  readonly budget: RetryBudget | undefined
  /** Set by the actor that runs now. */
  load: () => Load = noLoad
  /** Whether `close()` was called: an actor that starts after that does not connect. */
  closing = false
  /** Whether its tree was ever there: before that, an end is a failure to start. */
  started = false
  /** Whether its supervisor gave up: the actors crashed too often, and none has come since. */
  gaveUp = false
  /** Whether no actor will ever come again. */
  over = false
  /** The supervisor of the client, for inspection. */
  group: ProcessRef | undefined
  /** The number of the last connection that was asked for, over all incarnations. */
  lastLink = 0
  /** Resolves when the client is closed; rejects when it ended in another way. */
  readonly closed: Promise<void>
  /** Answers for handlers that were given by code without an owner. */
  readonly handlerOwner: HandlerOwner
  readonly #states = new Set<Watcher<ClientState>>()
  readonly #handlers = new Map<string, Set<Watcher<JsonObject>>>()
  // Assigned by the executor in the constructor, which runs at once.
  #settleClosed: (error?: Error) => void = () => {}
  #lastToken = 0

  constructor({ name, cacheSize, cacheBytes, retryBudget }: HoldingsInput, demand = new Demand()) {
    this.name = name
    this.demand = demand
    this.budget = retryBudget && new RetryBudget(retryBudget)
    this.cache = new Cache({ cacheSize, cacheBytes })
    this.handlerOwner = new HandlerOwner(name)
    this.closed = handled(
      new Promise((resolve, reject) => {
        this.#settleClosed = (error) => (error === undefined ? resolve() : reject(error))
      }),
    )
  }

  /** Which tree the client lives in, for reports. */
  get tree(): number {
    return this.handlerOwner.tree
  }

  /** A progress token that no other call of this client has. */
  nextToken(): number {
    this.#lastToken += 1
    return this.#lastToken
  }

  /** Takes a new state over and tells whoever watches. Nothing follows the end. */
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
    for (const watcher of this.#states) this.#run(watcher, state, this.#states)
  }

  /** The actor has ended: whether another one comes is for its supervisor to say. */
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
    // After the last state has been told.
    queueMicrotask(() => {
      this.#states.clear()
      this.#handlers.clear()
    })
  }

  /** Whether anybody has a handler for a notification. */
  hears(method: string): boolean {
    return (this.#handlers.get(method)?.size ?? 0) > 0
  }

  /** Changes may have gone unheard: what was remembered of the server does not hold any more. */
  changesMissed(): void {
    this.tools.clear()
    this.cache.clear()
  }

  /** The server has told of a change: what is remembered of that does not hold any more. */
  changed(method: string, params: JsonObject): void {
    if (method === 'notifications/tools/list_changed') this.tools.clear()
    this.cache.changed(method, params)
  }

  /** Gives a notification to its handlers. */
  notify(method: string, params: JsonObject): void {
    const watchers = this.#handlers.get(method)
    if (watchers !== undefined) for (const watcher of watchers) this.#run(watcher, params, watchers)
  }

  watch(fn: (state: ClientState) => void): Undo {
    return add(this.#states, this.#watcher(fn))
  }

  handle(method: string, fn: (params: JsonObject) => void): Undo {
    const known = this.#handlers.get(method) ?? new Set()
    this.#handlers.set(method, known)
    const undo = add(known, this.#watcher(fn))
    return () => {
      undo()
      // the method may be one of thousands that were heard for a moment
      if (known.size === 0 && this.#handlers.get(method) === known) this.#handlers.delete(method)
    }
  }

  /**
   * Carries the scope of whoever asks into a function that is called later, at once but not in the middle of
   * anything.
   */
  outside<Value>(fn: (value: Value) => void): (value: Value) => void {
    const watcher = this.#watcher(fn)
    return (value) => this.#run(watcher, value, undefined)
  }

  #watcher<Value>(fn: (value: Value) => void): Watcher<Value> {
    return { fn, owner: currentOwner() ?? this.handlerOwner.token }
  }

  #run<Value>(watcher: Watcher<Value>, value: Value, among: Set<Watcher<Value>> | undefined): void {
    const { owner, fn } = watcher
    // Whoever registered it has died: so has the handler.
    if (owner.fenced) return void among?.delete(watcher)
    queueMicrotask(() => {
      if (among === undefined || among.has(watcher)) guard(owner, () => fn(value))
    })
  }
}

function noLoad(): Load {
  return { waiting: 0, inFlight: 0 }
}

function add<Value>(watchers: Set<Watcher<Value>>, watcher: Watcher<Value>): Undo {
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
  }
}
