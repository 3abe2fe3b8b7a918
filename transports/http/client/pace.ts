import { backoff, jittered } from '../../../runtime/time/backoff.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { isNobodyThere } from './errors.js'

/** Milliseconds until the next attempt. */
const delays = { first: 1_000, longest: 30_000 }
/** A server cannot send us away for longer, and no timer of Node overflows. */
const longestWish = 3_600_000
/** However often a server asks for it: at most ten attempts a second. */
const shortestDelay = 100

export interface StreamEnd {
  /** Whether something came on it, or it lived long. */
  readonly good: boolean
  /** Whether the server ended it, and nothing broke. */
  readonly orderly: boolean
  /** Milliseconds that a busy server does not want to be asked again for (`Retry-After`), this once. */
  readonly away?: number | undefined
  /** The port refused the connection: that says nothing about the stream. */
  readonly nobody?: boolean | undefined
}

/**
 * The policy of all event streams over HTTP. The server's wish is kept to (SEP-1699), with jitter after a
 * break. While attempts fail, a ceiling doubles to 30 s; only `Retry-After` leads beyond it, to an hour at
 * most.
 */
export class StreamPace {
  readonly #random: () => number
  #wish: number | undefined
  #failures = 0
  /** Attempts in a row that came sooner (`soonAfter`), and were of no use. */
  #hurried = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Ends in a row that were of no use. */
  get failures(): number {
    return this.#failures
  }

  /** The pause that the server asked for last, in ms; 0 when it asked for none. */
  get wish(): number {
    return this.#wish ?? 0
  }

  /** The server asks for a pause (event stream field `retry`); it holds until the next such wish. */
  asked(ms: number): void {
    this.#wish = Math.min(longestWish, Math.max(shortestDelay, ms))
  }

  /** Milliseconds from this end to the next attempt. */
  delayAfter({ good, orderly, away = 0, nobody = false }: StreamEnd): number {
    this.#failures = good ? 0 : this.#failures + 1
    if (good || nobody) this.#hurried = 0
    if (good && orderly && this.#wish !== undefined) return this.#wish
    const jitter = jittered(delays.first, this.#random)
    if (good) return this.wish + jitter
    const asked = away === 0 ? 0 : Math.min(longestWish, away) + jitter
    return Math.max(this.wish, asked, this.#backoff(this.#failures))
  }

  /** Milliseconds to the next attempt when the server answers other requests: 1 s, doubled when in vain. */
  soonAfter(): number {
    this.#hurried += 1
    return Math.max(this.wish, this.#backoff(this.#hurried - 1))
  }

  #backoff(times: number): number {
    return jittered(backoff(delays, times), this.#random)
  }
}

/** Milliseconds until the first attempt after a cut, and what they double to. */
const cutDelays = { first: 250, longest: 2_000 }
/** Milliseconds after a cut in which the server has to be reached again; its wish (`retry`) comes on top. */
const cutTime = 10_000
/** Streams in a row that the server gave us, and that brought nothing. */
const maxUseless = 8

export interface AnswerEnd extends StreamEnd {
  /** Whether the server gave us a stream; if not, it was out of reach, or in trouble. */
  readonly accepted: boolean
}

/**
 * How often the rest of one answer is asked for. Eight streams in a row may bring nothing; after a cut,
 * attempts follow quickly and end when none has come through in 10 s.
 */
export class AnswerPace {
  readonly #now: () => number
  readonly #random: () => number
  readonly #pace: StreamPace
  #cutAt: number | undefined
  #attempts = 0

  constructor({ now }: Pick<Clock, 'now'>, random: () => number) {
    this.#now = now
    this.#random = random
    this.#pace = new StreamPace(random)
  }

  asked(ms: number): void {
    this.#pace.asked(ms)
  }

  /** Milliseconds until the next attempt; undefined: there is none, and the caller has to know. */
  delayAfter(end: AnswerEnd): number | undefined {
    const { accepted, good, orderly, away = 0 } = end
    const pace = this.#pace
    if (accepted) {
      this.#cutAt = undefined
      this.#attempts = 0
      const delay = pace.delayAfter(end)
      if (orderly || !good) return pace.failures >= maxUseless ? undefined : delay
    }
    const now = this.#now()
    this.#cutAt ??= now
    const pause = jittered(backoff(cutDelays, this.#attempts), this.#random)
    this.#attempts += 1
    const delay = Math.max(away, pace.wish) + pause
    return now + delay > this.#cutAt + cutTime + pace.wish ? undefined : delay
  }
}

/** Ends pauses when a request finds the server there or gone: streams are reopened, or answers lost. */
export class Presence {
  #absence = new AbortController()
  /** Made when it is first waited for. */
  #answered: AbortController | undefined

  /** Aborted, with the error, the next time that nobody listens at the port. */
  get absence(): AbortSignal {
    return this.#absence.signal
  }

  /** Aborted the next time that a request is answered. */
  get answer(): AbortSignal {
    this.#answered ??= new AbortController()
    return this.#answered.signal
  }

  failed(cause: unknown): void {
    if (!isNobodyThere(cause)) return
    this.#absence.abort(cause)
    this.#absence = new AbortController()
  }

  answered(): void {
    this.#answered?.abort()
    this.#answered = undefined
  }
}
