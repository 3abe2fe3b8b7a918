import type { Clock } from '../../runtime/time/clock.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { TimerRef } from '../../runtime/process/timers.js'

/** A timer on its way through the mailbox: what is cancelled after it fired must not run any more. */
export class DueTimer {
  readonly #fn: () => void
  #live = true

  constructor(fn: () => void) {
    this.#fn = fn
  }

  run(): void {
    if (this.#live) this.#fn()
    this.#live = false
  }

  cancel(): void {
    this.#live = false
  }
}

/**
 * A clock whose timers are messages to the actor: they never run in the middle of something else, a throw in
 * one is the actor's crash, and they are gone with it. The actor's `info.timer` has to call `run` on what it
 * gets.
 */
export function actorClock(ctx: ActorContext): Clock {
  const { clock } = ctx
  return {
    grain: clock.grain ?? 0,
    now: () => clock.now(),
    setTimeout(fn, ms) {
      const due = new DueTimer(fn)
      return { due, timer: ctx.sendAfter(ms, due) }
    },
    clearTimeout(handle) {
      const { due, timer } = (handle ?? {}) as { due?: DueTimer; timer?: TimerRef }
      due?.cancel()
      timer?.cancel()
    },
  }
}
