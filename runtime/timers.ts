import type { Actor } from './actor.js'
import { msError } from './clock.js'

/** One delayed message of one incarnation (OTP: timer reference). */
export class TimerRef {
  readonly #actor: Actor
  readonly #at: number
  #timer: unknown
  #waiting = true

  constructor(actor: Actor, ms: number, payload: unknown) {
    const wrong = msError(ms, 'sendAfter')
    if (wrong !== undefined) throw wrong
    const { clock } = actor.tree
    this.#actor = actor
    this.#at = clock.now() + ms
    actor.own.timers.add(this)
    this.#timer = clock.setTimeout(() => {
      this.#forget()
      actor.inform('timer', payload)
    }, ms)
  }

  /** Takes the message back: the milliseconds that were left, or false if it has fired already (OTP: cancel_timer). */
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
