import { RestartWindow } from '../../runtime/supervision/restart-window.js'

const crashes = 2
const periodMs = 5_000
const maxWatched = 1_000

/**
 * Counts the crashes of each session, above the group that is restarted: the third within 5 s ends the
 * session instead of bringing it back. Ends that the whole group shares are not counted here, but by its
 * supervisor.
 */
export class RestoreLimit {
  readonly #windows = new Map<string, RestartWindow>()

  /** Counts a crash at `now` and says whether the session may come back. */
  add(id: string, now: number): boolean {
    const window = this.#windows.get(id) ?? new RestartWindow(crashes, periodMs)
    this.#windows.set(id, window)
    if (this.#windows.size > maxWatched) this.#forgetQuiet(now)
    return window.add(now)
  }

  forget(id: string): void {
    this.#windows.delete(id)
  }

  #forgetQuiet(now: number): void {
    for (const [id, window] of this.#windows) if (window.left(now) === crashes) this.#windows.delete(id)
  }
}
