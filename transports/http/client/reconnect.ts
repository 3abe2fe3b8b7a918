import type { LinkScope } from '../../contract/contract.js'

const firstDelay = 1_000
const longestDelay = 30_000
/** Nobody is told to go away for longer, and no timer of Node overflows. */
const longestWish = 3_600_000
/** However often a server asks for it: this many times a second is no polling any more. */
const shortestDelay = 100

/** How one stream came to its end. */
export interface StreamEnd {
  /** Whether it was of any use: something came on it, or it lived long. */
  readonly good: boolean
  /** Whether the server ended it, and nothing broke. */
  readonly orderly: boolean
  /** Milliseconds that a busy server does not want to be asked again for (`Retry-After`), this once. */
  readonly away?: number | undefined
  /** Nobody listened there: so it says nothing about the stream. */
  readonly nobody?: boolean | undefined
}

/** When a stream is opened again. */
export interface Reconnect {
  /** Ends in a row that were of no use. */
  readonly failures: number
  /** What the server asked for last, in ms; 0 when it said nothing. */
  readonly wish: number
  /**
   * The server wants us to wait this long (event stream field `retry`); it holds until it says something
   * else.
   */
  asked(ms: number): void
  /** Milliseconds from this end to the next attempt. */
  delayAfter(end: StreamEnd): number
  /**
   * Milliseconds from the last end to the next attempt when the server has answered something else meanwhile:
   * about one second after an outage, twice that after each attempt that came so soon in vain.
   */
  soonAfter(): number
}

/**
 * The policy of all event streams over HTTP. What the server asks for is kept to (SEP-1699), exactly so after
 * an orderly end; after a break there is jitter on top of it, so that the clients of one server do not come
 * back together, and while attempts fail a ceiling that doubles to 30 s, beyond which only `Retry-After`
 * leads, for an hour at most.
 */
export function createReconnect(random: () => number = Math.random): Reconnect {
  let wish: number | undefined
  let failures = 0
  /** Attempts in a row that came sooner, and were of no use. */
  let hurried = 0
  return {
    get failures() {
      return failures
    },
    get wish() {
      return wish ?? 0
    },
    asked(ms) {
      wish = Math.min(longestWish, Math.max(shortestDelay, ms))
    },
    delayAfter({ good, orderly, away = 0, nobody = false }) {
      failures = good ? 0 : failures + 1
      if (good || nobody) hurried = 0
      if (good && orderly && wish !== undefined) return wish
      const ceiling = Math.min(longestDelay, firstDelay * 2 ** failures)
      const jitter = (firstDelay / 2) * (1 + random())
      if (good) return (wish ?? 0) + jitter
      const asked = away === 0 ? 0 : Math.min(longestWish, away) + jitter
      return Math.max(wish ?? 0, asked, (ceiling / 2) * (1 + random()))
    },
    soonAfter() {
      const ceiling = Math.min(longestDelay, firstDelay * 2 ** hurried)
      hurried += 1
      return Math.max(wish ?? 0, (ceiling / 2) * (1 + random()))
    },
  }
}

/** Resolves after `ms`, or as soon as one of the signals aborts. */
export function pause(
  ms: number,
  { clock }: Pick<LinkScope, 'clock'>,
  ...signals: readonly AbortSignal[]
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimeout(end, ms)
    for (const signal of signals) signal.addEventListener('abort', end, { once: true })
    if (signals.some(({ aborted }) => aborted)) end()
  })
}
