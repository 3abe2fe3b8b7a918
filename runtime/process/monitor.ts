import type { ExitReason } from '../base/exit.js'
import type { Process } from './process.js'

/**
 * One watch on one process: gives its news exactly once, or never after it was cancelled (OTP: monitor
 * reference).
 */
export class Monitor {
  readonly #target: Process | null
  readonly #watcher: Process | null
  readonly #notify: (reason: ExitReason, monitor: Monitor) => void
  active = true

  constructor(
    target: Process | null,
    watcher: Process | null,
    notify: (reason: ExitReason, monitor: Monitor) => void,
  ) {
    this.#target = target
    this.#watcher = watcher
    this.#notify = notify
  }

  /** The process is gone: tells the watcher. */
  fire(reason: ExitReason): void {
    if (!this.active) return
    this.#watcher?.belongings?.watching.delete(this)
    this.#notify(reason, this)
  }

  /**
   * No news after this, not even news that is already in the watcher's mailbox (OTP: demonitor with flush).
   */
  cancel(): void {
    this.active = false
    this.#target?.monitors?.delete(this)
    this.#watcher?.belongings?.watching.delete(this)
  }
}
