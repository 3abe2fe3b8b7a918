import { show } from '../../runtime/base/errors.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { ServerError } from '../base/errors.js'

/** What a handler wants of a session: state that is kept, or what `session.init` makes. */
export type SessionUse = 'state' | 'assigns'

/** A value of the session with the number of its last change; 0 and undefined for one that was never set. */
export interface StateValue {
  readonly value: unknown
  readonly version: number
}

const nothing: Readonly<Record<string, never>> = Object.freeze({})
const absent: StateValue = Object.freeze({ value: undefined, version: 0 })

/** What tools keep with `ctx.update`: values by key, replaced whole and never changed in place. */
export class SessionState {
  #values = new TurnoverMap<string, StateValue>()
  #changes = 0

  constructor(values: Readonly<Record<string, unknown>>) {
    this.adopt(values)
  }

  read(key: string): StateValue {
    return this.#values.get(key) ?? absent
  }

  /** Takes a value if nobody changed it since `version`; otherwise answers the current one. */
  swap(key: string, version: number, value: unknown): StateValue | undefined {
    const current = this.read(key)
    if (current.version !== version) return current
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, { value, version: ++this.#changes })
    return undefined
  }

  /** Replaces all values. Calls that have read older ones run their change again. */
  adopt(values: Readonly<Record<string, unknown>>): void {
    this.#values = new TurnoverMap()
    for (const [key, value] of Object.entries(values))
      this.#values.set(key, { value, version: ++this.#changes })
  }

  toRecord(): Readonly<Record<string, unknown>> {
    // most sessions keep nothing, and there may be many records
    if (this.#values.size === 0) return nothing
    return Object.fromEntries([...this.#values.entries()].map(([key, { value }]) => [key, value]))
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
