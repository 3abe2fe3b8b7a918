import type { Socket } from 'node:net'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError, type TransportErrorCode } from '../base/errors.js'
import { badOption, readMs } from '../base/read-option.js'
import type { Peer } from '../contract/contract.js'
import { hasExpired, type Principal, readPrincipal } from '../contract/principal.js'
import { type AuthOptions, type AuthSettings, readListenerAuth } from './options.js'
import { type Challenge, challengeOf, withImplied } from './scopes.js'

/**
 * Finds out who sends a request, from its headers, address and `assigns`, before its body is read. Undefined
 * lets it in anonymously. Throw TransportError UNAUTHORIZED to refuse it: it is answered 401, with
 * `data.challenge` as `WWW-Authenticate`. Any other error is answered 500, and no answer in time 503. `world`
 * has the time of the listener.
 */
export type Authenticate = (
  peer: Peer,
  how: { readonly signal: AbortSignal; readonly world: World },
) => Principal | undefined | Promise<Principal | undefined>

/** Whether and how a listener asks who sends a request. */
export interface AuthenticateOptions {
  /** Finds who sends a request: sessions are theirs alone, tools see `ctx.principal`. Default: anonymous. */
  readonly authenticate?: Authenticate
  /**
   * Lets in requests with an OAuth access token for this server, tells others where to get one, and publishes
   * RFC 9728 metadata (specification: authorization). Tools find the owner of the token as `ctx.principal`,
   * and never the token. Not together with `authenticate`. Default: none.
   */
  readonly auth?: AuthOptions
  /** Milliseconds that either may take. Default 5,000. */
  readonly authenticateTimeout?: number
}

export interface AuthenticateSettings {
  readonly authenticate: Authenticate | undefined
  readonly auth: AuthSettings | undefined
  readonly authenticateTimeout: number
}

export interface Denial {
  readonly status: 400 | 401 | 403 | 503
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** For the operator of the server. */
  readonly problem: string
}

/** Who sends a request, and on which connection it came. */
export interface Sender {
  readonly peer: Peer
  /** With its end nobody waits for the answer any more. */
  readonly socket: Socket
}

/**
 * Asks `authenticate` who sends a request. Rejects with TransportError UNAUTHORIZED or AUTHENTICATE_TIMEOUT,
 * with BAD_OPTION when the answer is no principal, and with whatever it throws.
 */
export async function identify(
  { peer, socket }: Sender,
  { authenticate, authenticateTimeout }: AuthenticateSettings,
  world: World,
): Promise<Principal | undefined> {
  if (authenticate === undefined) return peer.principal
  const controller = new AbortController()
  const giveUp = (problem: string): TransportError => {
    const error = new TransportError('AUTHENTICATE_TIMEOUT', `authenticate: ${problem}`, { retryable: true })
    controller.abort(error)
    return error
  }
  const late = (): never => {
    throw giveUp('no answer in time')
  }
  const limits = { clock: world, ms: authenticateTimeout, late }
  const found = await waitWithin<Principal | undefined>(limits, (resolve, reject) => {
    const gone = (): void => reject(giveUp('the connection has ended'))
    // as many as the client sends ahead: without this Node would warn of a leak
    socket.setMaxListeners(0)
    socket.once('close', gone)
    Promise.resolve(authenticate(peer, { signal: controller.signal, world })).then(resolve, reject)
    return () => void socket.off('close', gone)
  })
  if (found === undefined) return undefined
  const principal = readPrincipal(found)
  if (!hasExpired(principal, world)) return principal
  const data = { challenge: 'Bearer error="invalid_token"' }
  throw new TransportError('UNAUTHORIZED', 'authenticate: the principal has expired', { data })
}

type Denied = Pick<Denial, 'status' | 'message'>

const denials: { readonly [Code in TransportErrorCode]?: Denied } = {
  BAD_AUTHORIZATION: { status: 400, message: 'Bad authorization' },
  UNAUTHORIZED: { status: 401, message: 'Unauthorized' },
  INSUFFICIENT_SCOPE: { status: 403, message: 'Insufficient scope' },
  AUTHENTICATE_TIMEOUT: { status: 503, message: 'Service unavailable' },
  AUTHORIZATION_UNAVAILABLE: { status: 503, message: 'Service unavailable' },
}

/** How an error of `identify` is answered; undefined for an error of the program. */
export function denialOf(error: unknown): Denial | undefined {
  if (!(error instanceof TransportError)) return undefined
  const denied = denials[error.code]
  if (denied === undefined) return undefined
  const { message: problem, data } = error
  if (denied.status === 503) return { ...denied, problem, headers: { 'retry-after': '1' } }
  const { challenge } = (data ?? {}) as { challenge?: unknown }
  const isHeader = typeof challenge === 'string' && /^[\t\x20-\x7e]+$/.test(challenge)
  return { ...denied, problem, headers: { 'www-authenticate': isHeader ? challenge : 'Bearer' } }
}

export function readAuthenticate(options: AuthenticateOptions): AuthenticateSettings {
  const { authenticate, auth: given } = options
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw badOption('authenticate', 'a function', authenticate)
  const authenticateTimeout = readMs(options.authenticateTimeout, 'authenticateTimeout', 5_000)
  if (given === undefined) return { authenticate, auth: undefined, authenticateTimeout }
  if (authenticate !== undefined) throw badOption('authenticate', 'nothing beside auth', authenticate)
  const auth = readListenerAuth(given)
  return { authenticate: bearer(auth), auth, authenticateTimeout }
}

type Within = Parameters<Authenticate>[1]

/** Characters of a token: more than fit into a header of a Node server. */
const maxTokenLength = 16_384

/**
 * Lets in requests with a token for this server that has the scopes of `auth.scopes`. Rejects with
 * TransportError UNAUTHORIZED (401), BAD_AUTHORIZATION (400) and INSUFFICIENT_SCOPE (403), each with
 * `data.challenge`, and with what the verifier throws.
 */
function bearer(auth: AuthSettings): Authenticate {
  return async ({ headers }, how) => {
    const token = readToken(headers.authorization, auth)
    const principal = await verify(token, auth, how)
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

async function verify(token: string, auth: AuthSettings, how: Within): Promise<Principal> {
  const found = await ask(token, auth, how)
  if (found === undefined) throw invalid(auth, 'the token is not valid')
  const principal = readPrincipal(found)
  if (hasExpired(principal, how.world)) throw invalid(auth, 'the token has expired')
  return principal
}

async function ask(token: string, auth: AuthSettings, how: Within): Promise<Principal | undefined> {
  try {
    return await auth.verify(token, { resource: auth.resource, ...how })
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
