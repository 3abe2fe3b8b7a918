import type { ExitReason } from '../../runtime/base/exit.js'
import { isError, messageOf, stackOf } from '../../runtime/base/errors.js'
import { type ProcessRef, reportOf } from '../../runtime/process/ref.js'

/** An error as `exposeErrors` shows it to clients. The client of this library makes it a `cause`. */
interface ExposedError {
  readonly name: string
  readonly message: string
  readonly stack: string
  readonly cause?: ExposedError
}

/** The error that a client gets for a crash. */
export interface ToldCrash {
  /** With the number of the report, where there is one. */
  readonly message: string
  /** Only with `exposeErrors`. */
  readonly error: ExposedError | undefined
  /** The number and the error, of a JSON-RPC error; undefined where there is neither. */
  readonly data: { readonly report?: string; readonly error?: ExposedError } | undefined
}

/** Characters that are shown of a message or a stack. */
const maxText = 8_192
/** Errors that are shown of a chain of causes. */
const maxDepth = 5

/** In neutral words, unless the server exposes errors. Never throws. */
export function toldCrash(crashed: ProcessRef, reason: ExitReason, exposeErrors: boolean): ToldCrash {
  const report = reportOf(crashed)
  const error = exposeErrors && reason.type === 'crash' ? exposedError(reason.error) : undefined
  const about = error === undefined ? '' : `: ${error.message}`
  const where = report === undefined ? '' : ` (report ${report})`
  const data = { ...(report !== undefined && { report }), ...(error !== undefined && { error }) }
  const isEmpty = report === undefined && error === undefined
  return { message: `Internal error${about}${where}`, error, data: isEmpty ? undefined : data }
}

/** What clients are shown of a crash, with its causes. Never throws. */
function exposedError(error: unknown, depth = 1): ExposedError {
  const known = isError(error) ? error : undefined
  const cause = depth < maxDepth ? attempt(() => known?.cause) : undefined
  return {
    name: attempt(() => known && String(known.name)) ?? 'Error',
    message: messageOf(error).slice(0, maxText),
    stack: stackOf(error).slice(0, maxText),
    ...(cause !== undefined && { cause: exposedError(cause, depth + 1) }),
  }
}

/** A getter of the author's error may throw. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
