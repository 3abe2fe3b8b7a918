import { checkMs, type Clock, systemClock } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { RuntimeError } from '../base/errors.js'
import { badOption, checkFields } from '../base/check.js'
import { handled } from '../base/promise.js'

/** How long something is waited for. */
export interface WaitOptions {
  /** Milliseconds until the wait rejects with TIMEOUT. Default 5000. */
  readonly timeout?: number
  /** Ends the wait, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** What the milliseconds are of. Default: the clock of this machine. */
  readonly clock?: Clock
}

/**
 * What came, in order, and waits for what has not come yet: for tests, which then need neither sleep nor ask
 * again and again.
 */
export class Recording<T> {
  readonly #about: string
  readonly #all: T[] = []
  /** What no wait has been given. */
  readonly #left: T[] = []
  readonly #waits = new Set<(value: T) => boolean>()
  #undo: (() => void) | undefined

  /** `about` says in errors what is recorded. */
  constructor(about: string) {
    this.#about = about
  }

  /** Everything so far. */
  get all(): readonly T[] {
    return this.#all
  }

  /** Takes one more. */
  add(value: T): void {
    this.#all.push(value)
    for (const wait of this.#waits) if (wait(value)) return
    this.#left.push(value)
  }

  /** What ends the source of it all, once `stop` is called. */
  stopWith(undo: () => void): this {
    this.#undo = undo
    return this
  }

  /**
   * The first one that fits, now or later; each is handed out once, and those that do not fit stay for
   * others. Rejects with TIMEOUT, whose `data.seen` is everything so far, with what `fits` throws, with the
   * reason of `signal`, or with BAD_OPTION.
   */
  next(fits: (value: T) => boolean = () => true, options: WaitOptions = {}): Promise<T> {
    const found = waitFor<T>(
      (resolve, reject) => {
        const take = (value: T): boolean => {
          try {
            if (!fits(value)) return false
            resolve(value)
          } catch (error) {
            reject(error)
          }
          return true
        }
        if (typeof fits !== 'function') throw badOption('fits', 'a function', fits)
        const index = this.#left.findIndex(take)
        if (index >= 0) this.#left.splice(index, 1)
        else this.#waits.add(take)
        return () => void this.#waits.delete(take)
      },
      options,
      (timeout) => this.#missed(timeout),
    )
    return handled(found)
  }

  /** Records nothing more. Calling it again does nothing. */
  stop(): void {
    this.#undo?.()
    this.#undo = undefined
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #missed(timeout: number): RuntimeError {
    const seen = [...this.#all]
    const others =
      seen.length === 0 ? 'nothing came at all' : `${seen.length} came so far, ${this.#left.length} left`
    const message = `${this.#about}: nothing that fits came within ${timeout} ms (${others})`
    return new RuntimeError('TIMEOUT', message, { data: { seen } })
  }
}

/**
 * A wait with the options of a user. Rejects with BAD_OPTION, with what `missed` makes of the deadline, or
 * with the reason of the signal.
 */
export async function waitFor<T>(
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
  options: WaitOptions,
  missed: (timeout: number) => Error,
): Promise<T> {
  checkFields(options, ['timeout', 'signal', 'clock'])
  const { timeout = 5_000, signal, clock = systemClock } = options
  checkMs(timeout, 'timeout')
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw badOption('signal', 'an AbortSignal', signal)
  const late = (): never => {
    throw missed(timeout)
  }
  return waitWithin<T>({ clock, ms: timeout, late, signal }, begin)
}
