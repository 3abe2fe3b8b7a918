import type { JsonObject } from '../../protocol/wire/json.js'
import { currentOwner, guard } from '../../runtime/faults/containment.js'
import { messageOf } from '../../runtime/base/errors.js'
import { isNormal } from '../../runtime/base/exit.js'
import { handled } from '../../runtime/base/promise.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
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
import { TaskNews } from './task-news.js'
import { ToolBook } from './tool-book.js'
import { noWishes, type Wishes } from './wishes.js'

interface Load {
  readonly waiting: number
  readonly inFlight: number
}

/** The era that a server last spoke. */
export interface KnownEra {
  readonly era: 'modern' | 'handshake'
  /** By the tree's clock. */
  readonly at: number
  /** Spoken since. */
  readonly proven: boolean
}

type HoldingsInput = Pick<ClientSettings, 'name' | 'cacheSize' | 'cacheBytes'> &
  Partial<Pick<ClientSettings, 'retryBudget'>>

/** State that outlives a client's actors: last state, handlers, counters, subscriptions, caches. */
export class Holdings {
  readonly name: string
  /** The world of its tree. */
  readonly world: World
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
  readonly gauge = new LinkGauge()
  era: KnownEra | undefined
  readonly wishes: Wishes = noWishes()
  readonly tools = new ToolBook()
  readonly taskNews = new TaskNews()
  readonly reports: Reports
  readonly cache: Cache
  /** Those who wait for `ready`, besides calls. */
  readonly demand: Demand
  /** Bounds repeats for a busy server. */
  readonly budget: RetryBudget | undefined
  /** Set by the current actor. */
  load: () => Load = noLoad
  /** `close()` was called: later actors do not connect. */
  closing = false
  /** Its tree was up; before that, an end is a failure to start. */
  started = false
  /** Its supervisor gave up, and no actor has come since. */
  gaveUp = false
  /** No actor will ever come again. */
  over = false
  /** For inspection. */
  group: ProcessRef | undefined
  /** Over all incarnations. */
  lastLink = 0
  /** Resolves when the client is closed; rejects when it ended in another way. */
  readonly closed: Promise<void>
  /** Owns handlers registered by code without an owner. */
  readonly handlerOwner: HandlerOwner
  readonly #states: Watchers<[ClientState]>
  readonly #handlers = new Map<string, Watchers<[JsonObject]>>()
  // Assigned by the executor in the constructor, which runs at once.
  #settleClosed: (error?: Error) => void = () => {}
  #lastToken = 0

  constructor(
    { name, cacheSize, cacheBytes, retryBudget }: HoldingsInput,
    world: World = systemWorld,
    demand = new Demand(),
  ) {
    this.name = name
    this.world = world
    this.reports = new Reports(this, world.now)
    this.demand = demand
    this.budget = retryBudget && new RetryBudget(retryBudget)
    this.cache = new Cache({ cacheSize, cacheBytes })
    this.handlerOwner = new HandlerOwner(name, world)
    this.#states = new Watchers(this.handlerOwner)
    this.closed = handled(
      new Promise((resolve, reject) => {
        this.#settleClosed = (error) => (error === undefined ? resolve() : reject(error))
      }),
    )
  }

  /** For reports. */
  get tree(): number {
    return this.handlerOwner.tree
  }

  /** Unique among calls of this client. */
  nextToken(): number {
    this.#lastToken += 1
    return this.#lastToken
  }

  /** Nothing follows the end. */
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

  /** The actor has ended; its supervisor decides what follows. */
  interrupted(reason: Error): void {
    this.load = noLoad
    if (!this.closing) this.tell({ ...firstState, reason })
  }

  end(state: ClientState): void {
    if (this.over) return
    // The actor may have told already that it is closed.
    if (state.phase !== 'closed' || this.state.phase !== 'closed') this.tell(state)
    this.over = true
    this.#settleClosed(state.phase === 'closed' ? undefined : state.reason)
    this.#states.end()
    // after the last state has been told
    this.world.queueMicrotask(() => this.#handlers.clear())
  }

  /** Whether the ended client was closed, or ended with its tree in order. */
  isClosed(registry: Registry): boolean {
    if (this.over) return this.state.phase === 'closed'
    const known = registry.state(clientActorName(this.name))
    const isInOrder = known.state === 'ended' && isNormal(known.reason)
    return this.closing || (this.started && !this.gaveUp && isInOrder)
  }

  /** CLOSED, or GAVE_UP when it crashed too often. */
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

  /** Changes may have been missed: forgets what was remembered. */
  changesMissed(): void {
    this.tools.clear()
    this.cache.clear()
  }

  changed(method: string, params: JsonObject): void {
    if (method === 'notifications/tools/list_changed') this.tools.clear()
    this.cache.changed(method, params)
  }

  watch(fn: (state: ClientState) => void): Undo {
    return this.#states.add(fn)
  }

  /** Whether somebody waits for notifications of any kind. */
  get isListenedTo(): boolean {
    return this.#handlers.size > 0
  }

  hears(method: string): boolean {
    return (this.#handlers.get(method)?.size ?? 0) > 0
  }

  notify(method: string, params: JsonObject): void {
    this.#handlers.get(method)?.tell(params)
  }

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

  /** The same function, run later in the scope of this caller. */
  outside<Value>(fn: (value: Value) => void): (value: Value) => void {
    const owner = currentOwner() ?? this.handlerOwner.token
    return (value) => {
      if (!owner.fenced) this.world.queueMicrotask(() => guard(owner, () => fn(value)))
    }
  }
}

function noLoad(): Load {
  return { waiting: 0, inFlight: 0 }
}
