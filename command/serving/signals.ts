import { isatty } from 'node:tty'

const numbers = Object.freeze({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })
type Signal = keyof typeof numbers

/** What signals mean to a program that serves, to its end: children may need some time yet. */
export interface ServingSignals {
  /** What the first signal begins; before, one ends the program at once. */
  onStop(stop: () => void): void
  /** What SIGHUP does where it does not say that a terminal is gone. */
  onHangUp(again: () => void): void
}

/** Whether SIGHUP says that a terminal has gone. */
export function hasTerminal(): boolean {
  return [0, 1, 2].some((descriptor) => isatty(descriptor))
}

/**
 * Has SIGTERM, SIGINT and, with a terminal, SIGHUP end what is served in order; the second one ends the
 * program at once, and with it what it started. The library would end the program with the last server, and
 * leave children no time to end by themselves.
 */
export function hearSignals(): ServingSignals {
  const state: { stop?: () => void; again?: () => void; isStopping: boolean } = { isStopping: false }
  const heard = (signal: NodeJS.Signals): void => {
    if (state.stop === undefined || state.isStopping) process.exit(128 + numbers[signal as Signal])
    state.isStopping = true
    state.stop()
  }
  const hungUp = hasTerminal() ? heard : (): void => state.again?.()
  const listeners = { SIGTERM: heard, SIGINT: heard, SIGHUP: hungUp }
  for (const [signal, listener] of Object.entries(listeners)) process.on(signal, listener)
  return {
    onStop(stop) {
      state.stop = stop
    },
    onHangUp(again) {
      state.again = again
    },
  }
}
