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

/** Waits two turns of a world, in which handles of what has ended are closed. */
export async function lastTurns(world: { setImmediate(fn: () => void): unknown }): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((next) => void world.setImmediate(next))
}

function ignore(): void {}
