import { backoff } from '../../runtime/time/backoff.js'
import type { World } from '../../runtime/time/world.js'

/** Pauses between attempts to connect: full jitter below a ceiling that doubles with every failure. */
export interface BackoffOptions {
  /** The ceiling of the first pause, in ms. Default 500. */
  readonly base?: number
  /** The highest ceiling, and the longest that `Retry-After` (429, 503) adds, in ms. Default 30,000. */
  readonly cap?: number
  /**
   * The highest ceiling while somebody waits, in ms. Starts of a child process take at most a tenth of the
   * time. Default 1,000.
   */
  readonly awaitedCap?: number
  /** How long a connection must be ready until earlier failures are forgotten, in ms. Default 10,000. */
  readonly stable?: number
  /** Where the jitter comes from: a number from 0 to 1. Default: the world of its tree (`clock`). */
  readonly random?: () => number
}

type Backoff = Required<BackoffOptions>

/** The options as they were read: who has given no chance of its own gets that of its tree. */
export type BackoffSettings = Readonly<Required<Omit<BackoffOptions, 'random'>>> & {
  readonly random: (() => number) | undefined
}

export function backoffIn({ random }: World, settings: BackoffSettings): Backoff {
  return { ...settings, random: settings.random ?? random }
}

interface Setback {
  /** Failed in a row before the last one. */
  readonly failures: number
  /** A call or `ready()` waits. */
  readonly awaited: boolean
  /** Ms that the last attempt kept the machine busy, as the start of a program does. */
  readonly busy: number
}

/** While somebody waits, spend at most 1/n of the time on attempts. */
const rest = 10

/** Random, so that clients of one server do not come back together. */
export function pauseAfter({ failures, awaited, busy }: Setback, options: Backoff): number {
  const { base, cap, random } = options
  const highest = awaited ? awaitedCeiling(busy, options) : cap
  return random() * backoff({ first: base, longest: Math.min(cap, highest) }, failures)
}

/** Ms left once somebody waits: a long pause becomes that of a first failure. */
export function pauseLeft(left: number, busy: number, backoff: Backoff): number {
  if (left <= awaitedCeiling(busy, backoff)) return left
  return pauseAfter({ failures: 0, awaited: true, busy }, backoff)
}

function awaitedCeiling(busy: number, { awaitedCap }: Backoff): number {
  return Math.max(awaitedCap, rest * busy)
}

/** Failures of something that is restarted whenever it ends. */
export class Setbacks {
  readonly #backoff: BackoffSettings
  #failures = 0
  #began: number | undefined
  #ran = 0

  constructor(backoff: BackoffSettings) {
    this.#backoff = backoff
  }

  began(now: number): void {
    this.#began = now
  }

  /** Call it after an end: ms before the next start, 0 before the first. */
  next(world: World, awaited: boolean): number {
    if (this.#began === undefined) return 0
    this.#ran = world.now() - this.#began
    if (this.#ran >= this.#backoff.stable) this.#failures = 0
    this.#failures += 1
    return pauseAfter(
      { failures: this.#failures - 1, awaited, busy: this.#ran },
      backoffIn(world, this.#backoff),
    )
  }

  /** Ms left once somebody waits. */
  left(ms: number, world: World): number {
    return pauseLeft(ms, this.#ran, backoffIn(world, this.#backoff))
  }
}
