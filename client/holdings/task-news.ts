import type { ProgressParams } from '../../protocol/messages/progress.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Undo } from '../base/state.js'

/** The calls that wait for a task, by its id, in any connection: they get its changes and progress. */
export class TaskNews {
  readonly #watching = new Map<string, Set<(params: JsonObject) => void>>()
  /** Of those that are watched. */
  readonly #lasting = new Set<string>()
  #onLasting: () => void = () => {}
  /** Until the change is looked at. */
  #hasChanged = false
  readonly #progress = new Map<RequestId, (report: ProgressParams) => void>()

  /** Calls `fn` when the server tells anything of the task; it must not throw. */
  watch(taskId: string, fn: (params: JsonObject) => void): Undo {
    const all = this.#watching.get(taskId) ?? new Set()
    this.#watching.set(taskId, all.add(fn))
    return () => {
      all.delete(fn)
      if (all.size > 0 || this.#watching.get(taskId) !== all) return
      this.#watching.delete(taskId)
      if (this.#lasting.delete(taskId)) this.#changed()
    }
  }

  /** A task that is watched takes long: to be told of it is worth a stream (2026-07-28). */
  lasts(taskId: string): void {
    if (!this.#watching.has(taskId) || this.#lasting.has(taskId)) return
    this.#lasting.add(taskId)
    this.#changed()
  }

  /** The first of those that take long. */
  lasting(most: number): string[] {
    this.#hasChanged = false
    return [...this.#lasting].slice(0, most)
  }

  /** Calls `fn`, the only one, when they have changed since they were looked at. */
  onLasting(fn: () => void): Undo {
    this.#onLasting = fn
    return () => {
      if (this.#onLasting === fn) this.#onLasting = () => {}
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
  told(params: JsonObject): void {
    for (const fn of this.#watching.get(params.taskId as string) ?? []) fn(params)
  }

  reported(report: ProgressParams): void {
    this.#progress.get(report.progressToken)?.(report)
  }

  #changed(): void {
    if (this.#hasChanged) return
    this.#hasChanged = true
    this.#onLasting()
  }
}
