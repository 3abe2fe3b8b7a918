import { contain, type ContainedTree } from '../runtime/faults/containment.js'

const key = Symbol.for('caduceus.signals.1')
const signals = ['SIGTERM', 'SIGINT'] as const
const numbers = Object.freeze({ SIGTERM: 15, SIGINT: 2 })

/** Keeps containment going after the last server has stopped. */
const nobody: ContainedTree = {
  keepsProgram: () => false,
  unowned: () => false,
  end: async () => {},
}

type Signal = (typeof signals)[number]

/**
 * Has SIGTERM and SIGINT stop this server in an orderly way, and SIGHUP replace its processes, if it has any
 * (`reload`); the returned function undoes that. Once all servers of the program have stopped, it ends with
 * `process.exitCode`, or 0, unless it listens for the signal itself. A second signal ends it at once.
 */
export function stopOnSignals(stop: () => Promise<void>, reload?: () => Promise<void>): () => void {
  // what a reload fails with is in the log already, and its server goes on
  const onHangUp = (): void => void reload?.().catch(() => {})
  if (reload !== undefined) process.on('SIGHUP', onHangUp)
  const unstop = stopOnTerm(stop)
  return () => {
    process.off('SIGHUP', onHangUp)
    unstop()
  }
}

function stopOnTerm(stop: () => Promise<void>): () => void {
  const known = Reflect.get(globalThis, key) as Leaving | undefined
  const leaving = known ?? new Leaving()
  // shared by all copies of the library: the last server of all ends the program
  Reflect.set(globalThis, key, leaving)
  leaving.add(stop)
  return () => leaving.remove(stop)
}

class Leaving {
  readonly #stops = new Set<() => Promise<void>>()
  readonly #onSignal = (signal: Signal): void => void this.#leave(signal)
  #isLeaving = false

  add(stop: () => Promise<void>): void {
    if (this.#stops.size === 0 && !this.#isLeaving)
      for (const signal of signals) process.on(signal, this.#onSignal)
    this.#stops.add(stop)
  }

  /** Signals are still heard while servers stop. */
  remove(stop: () => Promise<void>): void {
    this.#stops.delete(stop)
    if (this.#stops.size === 0 && !this.#isLeaving) this.#rest()
  }

  async #leave(signal: Signal): Promise<void> {
    const isAlone = process.listenerCount(signal) === 1
    if (this.#isLeaving) {
      if (isAlone) process.exit(128 + numbers[signal])
      return
    }
    this.#isLeaving = true
    const release = contain(nobody) // what tools have left running is theirs, to the end of the program
    while (this.#stops.size > 0) {
      const stops = [...this.#stops]
      this.#stops.clear()
      await Promise.allSettled(stops.map((stop) => stop()))
    }
    this.#isLeaving = false
    this.#rest()
    if (isAlone) process.exit(process.exitCode ?? 0)
    release()
  }

  #rest(): void {
    for (const signal of signals) process.off(signal, this.#onSignal)
  }
}
