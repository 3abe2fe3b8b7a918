import { listenForAbort } from '../../runtime/time/wait.js'
import type { Undo } from './state.js'

interface SignalListeners {
  readonly all: Set<() => void>
  readonly end: Undo
}

/** Listens to each signal once: with many listeners Node is slow to remove one. */
export class SharedSignals {
  readonly #known = new Map<AbortSignal, SignalListeners>()

  /** Calls `fn` once on abort, unless the returned function was called before. */
  listen(signal: AbortSignal, fn: () => void): Undo {
    const listening = this.#known.get(signal) ?? this.#begin(signal)
    const { all, end } = listening
    all.add(fn)
    return () => {
      all.delete(fn)
      if (all.size > 0 || this.#known.get(signal) !== listening) return
      this.#known.delete(signal)
      end()
    }
  }

  #begin(signal: AbortSignal): SignalListeners {
    const all = new Set<() => void>()
    const end = listenForAbort(signal, () => {
      this.#known.delete(signal)
      for (const fn of [...all]) fn()
    })
    const listening = { all, end }
    this.#known.set(signal, listening)
    return listening
  }
}
