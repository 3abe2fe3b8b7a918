import { isError, messageOf, stackOf } from '../../runtime/base/errors.js'

/**
 * An error as clients are shown it with `exposeErrors`: the client of this library makes it the `cause` of
 * what it rejects with.
 */
export interface ExposedError {
  readonly name: string
  readonly message: string
  readonly stack: string
  readonly cause?: ExposedError
}

/** What is shown of one stack, in characters, and of a chain of causes, in errors. */
const longest = 8_192
const deepest = 5

/** What is shown of a crash, with its causes. Never throws. */
export function exposedError(error: unknown, depth = 1): ExposedError {
  const shown = {
    name: isError(error) ? nameOf(error) : 'Error',
    message: messageOf(error).slice(0, longest),
    stack: stackOf(error).slice(0, longest),
  }
  const cause = isError(error) && depth < deepest ? causeOf(error) : undefined
  return cause === undefined ? shown : { ...shown, cause: exposedError(cause, depth + 1) }
}

function nameOf(error: Error): string {
  try {
    return String(error.name)
  } catch {
    return 'Error'
  }
}

/** A getter of the author's may throw. */
function causeOf(error: Error): unknown {
  try {
    return error.cause
  } catch {
    return undefined
  }
}
