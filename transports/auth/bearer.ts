import type { Authenticate } from './authenticate.js'
import { type Challenge, challengeOf } from './challenge.js'
import type { AuthSettings } from './options.js'
import { withImplied } from './scopes.js'
import { TransportError, type TransportErrorCode } from '../base/errors.js'
import { type Principal, readPrincipal } from '../contract/principal.js'

/** Characters of a token: more than any header of a server of Node has room for. */
const maxTokenLength = 16_384

/**
 * Lets in who has a token for this server with the scopes that every request takes. Rejects with
 * TransportError UNAUTHORIZED (401), BAD_AUTHORIZATION (400) and INSUFFICIENT_SCOPE (403), each with
 * `data.challenge`, and with what the verifier throws.
 */
export function bearer(auth: AuthSettings): Authenticate {
  return async ({ headers }, { signal }) => {
    const token = readToken(headers.authorization, auth)
    const principal = await verify(token, auth, signal)
    const scopes = withImplied(principal.scopes ?? [], auth.impliedScopes)
    if (auth.scopes.every((scope) => scopes.includes(scope))) return { ...principal, scopes }
    const description = 'the token lacks a scope that every request takes'
    throw refused('INSUFFICIENT_SCOPE', auth, { error: 'insufficient_scope', description })
  }
}

function readToken(header: string | readonly string[] | undefined, auth: AuthSettings): string {
  const given = Array.isArray(header) ? header.join(', ') : String(header ?? '')
  if (!/^bearer(?: |$)/i.test(given)) throw refused('UNAUTHORIZED', auth, {})
  const token = given.slice('bearer '.length).trim()
  if (token.length > maxTokenLength) throw invalid(auth, 'the token is too long')
  if (/^[\w.~+/-]+=*$/.test(token)) return token
  const description = 'expected one token after Bearer'
  throw refused('BAD_AUTHORIZATION', auth, { error: 'invalid_request', description })
}

async function verify(token: string, auth: AuthSettings, signal: AbortSignal): Promise<Principal> {
  const found = await ask(token, auth, signal)
  if (found === undefined) throw invalid(auth, 'the token is not valid')
  const principal = readPrincipal(found)
  if (principal.expiresAt !== undefined && principal.expiresAt <= Date.now())
    throw invalid(auth, 'the token has expired')
  return principal
}

async function ask(token: string, auth: AuthSettings, signal: AbortSignal): Promise<Principal | undefined> {
  try {
    return await auth.verify(token, { resource: auth.resource, signal })
  } catch (error) {
    const isRefusal = error instanceof TransportError && error.code === 'UNAUTHORIZED'
    throw isRefusal && error.data === undefined ? invalid(auth, error.message) : error
  }
}

function invalid(auth: AuthSettings, description: string): TransportError {
  return refused('UNAUTHORIZED', auth, { error: 'invalid_token', description })
}

function refused(code: TransportErrorCode, auth: AuthSettings, told: Challenge): TransportError {
  const challenge = challengeOf({ ...told, scopes: auth.scopes }, auth)
  return new TransportError(code, told.description ?? 'no token came', { data: { challenge } })
}
