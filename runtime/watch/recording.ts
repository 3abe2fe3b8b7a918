import { checkMs, type Clock, systemClock } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { RuntimeError } from '../base/errors.js'
import { badOption, checkFields } from '../base/check.js'
import { handled } from '../base/promise.js'

/** How long a wait lasts, by which clock, and what ends it. */
export interface WaitOptions {
  /** Milliseconds until the wait rejects with TIMEOUT. Default 5000. */
  readonly timeout?: number
  /** Aborts the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** The clock that `timeout` is measured by. Default: the clock of this machine. */
  readonly clock?: Clock
}

/** Records values in order and waits for those to come, so that tests neither sleep nor poll. */
export class Recording<T> {
  readonly #about: string
  readonly #all: T[] = []
  /** Values that no wait has taken. */
  readonly #left: T[] = []
  readonly #waits = new Set<(value: T) => boolean>()
  #undo: (() => void) | undefined

  /** `about` names what is recorded, for errors. */
  constructor(about: string) {
    this.#about = about
  }

  get all(): readonly T[] {
    return this.#all
  }

  add(value: T): void {
    this.#all.push(value)
    for (const wait of this.#waits) if (wait(value)) return
    this.#left.push(value)
  }

  /** Has `stop` call `undo`. */
  stopWith(undo: () => void): this {
    this.#undo = undo
    return this
  }

  /**
   * Takes the first value that fits, now or later; each value is taken once. Rejects with TIMEOUT
   * (`data.seen` is everything so far), what `fits` throws, the reason of `signal`, or BAD_OPTION.
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

  /** Stops recording; may be called again. */
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

/** Waits with a user's options. Rejects with BAD_OPTION, what `missed` makes, or the signal's reason. */
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
