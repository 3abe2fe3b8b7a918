import { cut } from '../../runtime/base/cut.js'
import { CaduceusError, messageOf } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { ClientError } from '../base/errors.js'

/** Trying again does not mend it. */
export function authFailed(message: string, data: Readonly<Record<string, unknown>> = {}): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', message, { data: { ...data, sent: false } })
}

/** Of a storage that has no room, or no hands, for now. */
const shortages: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'EBUSY',
])

/** Retryable if the cause is. */
export function asAuthFailure(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  if (code === 'SIGN_IN_NEEDED')
    return new ClientError('SIGN_IN_NEEDED', messageOf(cause), { cause, data: { sent: false } })
  const retryable = cause instanceof CaduceusError ? cause.retryable : shortages.has(code)
  const message = `the authorization failed: ${messageOf(cause)}`
  return new ClientError('AUTHORIZATION_FAILED', message, { cause, retryable, data: { sent: false } })
}

/** Codes of a token endpoint that has understood what was asked (RFC 6749, section 5.2; RFC 8707, section 2). */
const verdicts: ReadonlySet<unknown> = new Set([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client'],
  ...['unsupported_grant_type', 'invalid_scope', 'invalid_target'],
])

/** Whether the authorization server itself has refused: the same would be refused again. */
export function isVerdict({ retryable, data }: ClientError): boolean {
  return !retryable && verdicts.has((data as { readonly error?: unknown }).error)
}

/**
 * Whether a refusal may be that of a proxy, a firewall or a portal on the way, or of a server that is not whole: a
 * status, and no word of OAuth. Also that a platform has no token for us now.
 */
export function isDoubtful({ code, retryable, data, cause }: ClientError): boolean {
  const { status, error, workload } = data as Readonly<Record<'status' | 'error' | 'workload', unknown>>
  if (code !== 'AUTHORIZATION_FAILED' || retryable || verdicts.has(error)) return false
  if (cause instanceof TransportError) return cause.code === 'AUTHORIZATION_UNAVAILABLE'
  if (workload !== undefined) return true
  return status !== undefined && (error === undefined || (status !== 400 && status !== 401))
}

/** Far side's text: at most 200 characters, visible ASCII. */
export function quotable(text: unknown): string {
  return typeof text === 'string' ? cut(text, 200).replace(/[^\x20-\x7e]/g, '?') : ''
}
