import { setMaxListeners } from 'node:events'
import type { Clock } from './clock.js'

interface WaitLimits<T> {
  readonly clock: Clock
  /** Milliseconds; Infinity sets no deadline. */
  readonly ms: number
  /** The outcome at the deadline: the value returned or the error thrown. */
  readonly late: () => T | PromiseLike<T>
  readonly signal?: AbortSignal | undefined
  /** The outcome when `signal` aborts. Default: throws the signal's reason. */
  readonly aborted?: (reason: unknown) => T
}

/** Settles a wait; only the first call counts. */
export type Settle<T> = (value: T | PromiseLike<T>) => void

/**
 * A promise with a deadline. `begin` starts what settles it and may return its undo. The undo runs once,
 * before the promise settles. A throw in `begin` rejects.
 */
export function waitWithin<T>(
  { clock, ms, late, signal, aborted = throwReason }: WaitLimits<T>,
  begin: (resolve: Settle<T>, reject: (error: unknown) => void) => (() => void) | undefined,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let over = false
    let timer: unknown
    let unlisten: (() => void) | undefined
    let undo: (() => void) | undefined
    const end = (outcome: () => T | PromiseLike<T>): void => {
      if (over) return
      over = true // what `outcome` brings about settles nothing any more
      let settle: () => void
      // Before the undo, so that an error tells the state at the deadline.
      try {
        const value = outcome()
        settle = () => resolve(value)
      } catch (error) {
        settle = () => reject(error)
      }
      if (timer !== undefined) clock.clearTimeout(timer)
      unlisten?.()
      undo?.()
      settle()
    }
    const fail = (error: unknown): void =>
      end(() => {
        throw error
      })
    const onAbort = (): void => end(() => aborted(signal?.reason))
    if (signal?.aborted) return onAbort()
    try {
      undo = begin((value) => end(() => value), fail)
    } catch (error) {
      fail(error)
    }
    if (over) return void undo?.()
    if (signal !== undefined) unlisten = listenForAbort(signal, onAbort)
    if (Number.isFinite(ms)) timer = clock.setTimeout(() => end(late), ms)
  })
}

/** Resolves after `ms`, or as soon as one of the signals aborts. */
export function pause(
  ms: number,
  clock: Clock,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<void> {
  return waitWithin<void>({ clock, ms, late: () => {} }, (resolve) => {
    const wake = (): void => resolve()
    if (signals.some((signal) => signal?.aborted)) wake()
    const undo = signals.map((signal) => signal && listenForAbort(signal, wake))
    return () => {
      for (const each of undo) each?.()
    }
  })
}

/**
 * Does `work` with a signal that aborts after `ms`, unless it is done before. As with `AbortSignal.timeout`, the
 * timer alone does not hold the program.
 */
export async function withDeadline<T>(
  ms: number,
  clock: Clock,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const late = (): void => controller.abort(new DOMException(`not done within ${ms} ms`, 'TimeoutError'))
  const timer = clock.setTimeout(late, ms)
  ;(timer as Partial<NodeJS.Timeout> | undefined)?.unref?.()
  try {
    return await work(controller.signal)
  } finally {
    clock.clearTimeout(timer)
  }
}

/** Calls `fn` on abort until the returned function is called; many waits may share a signal. */
export function listenForAbort(signal: AbortSignal, fn: () => void): () => void {
  setMaxListeners(0, signal)
  signal.addEventListener('abort', fn, { once: true })
  return () => signal.removeEventListener('abort', fn)
}

function throwReason(reason: unknown): never {
  throw reason
}
