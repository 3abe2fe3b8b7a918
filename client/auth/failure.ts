import { cut } from '../../runtime/base/cut.js'
import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import { ClientError } from '../base/errors.js'

/** Trying again does not mend it. */
export function authFailed(message: string, data: Readonly<Record<string, unknown>> = {}): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', message, { data: { ...data, sent: false } })
}

/** Retryable if the cause is. */
export function asAuthFailure(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause
  const retryable = cause instanceof CaduceusError && cause.retryable
  const message = `the authorization failed: ${messageOf(cause)}`
  return new ClientError('AUTHORIZATION_FAILED', message, { cause, retryable, data: { sent: false } })
}

/** Far side's text: at most 200 characters, visible ASCII. */
export function quotable(text: unknown): string {
  return typeof text === 'string' ? cut(text, 200).replace(/[^\x20-\x7e]/g, '?') : ''
}
