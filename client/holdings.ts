import type { JsonObject } from '../protocol/json.js'
import { currentOwner, guard, OwnerToken, type StrayKind } from '../runtime/containment.js'
import { emit } from '../runtime/events.js'
import { handled } from '../runtime/promise.js'
import type { ProcessRef } from '../runtime/ref.js'
import { type ClientCounts, type ClientState, firstState, type ServerFacts } from './state.js'

/** Calls that wait for a connection, and calls that wait for their answer. */
export interface Load {
  readonly waiting: number
  readonly inFlight: number
}

/** Somebody else's function, and in whose scope it runs. */
interface Watcher<Value> {
  readonly fn: (value: Value) => void
  readonly owner: OwnerToken
}

/** Stops what was begun by the call that answered it. */
export type Undo = () => void

/**
 * What outlives the actors of a client: the last known state, who watches it, and counters. Handlers of users run in a microtask of
 * their own, in the scope of whoever registered them, so that one that throws or hangs stops no other and no actor.
 */
export class Holdings {
  readonly name: string
  state: ClientState = firstState
  server: ServerFacts | undefined
  readonly counts: ClientCounts = { sessions: 0, late: 0, unknown: 0, junk: 0, repeated: 0, troubles: 0 }
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
  /** Which tree the client lives in, for reports. */
  tree = 0
  /** Resolves when the client is closed; rejects when it ended in another way. */
  readonly closed: Promise<void>
  readonly #own: OwnerToken
  readonly #states = new Set<Watcher<ClientState>>()
  readonly #handlers = new Map<string, Set<Watcher<JsonObject>>>()
  // Assigned by the executor in the constructor, which runs at once.
  #settleClosed: (error?: Error) => void = () => {}
  #lastToken = 0

  constructor(name: string) {
    this.name = name
    const fail = (error: unknown, kind: StrayKind): void => {
      emit('stray', () => ({ tree: this.tree, error, kind, owner: `${name}: handler`, outcome: 'reported' }))
    }
    this.#own = new OwnerToken(`${name}: handler`, { fail }, null)
    this.closed = handled(
      new Promise((resolve, reject) => {
        this.#settleClosed = (error) => (error === undefined ? resolve() : reject(error))
      }),
    )
  }

  /** A progress token that no other call of this client has. */
  nextToken(): number {
    this.#lastToken += 1
    return this.#lastToken
  }

  /** Takes a new state over and tells whoever watches. Nothing follows the end. */
  tell(state: ClientState): void {
    if (this.over) return
    this.state = state
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
    return add(known, this.#watcher(fn))
  }

  /** Carries the scope of whoever asks into a function that is called later, at once but not in the middle of anything. */
  outside<Value>(fn: (value: Value) => void): (value: Value) => void {
    const watcher = this.#watcher(fn)
    return (value) => this.#run(watcher, value, undefined)
  }

  #watcher<Value>(fn: (value: Value) => void): Watcher<Value> {
    return { fn, owner: currentOwner() ?? this.#own }
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
