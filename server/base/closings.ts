import type { ExitReason } from '../../runtime/base/exit.js'
import type { World } from '../../runtime/time/world.js'

/** Ms that a stop waits for what listeners of `onExit` close. */
const limit = 10_000

/** What a program closes once its server has ended. Whoever stops the server waits for it. */
export class Closings {
  readonly #open = new Set<Promise<void>>()

  /** A listener whose work is waited for; a rejection of it is reported as any other that nobody awaits. */
  listener(fn: (reason: ExitReason) => unknown): (reason: ExitReason) => void {
    return (reason) => {
      const work = fn(reason)
      if (!(work instanceof Promise)) return
      const done = new Promise<void>((resolve) => void work.finally(resolve))
      this.#open.add(done)
      void done.then(() => this.#open.delete(done))
    }
  }

  /** Resolves when all is closed, or after a limit. */
  async end(world: World): Promise<void> {
    if (this.#open.size === 0) return
    let timer: unknown
    const late = new Promise<void>((resolve) => {
      timer = world.setTimeout(resolve, limit)
    })
    await Promise.race([Promise.all(this.#open), late])
    world.clearTimeout(timer)
  }
}
