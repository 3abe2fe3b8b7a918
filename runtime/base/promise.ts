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

/**
 * As `handled`, once it has rejected: until then only whoever awaits it listens, so that V8 finds them when it
 * writes the stack of an error.
 */
export function handledLate<T>(promise: Promise<T>): Promise<T> {
  const late: Promise<T> = passedOn(promise, () => late)
  return late
}

async function passedOn<T>(promise: Promise<T>, self: () => Promise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    void handled(self())
    throw error
  }
}

/** Waits two turns of a world, in which handles of what has ended are closed. */
export async function lastTurns(world: { setImmediate(fn: () => void): unknown }): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((next) => void world.setImmediate(next))
}

function ignore(): void {}
