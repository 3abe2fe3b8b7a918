import { setImmediate as turn } from 'node:timers/promises'

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

/** Marks a promise handled: its rejection is never fatal. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.then(undefined, ignore)
  return promise
}

/** Waits two turns, in which handles of what has ended are closed. */
export async function lastTurns(): Promise<void> {
  await turn()
  await turn()
}

function ignore(): void {}
