import { show } from '../../runtime/base/errors.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { ServerError } from '../base/errors.js'

/** A value of the session with the number of its last change; 0 and undefined for one that was never set. */
export interface StateValue {
  readonly value: unknown
  readonly version: number
}

const nothing: Readonly<Record<string, never>> = Object.freeze({})
const absent: StateValue = Object.freeze({ value: undefined, version: 0 })

/** A value that no store has acknowledged. */
interface UnsavedChange {
  /** What is saved; undefined: nothing. */
  readonly before: unknown
  /** The number of the last change that is in what is saved. */
  readonly since: number
  /** The number of the last change. */
  readonly at: number
}

/** Changes of one key, of which nothing is left: those after one number, up to another. */
export interface UndoneChanges {
  readonly key: string
  readonly since: number
  readonly at: number
}

/**
 * What tools keep with `ctx.update`: values by key, replaced whole and never changed in place. It knows what is
 * saved of them, so that a change which a store refuses can be undone.
 */
export class SessionState {
  #values = new TurnoverMap<string, StateValue>()
  #changes = 0
  /** By key. */
  readonly #unsaved = new TurnoverMap<string, UnsavedChange>()
  /** The newest record that was saved. */
  #savedVersion = Number.NEGATIVE_INFINITY

  constructor(values: Readonly<Record<string, unknown>>) {
    this.adopt(values)
  }

  read(key: string): StateValue {
    return this.#values.get(key) ?? absent
  }

  /** The number of the last change. */
  get changes(): number {
    return this.#changes
  }

  /** Takes a value if nobody changed it since `version`; otherwise answers the current one. */
  swap(key: string, version: number, value: unknown): StateValue | undefined {
    const current = this.read(key)
    if (current.version !== version) return current
    const { before, since } = this.#unsaved.get(key) ?? { before: current.value, since: this.#changes }
    this.#set(key, value)
    this.#unsaved.set(key, { before, since, at: this.#changes })
    return undefined
  }

  /** Replaces all values, by saved ones. Calls that have read older ones run their change again. */
  adopt(values: Readonly<Record<string, unknown>>): void {
    this.#values = new TurnoverMap()
    for (const key of [...this.#unsaved.keys()]) this.#unsaved.delete(key)
    for (const [key, value] of Object.entries(values)) this.#set(key, value)
  }

  /** The values; what was changed after a number is as it is saved. */
  toRecord(upTo = this.#changes): Readonly<Record<string, unknown>> {
    const later = upTo >= this.#changes ? [] : [...this.#unsaved.entries()]
    const taken = new Map(later.flatMap(([key, { before, at }]) => (at > upTo ? [[key, before]] : [])))
    // most sessions keep nothing, and there may be many records
    if (this.#values.size === 0 && taken.size === 0) return nothing
    const values = new Map([...this.#values.entries()].map(([key, { value }]) => [key, value]))
    for (const [key, before] of taken) values.set(key, before)
    return Object.fromEntries([...values].filter(([, value]) => value !== undefined))
  }

  /** The number of the last change of each value that is not saved, the oldest first. */
  get unsaved(): readonly number[] {
    return [...this.#unsaved.values()].map(({ at }) => at).sort((one, other) => one - other)
  }

  /** What `toRecord` gave for a number is saved, in a record of this version. */
  noteSaved(values: Readonly<Record<string, unknown>>, upTo: number, version: number): void {
    // a store keeps the newest, whichever it acknowledges last
    if (version < this.#savedVersion) return
    this.#savedVersion = version
    for (const [key, { before, at }] of [...this.#unsaved.entries()]) {
      const saved = Object.hasOwn(values, key) ? values[key] : undefined
      if (at <= upTo) this.#unsaved.delete(key)
      else if (!Object.is(saved, before)) this.#unsaved.set(key, { before: saved, since: upTo, at })
    }
  }

  /** Makes a value what is saved, unless it is saved or changed again since this change: then undefined. */
  undo(change: number): UndoneChanges | undefined {
    const [key, unsaved] = [...this.#unsaved.entries()].find(([, { at }]) => at === change) ?? []
    if (key === undefined || unsaved === undefined) return undefined
    const { before, since, at } = unsaved
    this.#unsaved.delete(key)
    this.#set(key, before)
    return { key, since, at }
  }

  #set(key: string, value: unknown): void {
    this.#changes += 1
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, { value, version: this.#changes })
  }
}

/** Throws BAD_STATE unless the key is a non-empty string. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new ServerError('BAD_STATE', `key: expected a non-empty string, got ${show(key)}`)
}

/** A copy of a value: handlers never share one with the session. Throws BAD_STATE if it cannot be copied. */
export function copy(key: string, value: unknown): unknown {
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return value
  try {
    return structuredClone(value)
  } catch (cause) {
    const problem = `${show(key)}: session state takes values that can be copied (structuredClone), got ${show(value)}`
    throw new ServerError('BAD_STATE', problem, { cause, data: { key } })
  }
}
