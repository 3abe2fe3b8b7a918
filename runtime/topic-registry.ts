import { RuntimeError, show } from './errors.js'
import { processOf, type ProcessRef } from './ref.js'

/** One registration: who, and the value given with it. */
export interface RegistryEntry<Value> {
  readonly ref: ProcessRef
  readonly value: Value
}

/** What listeners hear of a TopicRegistry. */
export interface RegistryEvent<Value> {
  readonly type: 'register' | 'unregister'
  readonly key: string
  readonly ref: ProcessRef
  readonly value: Value
}

/**
 * Many processes under one key, one process under a key many times, each with a value (Elixir: Registry with duplicate keys). It is
 * not a place for names: messages cannot be sent to a key, only dispatched to everybody under it. Entries vanish with their process.
 */
export class TopicRegistry<Value = undefined> {
  readonly #keys = new Map<string, Set<Entry<Value>>>()
  readonly #processes = new Map<ProcessRef, Registered<Value>>()
  readonly #listeners = new Set<(event: RegistryEvent<Value>) => void>()
  readonly #meta = new Map<string, unknown>()
  readonly #locks = new Map<string, Promise<unknown>>()

  /** Puts a living process under a key. The returned function takes exactly this registration back. Throws NOPROC, BAD_OPTION. */
  register(
    key: string,
    ref: ProcessRef,
    ...value: undefined extends Value ? [value?: Value] : [value: Value]
  ): () => void {
    if (typeof key !== 'string')
      throw new RuntimeError('BAD_OPTION', `key: expected a string, got ${show(key)}`)
    if (!ref.alive) throw new RuntimeError('NOPROC', `register ${show(key)}: ${ref.name} has ended`)
    const entry: Entry<Value> = { key, ref, value: value[0] as Value }
    const entries = this.#keys.get(key) ?? new Set()
    this.#keys.set(key, entries.add(entry))
    const registered = this.#processes.get(ref) ?? this.#watch(ref)
    registered.entries.add(entry)
    this.#tell('register', entry)
    return () => this.#remove(entry)
  }

  /** Takes all registrations of a process under a key back, or only those whose value matches. */
  unregister(key: string, ref: ProcessRef, matches: (value: Value) => boolean = () => true): void {
    for (const entry of this.#under(key)) if (entry.ref === ref && matches(entry.value)) this.#remove(entry)
  }

  /** Everybody under a key, in the order they came. */
  lookup(key: string): RegistryEntry<Value>[] {
    return this.#under(key).map(({ ref, value }) => ({ ref, value }))
  }

  /** Everybody under a key whose value matches (Elixir: match). */
  match(key: string, matches: (value: Value) => boolean): RegistryEntry<Value>[] {
    return this.lookup(key).filter(({ value }) => matches(value))
  }

  /** The keys a process is under, one for each registration. */
  keys(ref: ProcessRef): string[] {
    return [...(this.#processes.get(ref)?.entries ?? [])].map(({ key }) => key)
  }

  /** The values a process has under a key. */
  values(key: string, ref: ProcessRef): Value[] {
    return this.#under(key)
      .filter((entry) => entry.ref === ref)
      .map(({ value }) => value)
  }

  /** How many registrations there are, in all or under one key. */
  count(key?: string): number {
    if (key !== undefined) return this.#under(key).length
    let sum = 0
    for (const entries of this.#keys.values()) sum += entries.size
    return sum
  }

  /** Hands everybody under a key to `fn` at once; `fn` is not called when there is nobody. */
  dispatch(key: string, fn: (entries: RegistryEntry<Value>[]) => void): void {
    const entries = this.lookup(key)
    if (entries.length > 0) fn(entries)
  }

  /** Hears of registrations until the returned function is called. A listener that throws makes the registration throw, after it is done. */
  onChange(listener: (event: RegistryEvent<Value>) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** A value kept with the registry itself. */
  getMeta(key: string): unknown {
    return this.#meta.get(key)
  }

  /** Keeps a value with the registry itself. */
  putMeta(key: string, value: unknown): void {
    this.#meta.set(key, value)
  }

  /**
   * Runs `fn` while nobody else runs under the same lock, in the order of asking; the lock is given back when `fn` is done, throws, or
   * when the process it is held for ends (Elixir: Registry.lock). Resolves with what `fn` answers.
   */
  async lock<R>(key: string, holder: ProcessRef, fn: () => R | Promise<R>): Promise<R> {
    const before = this.#locks.get(key) ?? Promise.resolve()
    const turn = before.then(() => this.#hold(holder, fn))
    const released = turn.then(({ released }) => released)
    this.#locks.set(key, released)
    void released.then(() => {
      if (this.#locks.get(key) === released) this.#locks.delete(key)
    })
    return (await turn).result
  }

  #hold<R>(holder: ProcessRef, fn: () => R | Promise<R>): { result: Promise<R>; released: Promise<void> } {
    if (!holder.alive) return gone(holder)
    let undo: () => void = () => {}
    const ended = new Promise<void>((resolve) => {
      undo = holder.onExit(() => resolve())
    })
    const result = (async () => fn())()
    const done = result.then(undo, undo)
    return { result, released: Promise.race([done, ended]) }
  }

  #watch(ref: ProcessRef): Registered<Value> {
    const registered: Registered<Value> = { entries: new Set(), unwatch: () => {} }
    registered.unwatch = ref.onExit(() => {
      for (const entry of [...registered.entries]) this.#remove(entry)
    })
    this.#processes.set(ref, registered)
    return registered
  }

  #under(key: string): Entry<Value>[] {
    // Between a death and its clean-up an entry may still stand here: the dead are not shown.
    return [...(this.#keys.get(key) ?? [])].filter(({ ref }) => processOf(ref).reason === null)
  }

  #remove(entry: Entry<Value>): void {
    const entries = this.#keys.get(entry.key)
    if (!entries?.delete(entry)) return
    if (entries.size === 0) this.#keys.delete(entry.key)
    const registered = this.#processes.get(entry.ref)
    registered?.entries.delete(entry)
    if (registered?.entries.size === 0) {
      registered.unwatch()
      this.#processes.delete(entry.ref)
    }
    this.#tell('unregister', entry)
  }

  #tell(type: RegistryEvent<Value>['type'], { key, ref, value }: Entry<Value>): void {
    for (const listener of [...this.#listeners]) listener({ type, key, ref, value })
  }
}

interface Entry<Value> {
  readonly key: string
  readonly ref: ProcessRef
  readonly value: Value
}

interface Registered<Value> {
  readonly entries: Set<Entry<Value>>
  unwatch: () => void
}

function gone(holder: ProcessRef): { result: Promise<never>; released: Promise<void> } {
  const result = Promise.reject(new RuntimeError('NOPROC', `lock: ${holder.name} has ended`))
  result.catch(() => {})
  return { result, released: Promise.resolve() }
}
