import type { Clock } from '../../../runtime/time/clock.js'
import { createReconnect, type StreamEnd } from './reconnect.js'

/** Milliseconds until the first attempt after a cut, and what they double to. */
const firstDelay = 250
const longestDelay = 2_000
/**
 * Milliseconds after a cut in which the server has to be reached again; what it asks for (`retry`) comes on
 * top.
 */
const cutTime = 10_000
/** Streams in a row that the server gave us, and that brought nothing. */
const maxUseless = 8

/** How one attempt to get the answer ended. */
export interface AnswerEnd extends StreamEnd {
  /** Whether the server gave us a stream; if not, nobody was reached, or somebody in trouble. */
  readonly accepted: boolean
}

/** When the rest of an answer is asked for again, and how often. */
export interface Resumption {
  /** The server wants us to wait this long (event stream field `retry`). */
  asked(ms: number): void
  /** Milliseconds until the next attempt; undefined: there is none, and the caller has to know. */
  delayAfter(end: AnswerEnd): number | undefined
}

/**
 * The policy for one answer. As long as the server gives us streams, the pace is that of all streams, and
 * eight in a row may bring nothing. After a cut somebody waits: attempts follow each other quickly, and when
 * none has come through in 10 s there is no other.
 */
export function createResumption(
  { now }: Pick<Clock, 'now'>,
  random: () => number = Math.random,
): Resumption {
  const reconnect = createReconnect(random)
  let cutAt: number | undefined
  let attempts = 0
  return {
    asked: (ms) => reconnect.asked(ms),
    delayAfter(end) {
      const { accepted, good, orderly, away = 0 } = end
      if (accepted) {
        cutAt = undefined
        attempts = 0
        const delay = reconnect.delayAfter(end)
        if (orderly || !good) return reconnect.failures >= maxUseless ? undefined : delay
      }
      cutAt ??= now()
      const ceiling = Math.min(longestDelay, firstDelay * 2 ** attempts)
      attempts += 1
      const delay = Math.max(away, reconnect.wish) + (ceiling / 2) * (1 + random())
      return now() + delay > cutAt + cutTime + reconnect.wish ? undefined : delay
    },
  }
}
