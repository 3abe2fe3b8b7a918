import type { ProgressParams } from '../../protocol/messages/progress.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Undo } from '../base/state.js'

/** Whom the news and the progress of a task concern: the calls that wait for it, in any connection. */
export class TaskNews {
  readonly #watching = new Map<string, Set<() => void>>()
  readonly #progress = new Map<RequestId, (report: ProgressParams) => void>()

  /** Calls `fn` when the server tells anything of the task; it must not throw. */
  watch(taskId: string, fn: () => void): Undo {
    const all = this.#watching.get(taskId) ?? new Set()
    this.#watching.set(taskId, all.add(fn))
    return () => {
      all.delete(fn)
      if (all.size === 0 && this.#watching.get(taskId) === all) this.#watching.delete(taskId)
    }
  }

  /** Calls `fn` with the progress of that token; it must not throw. */
  track(token: RequestId, fn: (report: ProgressParams) => void): Undo {
    this.#progress.set(token, fn)
    return () => {
      this.#progress.delete(token)
    }
  }

  /** `notifications/tasks/status` (2025-11-25), or `notifications/tasks` (2026-07-28). */
  told({ taskId }: JsonObject): void {
    for (const fn of this.#watching.get(taskId as string) ?? []) fn()
  }

  reported(report: ProgressParams): void {
    this.#progress.get(report.progressToken)?.(report)
  }
}
