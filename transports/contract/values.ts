/** A value that is kept: whoever sets another one says which one it replaces. */
export interface KeptValue {
  readonly text: string
  /** What tells it from every other value of its key. */
  readonly tag: string
}

/** How a value is set. */
export interface SetOptions {
  /** Milliseconds that it is kept. */
  readonly ttl: number
  /** The value that it replaces; undefined: there is none. */
  readonly was: KeptValue | undefined
}

/**
 * What listeners keep in the engine of their server, for all nodes. Neither keys nor values can be read there.
 * Both methods reject with TransportError CLUSTER_UNAVAILABLE while the engine is away.
 */
export interface Values {
  get(key: string): Promise<KeptValue | undefined>
  /** Sets a value, or deletes it (undefined). False, and nothing is done: what is there is not `was`. */
  set(key: string, text: string | undefined, options: SetOptions): Promise<boolean>
}
