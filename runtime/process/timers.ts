import type { Actor } from './actor.js'
import { checkMs } from '../time/clock.js'
import { inform } from './info.js'

/** One delayed message of one incarnation (OTP: timer reference). */
export class TimerRef {
  readonly #actor: Actor
  readonly #at: number
  #timer: unknown
  #waiting = true

  constructor(actor: Actor, ms: number, payload: unknown, tagged = false) {
    checkMs(ms, tagged ? 'startTimer' : 'sendAfter')
    const { clock } = actor.tree
    this.#actor = actor
    this.#at = clock.now() + ms
    actor.own.timers.add(this)
    this.#timer = clock.setTimeout(() => {
      this.#forget()
      const fired: TimerFired = { timer: this, payload }
      inform(actor, 'timer', tagged ? fired : payload)
    }, ms)
  }

  /**
   * Takes the message back: the milliseconds that were left, or false if it has fired already (OTP:
   * cancel_timer).
   */
  cancel(): number | false {
    if (!this.#waiting) return false
    this.clear()
    return Math.max(0, this.#at - this.#actor.tree.clock.now())
  }

  clear(): void {
    this.#actor.tree.clock.clearTimeout(this.#timer)
    this.#forget()
  }

  #forget(): void {
    this.#waiting = false
    this.#actor.belongings?.timers.delete(this)
  }
}

/**
 * What `info.timer` is given for a timer of `ctx.startTimer`: which one it was, so that a stale one can be
 * told apart.
 */
export interface TimerFired {
  readonly timer: TimerRef
  readonly payload: unknown
}

/**
 * Delivers `info.timeout` when no message comes for `ms` milliseconds; any message takes it back (OTP: the
 * timeout of a return value).
 */
export class IdleTimer {
  readonly #actor: Actor
  readonly #timer: unknown

  constructor(actor: Actor, ms: number) {
    checkMs(ms, 'idleAfter')
    this.#actor = actor
    actor.own.timers.add(this)
    this.#timer = actor.tree.clock.setTimeout(() => {
      this.#forget()
      // A message that already waits came first.
      if (actor.backlog === 0 && !actor.handling) inform(actor, 'timeout', undefined)
    }, ms)
  }

  clear(): void {
    this.#actor.tree.clock.clearTimeout(this.#timer)
    this.#forget()
  }

  #forget(): void {
    this.#actor.belongings?.timers.delete(this)
  }
}
