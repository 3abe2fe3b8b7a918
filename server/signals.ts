import { contain, type ContainedTree } from '../runtime/faults/containment.js'

const key = Symbol.for('caduceus.signals.1')
const signals = ['SIGTERM', 'SIGINT'] as const
const numbers = Object.freeze({ SIGTERM: 15, SIGINT: 2, SIGHUP: 1 })

/** Keeps containment going after the last server has stopped. */
const nobody: ContainedTree = {
  keepsProgram: () => false,
  unowned: () => false,
  end: async () => {},
}

type Signal = keyof typeof numbers

export interface SignalPlan {
  readonly stop: () => Promise<void>
  /** What SIGHUP does where it does not say that a terminal is gone. */
  readonly hangUp: () => Promise<void>
  /** Whether the program has a terminal, so that SIGHUP says that it is gone: that is like SIGTERM. */
  readonly endsOnHangUp: boolean
}

/**
 * Has SIGTERM and SIGINT stop this server in an orderly way; the returned function undoes that. SIGHUP never
 * ends the program without a stop. Once all servers of the program have stopped, it ends with
 * `process.exitCode`, or 0, unless it listens for the signal itself. A second signal ends it at once.
 */
export function stopOnSignals({ stop, hangUp, endsOnHangUp }: SignalPlan): () => void {
  // what a reload fails with is in the log already, and its server goes on
  const onHangUp = (): void => void hangUp().catch(() => {})
  if (!endsOnHangUp) process.on('SIGHUP', onHangUp)
  const known = Reflect.get(globalThis, key) as Leaving | undefined
  const leaving = known ?? new Leaving()
  // shared by all copies of the library: the last server of all ends the program
  Reflect.set(globalThis, key, leaving)
  leaving.add(stop, endsOnHangUp)
  return () => {
    process.off('SIGHUP', onHangUp)
    leaving.remove(stop)
  }
}

/** Whether one of the streams that the program was started with is a terminal. */
export function hasTerminal(): boolean {
  const { isatty } = process.getBuiltinModule('node:tty')
  return [0, 1, 2].some((fd) => isatty(fd))
}

class Leaving {
  readonly #stops = new Set<() => Promise<void>>()
  readonly #onSignal = (signal: NodeJS.Signals): void => void this.#leave(signal as Signal)
  #isLeaving = false

  add(stop: () => Promise<void>, endsOnHangUp = false): void {
    if (this.#stops.size === 0 && !this.#isLeaving)
      for (const signal of signals) process.on(signal, this.#onSignal)
    if (endsOnHangUp && !process.listeners('SIGHUP').includes(this.#onSignal))
      process.on('SIGHUP', this.#onSignal)
    this.#stops.add(stop)
  }

  /** Signals are still heard while servers stop. */
  remove(stop: () => Promise<void>): void {
    this.#stops.delete(stop)
    if (this.#stops.size === 0 && !this.#isLeaving) this.#rest()
  }

  async #leave(signal: Signal): Promise<void> {
    const isAlone = process.listenerCount(signal) === 1
    // a program that listens for it means something else by it
    if (signal === 'SIGHUP' && !isAlone) return
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
    for (const signal of [...signals, 'SIGHUP' as const]) process.off(signal, this.#onSignal)
  }
}
