import { runIn } from '../faults/containment.js'
import { emit } from '../faults/events.js'
import type { Process, Release } from './process.js'
import { isPromise } from '../base/promise.js'
import { waitWithin } from '../time/wait.js'

/** What a process can own: released when it ends, last taken first. */
export type Owned = Disposable | AsyncDisposable | (() => void | Promise<void>)

/**
 * Milliseconds that all resources of one dead process may take to be released, before its successor stops
 * waiting.
 */
const patience = 5_000

/** Releases what a dead process owned, newest first. Answers null when nothing had to be waited for. */
export function disposeAll(process: Process, owned: Release[]): Promise<void> | null {
  while (owned.length > 0) {
    const pending = disposeOne(process, owned.pop() as Release)
    if (pending !== undefined) return withPatience(process, finish(process, pending, owned))
  }
  return null
}

async function finish(process: Process, first: Promise<void>, rest: Release[]): Promise<void> {
  await first.catch((error) => failed(process, error))
  while (rest.length > 0)
    await disposeOne(process, rest.pop() as Release)?.catch((error) => failed(process, error))
}

function disposeOne(process: Process, release: Release): Promise<void> | undefined {
  try {
    const result = runIn(process.token, release, null, null)
    return isPromise(result) ? Promise.resolve(result).then(() => {}) : undefined
  } catch (error) {
    failed(process, error)
    return undefined
  }
}

/** Resolves when all of `releasing` are done, or have been waited for long enough; they never reject. */
export function withPatience(process: Process, releasing: Promise<unknown>): Promise<void> {
  const late = (): void =>
    emit('notice', () => ({ ...process.facts(), notice: 'cleanup_timeout', detail: patience }))
  return waitWithin<void>({ clock: process.tree.clock, ms: patience, late }, (resolve) => {
    void releasing.then(() => resolve())
  })
}

function failed(process: Process, error: unknown): void {
  emit('notice', () => ({ ...process.facts(), notice: 'cleanup_failed', detail: error }))
}
