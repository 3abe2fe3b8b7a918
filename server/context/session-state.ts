/** A value of the session with the number of its last change; 0 and undefined for one that was never set. */
export interface StateValue {
  readonly value: unknown
  readonly version: number
}

const absent: StateValue = Object.freeze({ value: undefined, version: 0 })

/** What the tools of a session keep: values by key, exchanged whole and never changed in place. */
export class SessionState {
  readonly #values: Map<string, StateValue>
  #changes = 0

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = new Map(
      Object.entries(values).map(([key, value]) => [key, { value, version: ++this.#changes }]),
    )
  }

  read(key: string): StateValue {
    return this.#values.get(key) ?? absent
  }

  /** Takes a value if nobody changed it since `version`; otherwise answers what is there now. */
  swap(key: string, version: number, value: unknown): StateValue | undefined {
    const current = this.read(key)
    if (current.version !== version) return current
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, { value, version: ++this.#changes })
    return undefined
  }

  /** Takes over all values; calls that have seen others run their change again. */
  adopt(values: Readonly<Record<string, unknown>>): void {
    this.#values.clear()
    for (const [key, value] of Object.entries(values))
      this.#values.set(key, { value, version: ++this.#changes })
  }

  toRecord(): Record<string, unknown> {
    return Object.fromEntries([...this.#values].map(([key, { value }]) => [key, value]))
  }
}
