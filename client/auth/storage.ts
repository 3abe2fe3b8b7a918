import type { JsonObject } from '../../protocol/wire/json.js'

/**
 * Keeps an OAuth client's registrations (by issuer) and tokens (by issuer and resource), for all providers
 * and processes that share it. Values are JSON and secret, keys are not.
 */
export interface AuthStorage {
  /** The last value of the key; undefined when there is none. */
  read(key: string): Promise<JsonObject | undefined>
  /** Replaces the value in one step; undefined removes it. */
  write(key: string, value: JsonObject | undefined): Promise<void>
  /**
   * Runs `work` alone for that key, in all processes: a refresh token used twice counts as theft. Rejects
   * when the signal aborts while it waits.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** A storage in memory; several providers may share one. */
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

/** Rejects with the signal's reason when that aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(signal.reason)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}
