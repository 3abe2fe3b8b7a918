import { RuntimeError, show } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { badOption, checkFunction } from '../base/check.js'
import { handled } from '../base/promise.js'
import { fence, type ProcessRef, processOf } from '../process/process.js'

/** Who is registered below a key, with its value. */
export interface RegistryEntry<Value> {
  readonly ref: ProcessRef
  readonly value: Value
}

/** A change of a TopicRegistry. */
export interface RegistryEvent<Value> {
  readonly type: 'register' | 'unregister'
  readonly key: string
  readonly ref: ProcessRef
  readonly value: Value
}

/**
 * Registers many processes under one key, also one process many times, each with a value (Elixir: Registry
 * with duplicate keys). A key is no name: it takes no messages, only `dispatch`. Entries vanish with their
 * process.
 */
export class TopicRegistry<Value = undefined> {
  readonly #keys = new Map<string, Set<TopicEntry<Value>>>()
  readonly #processes = new Map<ProcessRef, Registered<Value>>()
  readonly #listeners = new Set<(event: RegistryEvent<Value>) => void>()
  readonly #meta = new Map<string, unknown>()
  /** The last turn of each lock; never rejects. */
  readonly #locks = new Map<string, Promise<void>>()

  /**
   * Registers a living process under a key; the returned function takes this registration back. Throws
   * NOPROC, BAD_OPTION, or ACTOR_DEAD when a dead incarnation asks.
   */
  register(
    key: string,
    ref: ProcessRef,
    ...value: undefined extends Value ? [value?: Value] : [value: Value]
  ): () => void {
    checkKey(key)
    fence(processOf(ref))
    if (!ref.alive) throw new RuntimeError('NOPROC', `register ${show(key)}: ${ref.name} has ended`)
    const entry: TopicEntry<Value> = { key, ref, value: value[0] as Value }
    const entries = this.#keys.get(key) ?? new Set()
    this.#keys.set(key, entries.add(entry))
    const registered = this.#processes.get(ref) ?? this.#watch(ref)
    registered.entries.add(entry)
    this.#tell('register', entry)
    return () => this.#remove(entry)
  }

  /** Takes back a process's registrations under a key, or those whose value matches. Throws BAD_OPTION. */
  unregister(key: string, ref: ProcessRef, matches: (value: Value) => boolean = () => true): void {
    checkFunction(matches, 'unregister')
    for (const entry of this.#under(key)) if (entry.ref === ref && matches(entry.value)) this.#remove(entry)
  }

  /** The registrations under a key, oldest first. */
  lookup(key: string): RegistryEntry<Value>[] {
    return this.#under(key).map(({ ref, value }) => ({ ref, value }))
  }

  /** The registrations under a key whose value matches (Elixir: match). Throws BAD_OPTION. */
  match(key: string, matches: (value: Value) => boolean): RegistryEntry<Value>[] {
    checkFunction(matches, 'match')
    return this.lookup(key).filter(({ value }) => matches(value))
  }

  /** The keys of a process, one for each registration. */
  keys(ref: ProcessRef): string[] {
    return [...(this.#processes.get(ref)?.entries ?? [])].map(({ key }) => key)
  }

  /** The values of a process under a key. */
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

  /** Calls `fn` once with all registrations under a key, if there are any. Throws BAD_OPTION. */
  dispatch(key: string, fn: (entries: RegistryEntry<Value>[]) => void): void {
    checkFunction(fn, 'dispatch')
    const entries = this.lookup(key)
    if (entries.length > 0) fn(entries)
  }

  /**
   * Calls `listener` with each change until the returned function is called. If it throws, so does the
   * registration, which stands. Throws BAD_OPTION.
   */
  onChange(listener: (event: RegistryEvent<Value>) => void): () => void {
    checkFunction(listener, 'onChange')
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A value kept with the registry. */
  getMeta(key: string): unknown {
    return this.#meta.get(key)
  }

  putMeta(key: string, value: unknown): void {
    this.#meta.set(key, value)
  }

  /**
   * Runs `fn` alone under its lock, in the order of calls, and resolves with its result (Elixir:
   * Registry.lock). The lock is free when `fn` settles or the holder ends. Rejects with what `fn` throws,
   * EXITED when the holder ends first, NOPROC when it had ended, BAD_OPTION, or ACTOR_DEAD when a dead
   * incarnation asks.
   */
  lock<R>(key: string, holder: ProcessRef, fn: () => R | Promise<R>): Promise<R> {
    return handled(this.#lock(key, holder, fn))
  }

  async #lock<R>(key: string, holder: ProcessRef, fn: () => R | Promise<R>): Promise<R> {
    checkKey(key)
    checkFunction(fn, 'lock')
    fence(processOf(holder))
    if (!holder.alive) throw new RuntimeError('NOPROC', `lock ${show(key)}: ${holder.name} has ended`)
    const before = this.#locks.get(key) ?? Promise.resolve()
    let unwatch = (): void => {}
    const ended = new Promise<never>((_, reject) => {
      unwatch = holder.onExit((reason) => reject(endedError(key, holder, reason)))
    })
    // A holder that ends while it waits does not get its turn.
    const work = Promise.race([before, ended]).then(() => (holder.alive ? fn() : ended))
    const result = Promise.race([work, ended])
    const over = result.then(unwatch, unwatch)
    const released = before.then(() => over)
    this.#locks.set(key, released)
    void released.then(() => {
      if (this.#locks.get(key) === released) this.#locks.delete(key)
    })
    return result
  }

  #watch(ref: ProcessRef): Registered<Value> {
    const registered: Registered<Value> = { entries: new Set(), unwatch: () => {} }
    registered.unwatch = ref.onExit(() => {
      for (const entry of [...registered.entries]) this.#remove(entry)
    })
    this.#processes.set(ref, registered)
    return registered
  }

  #under(key: string): TopicEntry<Value>[] {
    // Between a death and its clean-up an entry may still stand here: the dead are not shown.
    return [...(this.#keys.get(key) ?? [])].filter(({ ref }) => processOf(ref).reason === null)
  }

  #remove(entry: TopicEntry<Value>): void {
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

  #tell(type: RegistryEvent<Value>['type'], { key, ref, value }: TopicEntry<Value>): void {
    for (const listener of [...this.#listeners]) listener({ type, key, ref, value })
  }
}

interface TopicEntry<Value> {
  readonly key: string
  readonly ref: ProcessRef
  readonly value: Value
}

interface Registered<Value> {
  readonly entries: Set<TopicEntry<Value>>
  unwatch: () => void
}

function checkKey(key: unknown): void {
  if (typeof key !== 'string') throw badOption('key', 'a string', key)
}

function endedError(key: string, { name }: ProcessRef, reason: ExitReason): RuntimeError {
  const message = `lock ${show(key)}: ${name} ended while it held it or waited for it (${formatReason(reason)})`
  return new RuntimeError('EXITED', message, { data: { reason } })
}
