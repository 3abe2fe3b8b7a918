import type { ActorContext } from '../../runtime/process/context.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { World } from '../../runtime/time/world.js'

/** On its way through the mailbox; a cancelled one does not run. */
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
 * Timers as messages to an actor: they interrupt nothing, a throw crashes it, and they end with it. The
 * actor's `info.timer` calls `run`.
 */
export function actorWorld(ctx: ActorContext): World {
  return {
    ...ctx.world,
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
