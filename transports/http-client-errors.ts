import { messageOf } from '../runtime/errors.js'
import { TransportError } from './errors.js'
import { judgeFailure } from './http-dispatcher.js'

/** A reset before the connection stood: nothing was sent on it, whatever the code says. */
export function judge(cause: unknown): ReturnType<typeof judgeFailure> {
  if (cause instanceof TransportError) return 'broken'
  const judged = judgeFailure(cause)
  const connecting = (cause as { syscall?: unknown } | null | undefined)?.syscall === 'connect'
  return judged === 'broken' && connecting ? 'unreachable' : judged
}

/** One error for all: it is told after every answer, and made anew it would cost more than the rest of the call. */
export const noAnswer = Object.freeze(
  new TransportError('CONNECTION_LOST', 'the response ended without the answer', { retryable: true }),
)

/** The error for a server that cannot be reached. */
export function connectError({ href }: URL, cause: unknown): TransportError {
  return new TransportError('CONNECT_FAILED', `${href} cannot be reached: ${textOf(cause)}`, {
    cause,
    retryable: true,
  })
}

/** The error for a connection that broke after the server had been reached. */
export function brokenError(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  return new TransportError('CONNECTION_LOST', `the connection broke: ${textOf(cause)}`, {
    cause,
    retryable: true,
  })
}

/** An AggregateError (several addresses tried) has no message of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message
  return messageOf(cause)
}
