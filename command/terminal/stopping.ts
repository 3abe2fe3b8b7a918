import { outputFailed } from './screen.js'

const numbers = Object.freeze({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })
const signals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/** Milliseconds from the first signal to the end: a server that was started gets a SIGTERM within them. */
const exitTimeout = 2_000

/** Signals that end a command before it is done. */
interface Stopping {
  /** Aborts at the first signal, and where nobody reads the output any more. */
  readonly signal: AbortSignal
  /** 128 and the number of the signal, once one has come. */
  readonly code: number | undefined
  /** Signals end the program as usual from now on: for when nothing is left that has to be ended. */
  release(): void
}

/**
 * Has Ctrl-C, SIGTERM and SIGHUP end a command in order. A second signal ends the program at once, and with
 * it what it started: servers have process groups of their own, which no signal of the terminal reaches.
 */
export function listenForStop(): Stopping {
  const stop = new AbortController()
  const state: { code: number | undefined } = { code: undefined }
  const heard = (signal: NodeJS.Signals): void => {
    const code = 128 + numbers[signal as keyof typeof numbers]
    if (state.code !== undefined) process.exit(code)
    state.code = code
    setTimeout(() => process.exit(code), exitTimeout).unref()
    stop.abort(new Error(signal))
  }
  const failed = (): void => stop.abort(outputFailed.reason)
  for (const signal of signals) process.on(signal, heard)
  outputFailed.addEventListener('abort', failed)
  return {
    signal: stop.signal,
    get code() {
      return state.code
    },
    release() {
      for (const signal of signals) process.off(signal, heard)
      outputFailed.removeEventListener('abort', failed)
    },
  }
}
