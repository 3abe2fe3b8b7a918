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

function ignore(): void {}
