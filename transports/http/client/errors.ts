import { messageOf } from '../../../runtime/base/errors.js'
import { TransportError } from '../../base/errors.js'
import { judgeFailure } from '../outgoing/dispatcher.js'

/**
 * What an error of a request means. A reset before the connection stood, TLS included: nothing was sent on
 * it, whatever the code says; and a host that is found out of reach on a connection that stands may have
 * taken the request before.
 */
export function judge(cause: unknown): ReturnType<typeof judgeFailure> {
  if (cause instanceof TransportError) return 'broken'
  const judged = judgeFailure(cause)
  const { syscall, message } = (cause ?? {}) as { syscall?: unknown; message?: unknown }
  if (judged === 'unreachable' && (syscall === 'read' || syscall === 'write')) return 'broken'
  const early = syscall === 'connect' || /before secure TLS connection was established/.test(String(message))
  return judged === 'broken' && early ? 'unreachable' : judged
}

/** Whether an error says that the host is there, and nobody listens at the port. */
export function isNobodyThere(cause: unknown): boolean {
  return (cause as { code?: unknown } | null | undefined)?.code === 'ECONNREFUSED'
}

/** An address as errors and trees show it: without its query, where many servers want a key. */
export function shownUrl({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?...'}`
}

/**
 * One error for all: it is told after every answer, and made anew it would cost more than the rest of the
 * call.
 */
const noAnswer = Object.freeze(
  new TransportError('CONNECTION_LOST', 'the response ended without the answer', { retryable: true }),
)

/**
 * The error for whoever still waits after a response of that media type: one that can have no answer is a
 * page of somebody else, most likely.
 */
export function noAnswerIn(url: URL, type: string): TransportError {
  if (type === 'application/json' || type === 'text/event-stream' || type === '') return noAnswer
  const message = `${shownUrl(url)} answered with ${type}, expected application/json or text/event-stream`
  return new TransportError('CONNECTION_LOST', message, { retryable: true })
}

/** The error for a server that cannot be reached. */
export function connectError(url: URL, cause: unknown): TransportError {
  return new TransportError('CONNECT_FAILED', `${shownUrl(url)} cannot be reached: ${textOf(cause)}`, {
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

/** The error for an answer that broke off, as far as it is not told what it says already. */
export function interruptedError(cause: unknown): TransportError {
  if (cause instanceof TransportError && cause.code === 'CONNECTION_LOST') return cause
  const message = `the answer broke off: ${textOf(cause)}`
  return new TransportError('CONNECTION_LOST', message, { cause, retryable: true })
}

/** The error for an answer that broke off, and nobody is there to have the rest of it. */
export function goneError(cause: unknown): TransportError {
  const message = `the answer broke off, and the server is gone: ${textOf(cause)}`
  return new TransportError('CONNECTION_LOST', message, { cause, retryable: true, data: { gone: true } })
}

/** An AggregateError (several addresses tried) has no message of its own. */
function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message
  return messageOf(cause)
}

/** For what was held, or waited for a connection, when the session ended: it never left. */
export function notBegun(cause: TransportError | undefined): TransportError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return new TransportError('NOT_OPEN', `the session ended before it was sent${why}`, {
    retryable: true,
    cause,
  })
}

/** The same error, which says whether the request had left, where its code says otherwise. */
export function asFarAs(left: boolean, error: TransportError): TransportError {
  const { code, message, retryable, cause, data } = error
  if (left !== (code === 'CONNECT_FAILED' || code === 'SEND_FAILED')) return error
  const facts = typeof data === 'object' ? data : {}
  return new TransportError(code, message, { retryable, cause, data: { ...facts, sent: left } })
}
