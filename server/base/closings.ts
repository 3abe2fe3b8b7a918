import { checkFunction } from '../../runtime/base/check.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isPromise, lastTurns } from '../../runtime/base/promise.js'
import { processOf } from '../../runtime/process/ref.js'
import type { Supervisor } from '../../runtime/supervision/supervise.js'
import type { World } from '../../runtime/time/world.js'

/** Ms that a stop waits for what listeners of `onExit` close. */
const limit = 10_000

/** What a program closes once its server has ended. Whoever stops the server waits for it. */
export class Closings {
  readonly #open = new Set<Promise<void>>()

  /** Waits for what `fn` does once it has ended; a rejection is reported as any other that nobody awaits. */
  onExit(supervisor: Supervisor, fn: (reason: ExitReason) => unknown): () => void {
    checkFunction(fn, 'onExit')
    return supervisor.onExit((reason) => {
      const work = fn(reason)
      if (!isPromise(work)) return
      const done = new Promise<void>((resolve) => void Promise.resolve(work).finally(resolve))
      this.#open.add(done)
      void done.then(() => this.#open.delete(done))
    })
  }

  /** Resolves when nothing of it keeps Node alive, also after an earlier end, and all is closed. */
  async stop(supervisor: Supervisor): Promise<void> {
    const { world } = processOf(supervisor.ref).tree
    if (supervisor.ref.alive) {
      await supervisor.stop()
      await lastTurns(world)
    }
    await this.#end(world)
  }

  async #end(world: World): Promise<void> {
    if (this.#open.size === 0) return
    let timer: unknown
    const late = new Promise<void>((resolve) => {
      timer = world.setTimeout(resolve, limit)
    })
    await Promise.race([Promise.all(this.#open), late])
    world.clearTimeout(timer)
  }
}
