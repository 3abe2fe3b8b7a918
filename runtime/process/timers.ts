import { checkMs } from '../time/clock.js'
import type { Actor } from './actor.js'

/** A delayed message (OTP: timer reference). */
export class TimerRef {
  readonly #actor: Actor
  readonly #at: number
  readonly #timer: unknown
  #waiting = true

  constructor(actor: Actor, ms: number, payload: unknown, tagged = false) {
    checkMs(ms, tagged ? 'startTimer' : 'sendAfter')
    const { clock } = actor.tree
    this.#actor = actor
    this.#at = clock.now() + ms
    actor.own.keepTimer(this)
    this.#timer = clock.setTimeout(() => {
      this.#forget()
      const fired: TimerFired = { timer: this, payload }
      actor.inform('timer', tagged ? fired : payload)
    }, ms)
  }

  /** Cancels it; answers the milliseconds left, or false once it has fired (OTP: cancel_timer). */
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
    this.#actor.extras?.timers.delete(this)
  }
}

/** What `info.timer` gets for a timer of `ctx.startTimer`. */
export interface TimerFired {
  readonly timer: TimerRef
  readonly payload: unknown
}

/** Sends `info.timeout` when no message comes within `ms` milliseconds. */
export function idleAfter(actor: Actor, ms: number): void {
  checkMs(ms, 'idleAfter')
  const { clock } = actor.tree
  const { own } = actor
  const extras = actor.actorExtras()
  extras.idle?.clear()
  const timer = clock.setTimeout(() => {
    own.timers.delete(idle)
    // A message that waits came first.
    if (actor.backlog === 0 && !actor.handling) actor.inform('timeout', undefined)
  }, ms)
  const idle = {
    clear() {
      clock.clearTimeout(timer)
      own.timers.delete(idle)
    },
  }
  own.keepTimer(idle)
  extras.idle = idle
}
