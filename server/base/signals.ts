import { contain, type ContainedTree } from '../../runtime/faults/containment.js'

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

interface SignalPlan {
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
export function stopOnSignals(plan: SignalPlan): () => void {
  const known = Reflect.get(globalThis, key) as Leaving | undefined
  const leaving = known ?? new Leaving()
  // shared by all copies of the library: the last server of all ends the program
  Reflect.set(globalThis, key, leaving)
  leaving.add(plan)
  return () => leaving.remove(plan)
}

/** Whether one of the streams that the program was started with is a terminal. */
export function hasTerminal(): boolean {
  const { isatty } = process.getBuiltinModule('node:tty')
  return [0, 1, 2].some((fd) => isatty(fd))
}

class Leaving {
  readonly #plans = new Set<SignalPlan>()
  readonly #onSignal = (signal: NodeJS.Signals): void => void this.#leave(signal as Signal)
  readonly #onHangUp = (): void => this.#hangUp()
  #isLeaving = false
  #endsOnHangUp = false

  add(plan: SignalPlan): void {
    if (this.#plans.size === 0 && !this.#isLeaving) {
      for (const signal of signals) process.on(signal, this.#onSignal)
      process.on('SIGHUP', this.#onHangUp)
    }
    this.#plans.add(plan)
    this.#endsOnHangUp ||= plan.endsOnHangUp
  }

  /** Signals are still heard while servers stop. */
  remove(plan: SignalPlan): void {
    this.#plans.delete(plan)
    if (this.#plans.size === 0 && !this.#isLeaving) this.#rest()
  }

  #hangUp(): void {
    if (this.#endsOnHangUp) {
      // a program that listens for it means something else by it
      if (process.listenerCount('SIGHUP') === 1) void this.#leave('SIGHUP')
      return
    }
    // what a reload fails with is in the log already, and its server goes on
    for (const { hangUp } of [...this.#plans]) void hangUp().catch(() => {})
  }

  async #leave(signal: Signal): Promise<void> {
    const isAlone = process.listenerCount(signal) === 1
    if (this.#isLeaving) {
      if (isAlone) process.exit(128 + numbers[signal])
      return
    }
    this.#isLeaving = true
    const release = contain(nobody) // what tools have left running is theirs, to the end of the program
    while (this.#plans.size > 0) {
      const plans = [...this.#plans]
      this.#plans.clear()
      await Promise.allSettled(plans.map(({ stop }) => stop()))
    }
    this.#isLeaving = false
    this.#rest()
    if (isAlone) process.exit(process.exitCode ?? 0)
    release()
  }

  #rest(): void {
    for (const signal of signals) process.off(signal, this.#onSignal)
    process.off('SIGHUP', this.#onHangUp)
    this.#endsOnHangUp = false
  }
}
