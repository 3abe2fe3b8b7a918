import type { AuthSettings } from './options.js'

/** What a client is told of why it is not let in (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface Challenge {
  /** Absent where no token came at all (RFC 6750, section 3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope'
  /** For developers; never anything of a token. */
  readonly description?: string
  /** What a token has to have. */
  readonly scopes?: readonly string[]
}

/** The value of `WWW-Authenticate`. */
export function challengeOf(
  { error, description, scopes = [] }: Challenge,
  auth: Pick<AuthSettings, 'metadataUrl'> | undefined,
): string {
  const params = {
    error,
    error_description: description,
    scope: scopes.length === 0 ? undefined : scopes.join(' '),
    resource_metadata: auth?.metadataUrl,
  }
  const written = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return ['Bearer', written.join(', ')].join(' ').trim()
}

/** What may stand between quotes, a limited part of it (RFC 6750, section 3). */
function quotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 2_000)
}
