import { messageOf } from '../../../runtime/base/errors.js'
import type { World } from '../../../runtime/time/world.js'
import { badOption, type Read } from '../../base/read-option.js'
import { optionError, TransportError } from '../../base/errors.js'
import type { HttpResponse } from '../outgoing/dispatcher.js'

/** A request before it is sent. */
export interface AuthRequest {
  /** The address of the server, as the transport was given it. */
  readonly url: URL
  /** Aborted when nobody waits for the request any more. */
  readonly signal: AbortSignal
  /** The method of the request; GET for the upgrade to a WebSocket. */
  readonly method?: string
  /** Where it is sent; not `url` for messages over HTTP+SSE. */
  readonly target?: URL
  /**
   * The clock of the client, and what else is not determined: what expires, goes by its date. It outlives the
   * client.
   */
  readonly world?: World
}

/** The refusal of a request. */
export interface AuthRefusal extends AuthRequest {
  /** 401: no valid credentials; 403: too few scopes. */
  readonly status: 401 | 403
  /** The `WWW-Authenticate` header, if there was one. */
  readonly challenge: string | undefined
  /** The headers that `authorize` had given for it. */
  readonly sent: Readonly<Record<string, string>>
}

/** An answer of the server's origin to a request that `authorize` gave headers for. */
export interface AuthAnswer {
  /** The address of the server, as the transport was given it. */
  readonly url: URL
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The credentials of a client: what you write for a scheme of your own. */
export interface ClientAuth {
  /** Headers for one request, names in lower case, for the server's origin only. A rejection fails it. */
  authorize(
    request: AuthRequest,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
  /**
   * Hears of a refusal: resolves to have the request sent again, rejects to fail it. Absent: it fails. One more
   * refusal of the same kind is final, unless it resolves with `'taken'`: the credentials are others that were
   * here already, and may have ended with the refused ones.
   */
  refused?(refusal: AuthRefusal): Promise<void | 'taken'>
  /** Sees each answer, before `refused` hears of it; what it throws fails the request. */
  answered?(answer: AuthAnswer): void
}

/** The option `auth`: a token, a function that returns one for each request, or a provider (`oauth()`). */
export type AuthOption = string | ((request: TokenRequest) => string | Promise<string>) | ClientAuth

/** What a function that returns tokens is given. */
export interface TokenRequest extends AuthRequest {
  /** A token that the server has just refused: another one is wanted. */
  readonly refused?: string
}

/** Reads the option `auth` of a client. Throws BAD_OPTION, and never shows what it was given. */
export const readClientAuth: Read<ClientAuth> = (value, field) => {
  if (typeof value === 'string') {
    if (/^Bearer\s/i.test(value)) throw badOption(field, 'the token alone: Bearer is put before it', 'both')
    if (!isToken(value)) {
      const problem = `${field}: expected a token of visible ASCII characters without spaces, got another text`
      throw optionError(field, problem)
    }
    const headers = bearer(value)
    return { authorize: () => headers }
  }
  if (typeof value === 'function') return fromFunction(value as (request: TokenRequest) => unknown)
  if (typeof (value as ClientAuth | null)?.authorize === 'function') return value as ClientAuth
  throw badOption(field, 'a token, a function, or an object with authorize', typeof value)
}

/** Tokens that were refused and replaced, of one function. */
const maxReplaced = 10

function fromFunction(ask: (request: TokenRequest) => unknown): ClientAuth {
  /** What the function gave for a token that was refused; it may not have kept it. */
  const replaced = new Map<string, string>()
  async function tokenFor(request: TokenRequest): Promise<string> {
    const token = await ask(request)
    if (typeof token === 'string' && isToken(token)) return token
    throw new TransportError('UNAUTHORIZED', 'auth: expected a token of visible ASCII characters')
  }
  return {
    async authorize(request) {
      let token = await tokenFor(request)
      for (let next = replaced.get(token); next !== undefined; next = replaced.get(token)) token = next
      return bearer(token)
    },
    async refused({ status, sent, challenge, url, signal }) {
      const old = sent.authorization?.slice('Bearer '.length)
      if (status !== 401 || old === undefined) throw unauthorized(status, challenge)
      const fresh = await tokenFor({ url, signal, refused: old })
      if (fresh === old) throw unauthorized(status, challenge)
      // no circles: it is good again
      replaced.delete(fresh)
      replaced.delete(old)
      replaced.set(old, fresh)
      const [oldest] = replaced.keys()
      if (replaced.size > maxReplaced && oldest !== undefined) replaced.delete(oldest)
    },
  }
}

/** The error for a request that is refused with the credentials that we have. */
export function unauthorized(status: number, challenge: unknown): TransportError {
  const details = { data: { status, challenge } }
  if (status !== 403) return new TransportError('UNAUTHORIZED', wantsOther('the server', challenge), details)
  const message = 'the server wants scopes (403) that the token does not have'
  return new TransportError('INSUFFICIENT_SCOPE', message, details)
}

/** What a 401 means for the user; `given` is whether there were credentials at all. */
export function wantsAuthorization(who: string, given: boolean, challenge: unknown): string {
  return given
    ? wantsOther(who, challenge)
    : `${who} wants authorization (401): give a token, or oauth(), with the option auth`
}

function wantsOther(who: string, challenge: unknown): string {
  // visible ASCII only: a server may say anything (RFC 6750, section 3)
  const [, why = ''] =
    /error_description="([\x20-\x21\x23-\x5b\x5d-\x7e]{1,200})"/.exec(String(challenge)) ?? []
  return `${who} refuses the token of the option auth (401)${why && `: ${why}`}`
}

/**
 * Runs code of an `auth`. It rejects with a TransportError: UNAUTHORIZED (after a 403 INSUFFICIENT_SCOPE), or
 * AUTHORIZATION_UNAVAILABLE where trying again may help.
 */
export async function asAuthError<T>(work: () => T | Promise<T>, status: 401 | 403 = 401): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw authErrorOf(cause, status)
  }
}

/** What code of an `auth` threw, as `asAuthError` rejects with it. */
export function authErrorOf(cause: unknown, status: 401 | 403 = 401): TransportError {
  if (cause instanceof TransportError) return cause
  const retryable = (cause as { retryable?: unknown } | null)?.retryable === true
  // a token with too few scopes may go on with what needs fewer
  const lasting = status === 403 ? 'INSUFFICIENT_SCOPE' : 'UNAUTHORIZED'
  const code = retryable ? 'AUTHORIZATION_UNAVAILABLE' : lasting
  return new TransportError(code, messageOf(cause), { cause, retryable })
}

/** The `WWW-Authenticate` header, which may have come in several lines. */
export function challengeOf(headers: HttpResponse['headers']): string | undefined {
  const value = headers['www-authenticate']
  return typeof value === 'object' ? value.join(', ') : value
}

/** Whether a status asks for other credentials; a 403 does with this error only (RFC 6750, section 3.1). */
export function isRefusal(status: number, challenge: string | undefined): status is 401 | 403 {
  return status === 401 || (status === 403 && /\binsufficient_scope\b/.test(challenge ?? ''))
}

/** Whether a 401 wants its request again with the nonce that came with it (RFC 9449, section 9). */
export function wantsNonce(status: number, challenge: string | undefined): boolean {
  return status === 401 && /\buse_dpop_nonce\b/.test(challenge ?? '')
}

function bearer(token: string): Readonly<Record<string, string>> {
  return Object.freeze({ authorization: `Bearer ${token}` })
}

/** Other characters would make another header, or none. */
function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}
