import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import { ClientError } from '../base/errors.js'

/** The error of an authorization that cannot come about as things are. */
export function authFailed(message: string, data: Readonly<Record<string, unknown>> = {}): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', message, { data: { ...data, sent: false } })
}

/**
 * Whatever went wrong, as the error that everybody who waits for the authorization gets; retryable where it
 * may pass.
 */
export function asAuthFailure(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause
  const retryable = cause instanceof CaduceusError && cause.retryable
  const message = `the authorization failed: ${messageOf(cause)}`
  return new ClientError('AUTHORIZATION_FAILED', message, { cause, retryable, data: { sent: false } })
}

/** Text of the far side as it may stand in a message: short, and in visible ASCII characters. */
export function quotable(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[^\x20-\x7e]/g, '?').slice(0, 200) : ''
}
