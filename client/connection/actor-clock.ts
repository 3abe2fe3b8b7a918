import type { ActorContext } from '../../runtime/process/context.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Clock } from '../../runtime/time/clock.js'

/** A function on its way through the mailbox: one that is cancelled meanwhile does not run any more. */
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
 * A clock whose timers are messages to the actor: they never interrupt anything, a throw in one crashes the
 * actor, and they end with it. The actor's `info.timer` calls `run` on what it gets.
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
