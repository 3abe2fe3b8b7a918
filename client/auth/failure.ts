import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import { ClientError } from '../base/errors.js'

/** The error of an authorization that trying again does not mend. */
export function authFailed(message: string, data: Readonly<Record<string, unknown>> = {}): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', message, { data: { ...data, sent: false } })
}

/** Any failure as the error for all who wait for the authorization; retryable if the cause is. */
export function asAuthFailure(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause
  const retryable = cause instanceof CaduceusError && cause.retryable
  const message = `the authorization failed: ${messageOf(cause)}`
  return new ClientError('AUTHORIZATION_FAILED', message, { cause, retryable, data: { sent: false } })
}

/** Text of the far side for an error message: at most 200 characters, visible ASCII. */
export function quotable(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[^\x20-\x7e]/g, '?').slice(0, 200) : ''
}
