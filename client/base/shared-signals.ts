import { setMaxListeners } from 'node:events'
import type { Undo } from './state.js'

/** What one signal of a caller has to be told to. */
interface Listening {
  readonly all: Set<() => void>
  readonly onAbort: () => void
}

/**
 * Listens to signals once each, however many calls share one: of more than ten listeners Node warns on
 * standard error.
 */
export class SharedSignals {
  readonly #known = new Map<AbortSignal, Listening>()

  /**
   * Calls `fn` once when the signal aborts, unless the returned function was called before. A function is
   * listed once for each signal.
   */
  listen(signal: AbortSignal, fn: () => void): Undo {
    const listening = this.#known.get(signal) ?? this.#begin(signal)
    listening.all.add(fn)
    return () => {
      listening.all.delete(fn)
      if (listening.all.size > 0 || this.#known.get(signal) !== listening) return
      this.#known.delete(signal)
      signal.removeEventListener('abort', listening.onAbort)
    }
  }

  #begin(signal: AbortSignal): Listening {
    const all = new Set<() => void>()
    const onAbort = (): void => {
      this.#known.delete(signal)
      for (const fn of [...all]) fn()
    }
    const listening = { all, onAbort }
    this.#known.set(signal, listening)
    onAbortOf(signal, onAbort)
    return listening
  }
}

/**
 * Calls `fn` when a caller's signal aborts, unless the returned function was called before. Many clients may
 * share a signal: that is no leak to warn of.
 */
export function onAbortOf(signal: AbortSignal, fn: () => void): Undo {
  setMaxListeners(0, signal)
  signal.addEventListener('abort', fn, { once: true })
  return () => signal.removeEventListener('abort', fn)
}
