import { setMaxListeners } from 'node:events'
import { isNobodyThere } from './errors.js'

/**
 * Knows when nobody listens at the other end any more. Where that is so, nobody has the rest of an answer
 * that broke off: whoever waits for one is told at once, whichever request found it out. And knows when
 * somebody answers again.
 */
export class Absence {
  #controller = fresh()
  /** There while somebody waits for the end of it. */
  #end: AbortController | undefined

  /** Aborted, with the error, the next time that it is found out. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Takes the error of a request. */
  note(cause: unknown): void {
    if (!isNobodyThere(cause)) return
    this.#controller.abort(cause)
    this.#controller = fresh()
  }

  /** Aborted the next time that a request is answered. */
  get end(): AbortSignal {
    this.#end ??= new AbortController()
    return this.#end.signal
  }

  /** A request was answered. */
  over(): void {
    this.#end?.abort()
    this.#end = undefined
  }
}

/** One listener for each answer whose rest is waited for. */
function fresh(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
