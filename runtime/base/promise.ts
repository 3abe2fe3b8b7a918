import { setImmediate as turn } from 'node:timers/promises'

/** True for anything that can be awaited. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

/** The same promise, marked handled: a rejection of it that nobody awaits is never fatal. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.then(undefined, ignore)
  return promise
}

/**
 * Resolves when nothing keeps Node alive any more: handles of what has ended (a process, a timer of its tree)
 * are closed a turn or two of the event loop later.
 */
export async function lastTurns(): Promise<void> {
  await turn()
  await turn()
}

function ignore(): void {}
