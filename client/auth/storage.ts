import type { JsonObject } from '../../protocol/wire/json.js'

/**
 * Where an OAuth client keeps what it may not lose: registered clients by issuer, tokens by issuer and
 * resource. What you write for a place of your own; values are JSON and secret, keys are not. Whoever shares
 * a storage, be it another process, shares the tokens.
 */
export interface AuthStorage {
  /** What was written last under the key; undefined when there is nothing. */
  read(key: string): Promise<JsonObject | undefined>
  /** Puts a value in the place of the old one, whole or not at all; undefined removes it. */
  write(key: string, value: JsonObject | undefined): Promise<void>
  /**
   * Runs `work` while nobody else who shares the storage runs any for that key: two that use the same refresh
   * token at once would lose it, since authorization servers take a second use for a theft. Gives up waiting,
   * with a rejection, once the signal aborts.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** A storage that lives as long as the program; several providers may share one. */
export function memoryAuthStorage(): AuthStorage {
  const values = new Map<string, JsonObject>()
  const last = new Map<string, Promise<unknown>>()
  return Object.freeze({
    read: async (key: string) => values.get(key),
    async write(key: string, value: JsonObject | undefined) {
      if (value === undefined) values.delete(key)
      else values.set(key, value)
    },
    async exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      const before = last.get(key) ?? Promise.resolve()
      let done = (): void => {}
      const mine = new Promise<void>((resolve) => {
        done = resolve
      })
      const end = before.then(() => mine)
      last.set(key, end)
      try {
        await orAborted(before, signal)
        return await work()
      } finally {
        done()
        if (last.get(key) === end) last.delete(key)
      }
    },
  })
}

/** The same promise, given up when the signal aborts. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(signal.reason)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}
