import type { IncomingMessage } from 'node:http'
import { isObject } from '../../protocol/wire/json.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { optionError, TransportError, type TransportErrorCode } from '../base/errors.js'
import { isThisMachine, networkOf } from '../base/network.js'
import { badOption } from '../base/read-option.js'
import { pathOf } from '../base/target.js'
import type { Peer } from '../contract/contract.js'
import { hasExpired, type Principal, readPrincipal } from '../contract/principal.js'
import type { AuthOptions, AuthSettings } from './options.js'
import type { OwnServer } from './own-server.js'
import type { ProofGate } from './dpop.js'
import { type Challenge, challengeOf, isDPoP, withImplied } from './scopes.js'
import { boundTo, refused, type TokenUse } from './tokens.js'

/** What `authenticate` is given besides the peer of a request. */
export interface AuthenticateUse {
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal
  readonly world: World
  readonly method: string
  /** As this program sees it, without the query. */
  readonly path: string
}

/**
 * Finds out who sends a request, from its headers, address and `assigns`, before its body is read. A principal
 * is let in, and `'anonymous'` lets in somebody of whom nothing is known. Undefined or null refuses with 401;
 * TransportError UNAUTHORIZED does, too, with `data.challenge` as `WWW-Authenticate` (default `Bearer`), and
 * AUTHORIZATION_UNAVAILABLE with 503. Any other error or answer is 500 and reported, and no answer in time is
 * 503. `world` has the time of the listener.
 */
export interface Authenticate {
  (peer: Peer, how: AuthenticateUse): Identity | Promise<Identity>
  /**
   * Whether it is asked again, each 10 s or later, about those whose streams and sockets are open: these end
   * for who is nobody or another one now, or has lost a scope. Default false: credentials may be good once.
   */
  readonly again?: boolean
}

/** The principal; undefined and null are refused. */
type Identity = Principal | 'anonymous' | undefined | null

/** Whether and how a listener asks who sends a request. */
export interface AuthenticateOptions {
  /**
   * Finds who sends a request: sessions are theirs alone, tools see `ctx.principal`. Default: nobody is asked,
   * and all are anonymous.
   */
  readonly authenticate?: Authenticate
  /**
   * Lets in requests with an OAuth access token for this server, tells others where to get one, and publishes
   * RFC 9728 metadata (specification: authorization). Tools find the owner of the token as `ctx.principal`,
   * and never the token. Not together with `authenticate`. Default: none.
   */
  readonly auth?: AuthOptions | OwnServer
}

export interface AuthenticateSettings {
  readonly authenticate: Authenticate | undefined
  readonly auth: AuthSettings | undefined
}

/** The same, with the milliseconds that it may take. */
export interface TimedAuthenticate extends AuthenticateSettings {
  readonly timeouts: { readonly authenticate: number }
}

export interface Denial {
  readonly status: 400 | 401 | 403 | 429 | 503
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** For the operator of the server. */
  readonly problem: string
}

/** Who sends a request, and on which connection it came. */
interface Sender {
  readonly peer: Peer
  /** With the end of its socket nobody waits for the answer any more. */
  readonly request: Pick<IncomingMessage, 'method' | 'url' | 'socket' | 'rawHeaders'>
}

/**
 * Asks `authenticate` who sends a request; undefined for an anonymous caller. Rejects with TransportError
 * UNAUTHORIZED, BAD_AUTHORIZATION or AUTHENTICATE_TIMEOUT, with BAD_OPTION when the answer is no principal,
 * and with whatever it throws.
 */
export async function identify(
  { peer, request }: Sender,
  { authenticate, auth, timeouts }: TimedAuthenticate,
  world: World,
): Promise<Principal | undefined> {
  if (authenticate === undefined) return peer.principal
  const { socket, method = 'GET', url, rawHeaders } = request
  if (hasSeveral(rawHeaders))
    throw new TransportError('BAD_AUTHORIZATION', 'expected one Authorization header, got several')
  const controller = new AbortController()
  const giveUp = (problem: string): TransportError => {
    const error = new TransportError('AUTHENTICATE_TIMEOUT', `authenticate: ${problem}`, { retryable: true })
    controller.abort(error)
    return error
  }
  const late = (): never => {
    throw giveUp('no answer in time')
  }
  const limits = { clock: world, ms: timeouts.authenticate, late }
  const found = await waitWithin<Identity>(limits, (resolve, reject) => {
    const gone = (): void => reject(giveUp('the connection has ended'))
    // as many as the client sends ahead: without this Node would warn of a leak
    socket.setMaxListeners(0)
    socket.once('close', gone)
    const use = { signal: controller.signal, world, method, path: pathOf(url) }
    Promise.resolve(authenticate(peer, use)).then(resolve, reject)
    return () => void socket.off('close', gone)
  })
  if (found === 'anonymous') return undefined
  if (isNobody(found)) throw new TransportError('UNAUTHORIZED', 'authenticate: it knows no such caller')
  const principal = readPrincipal(found)
  if (!hasExpired(principal, world)) return principal
  throw expired(auth)
}

/**
 * A principal that somebody else has found, such as middleware: it is held to what tokens are. Throws
 * TransportError UNAUTHORIZED for one that has expired, and INSUFFICIENT_SCOPE.
 */
export function admitKnown(
  principal: Principal,
  auth: AuthSettings | undefined,
  world: Pick<World, 'date'>,
): Principal {
  if (hasExpired(principal, world)) throw expired(auth)
  if (auth === undefined) return principal
  const scopes = withImplied(principal.scopes ?? [], auth.impliedScopes)
  if (auth.scopes.every((scope) => scopes.includes(scope))) return { ...principal, scopes }
  const told = { error: 'insufficient_scope', description: lacking, scopes: auth.scopes } as const
  throw new TransportError('INSUFFICIENT_SCOPE', lacking, { data: { challenge: challengeOf(told, auth) } })
}

function expired(auth: AuthSettings | undefined): TransportError {
  const told = {
    error: 'invalid_token',
    description: 'the token has expired',
    scopes: auth?.firstScopes ?? [],
  } as const
  return new TransportError('UNAUTHORIZED', told.description, {
    data: { challenge: challengeOf(told, auth) },
  })
}

const lacking = 'the token lacks a scope that every request takes'

/** Node keeps the first one; who stands before us may have judged another. */
function hasSeveral(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1
  }
  return count > 1
}

function isNobody(found: unknown): found is undefined | null {
  return found === undefined || found === null
}

interface DenialText extends Pick<Denial, 'status'> {
  /** Absent: that of the error. */
  readonly message?: string
}

const denials: { readonly [Code in TransportErrorCode]?: DenialText } = {
  BAD_AUTHORIZATION: { status: 400, message: 'Bad authorization' },
  UNAUTHORIZED: { status: 401, message: 'Unauthorized' },
  INSUFFICIENT_SCOPE: { status: 403, message: 'Insufficient scope' },
  CLIENT_LIMIT: { status: 429 },
  AUTHENTICATE_TIMEOUT: { status: 503, message: 'Service unavailable' },
  AUTHORIZATION_UNAVAILABLE: { status: 503, message: 'Service unavailable' },
}

/** How an error of `identify` is answered; undefined for an error of the program. */
export function denialOf(error: unknown): Denial | undefined {
  if (!(error instanceof TransportError)) return undefined
  const denied = denials[error.code]
  if (denied === undefined) return undefined
  const { message: problem, data } = error
  const { status, message = problem } = denied
  if (status === 429) return { status, message, problem, headers: { 'retry-after': '10' } }
  if (status === 503) return { status, message, problem, headers: { 'retry-after': '1' } }
  const { challenge, nonce } = (data ?? {}) as { challenge?: unknown; nonce?: unknown }
  const headers = {
    'www-authenticate': isHeader(challenge) ? challenge : 'Bearer',
    ...(isHeader(nonce) && { 'dpop-nonce': nonce }),
  }
  return { status, message, problem, headers }
}

function isHeader(value: unknown): value is string {
  return typeof value === 'string' && /^[\t\x20-\x7e]+$/.test(value)
}

/** Refuses `signIn()` where its pages cannot be served. Throws BAD_OPTION. */
export function refuseOwnServer({ auth }: AuthenticateSettings, where: string): void {
  if (auth?.own === undefined) return
  const problem = `${where}: auth: signIn() is for serveHttp() and mount(), which serve its pages`
  throw optionError('auth', problem)
}

/** `readAuth` reads the option `auth`. Throws BAD_OPTION. */
export function readAuthenticate(
  options: AuthenticateOptions,
  readAuth: (given: unknown) => AuthSettings,
): AuthenticateSettings {
  const { authenticate, auth: given } = options
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw badOption('authenticate', 'a function', authenticate)
  if (given === undefined) return { authenticate, auth: undefined }
  if (authenticate !== undefined) throw badOption('authenticate', 'nothing beside auth', authenticate)
  const auth = readAuth(given)
  return { authenticate: holder(auth), auth }
}

/** Characters of a token: more than fit into a header of a Node server. */
const maxTokenLength = 16_384

/** How one request is answered that is not let in. */
type Refuse = (code: TransportErrorCode, told: Challenge) => TransportError

/**
 * Lets in requests with a token for this server that has the scopes of `auth.scopes`, and with a proof of the
 * key that it is bound to. Rejects with TransportError UNAUTHORIZED (401), BAD_AUTHORIZATION (400) and
 * INSUFFICIENT_SCOPE (403), each with `data.challenge`, and with what the verifier throws.
 */
function holder(auth: AuthSettings): Authenticate {
  return async ({ headers, remoteAddress }, use) => {
    const how = { ...use, ...networkFrom(remoteAddress) }
    const { authorization } = headers
    const refuse: Refuse = (code, told) => {
      const scopes = code === 'INSUFFICIENT_SCOPE' ? auth.scopes : auth.firstScopes
      const challenge = challengeOf({ ...told, scopes }, auth, authorization)
      return new TransportError(code, told.description ?? 'no token came', { data: { challenge } })
    }
    try {
      const token = readToken(authorization, auth, refuse)
      const dpop = auth.dpop !== undefined && isDPoP(authorization) ? auth.dpop : undefined
      const principal =
        dpop === undefined
          ? await ownerOf(token, auth, how)
          : await proven(token, { auth, use: how, dpop, proof: headers.dpop })
      const scopes = withImplied(principal.scopes ?? [], auth.impliedScopes)
      if (auth.scopes.every((scope) => scopes.includes(scope))) return { ...principal, scopes }
    } catch (error) {
      throw asRefusal(error, refuse)
    }
    throw refuse('INSUFFICIENT_SCOPE', { error: 'insufficient_scope', description: lacking })
  }
}

function readToken(
  header: string | readonly string[] | undefined,
  auth: AuthSettings,
  refuse: Refuse,
): string {
  const given = Array.isArray(header) ? header.join(', ') : String(header ?? '')
  const [, scheme = '', rest = ''] = /^(bearer|dpop)(?: (.*)|)$/i.exec(given) ?? []
  const isBearer = scheme.toLowerCase() === 'bearer'
  if (scheme === '' || (!isBearer && auth.dpop === undefined)) throw refuse('UNAUTHORIZED', {})
  const token = rest.trim()
  if (isBearer && auth.dpop?.settings.required) throw refused('a token has to come with a proof of its key')
  if (token.length > maxTokenLength) throw refused('the token is too long')
  if (/^[\w.~+/-]+=*$/.test(token)) return token
  const description = `expected one token after ${isBearer ? 'Bearer' : 'DPoP'}`
  throw refuse('BAD_AUTHORIZATION', { error: 'invalid_request', description })
}

/** Those of this machine may all be behind one proxy. */
function networkFrom(address: string | undefined): Pick<TokenUse, 'network'> {
  return address === undefined || isThisMachine(address) ? {} : { network: networkOf(address) }
}

async function ownerOf(token: string, auth: AuthSettings, use: HolderUse): Promise<Principal> {
  const principal = await checkToken(token, auth, use)
  const { cnf } = principal.claims ?? {}
  // a function of the program may not have looked
  if (auth.dpop !== undefined && isObject(cnf) && cnf.jkt !== undefined) return boundTo(undefined, principal)
  return principal
}

interface HolderUse extends AuthenticateUse, Pick<TokenUse, 'network'> {}

interface Proving {
  readonly auth: AuthSettings
  readonly use: HolderUse
  readonly dpop: ProofGate
  readonly proof: string | readonly string[] | undefined
}

/** What costs most comes last: the signature is checked of proofs for good tokens alone. */
async function proven(token: string, { auth, use, dpop, proof }: Proving): Promise<Principal> {
  const { method, path, world } = use
  const { origin, pathname } = new URL(auth.resource)
  const targets = [origin + pathname, origin + path]
  const check = await dpop.check()
  const read = await check({ proof, token, method, targets, world })
  const principal = boundTo(read.key, await checkToken(token, auth, use, read.key))
  await read.verify(principal)
  return principal
}

/** Whose a token is. Rejects with TransportError UNAUTHORIZED, and with what the verifier throws. */
export async function checkToken(
  token: string,
  auth: AuthSettings,
  { signal, world, network }: Pick<HolderUse, 'signal' | 'world' | 'network'>,
  key?: string,
): Promise<Principal> {
  const { resource } = auth
  const use = { resource, signal, world, ...(network !== undefined && { network }) }
  const found = await auth.verify(token, key === undefined ? use : { ...use, key })
  if (isNobody(found)) throw refused('the token is not valid')
  const principal = readPrincipal(found)
  if (hasExpired(principal, world)) throw refused('the token has expired')
  return principal
}

/** Says it in the challenge; the nonce of a refused proof has a header of its own. */
function asRefusal(error: unknown, refuse: Refuse): unknown {
  if (!(error instanceof TransportError) || error.code !== 'UNAUTHORIZED') return error
  const {
    error: why = 'invalid_token',
    nonce,
    challenge,
  } = (error.data ?? {}) as {
    readonly error?: NonNullable<Challenge['error']>
    readonly nonce?: string
    readonly challenge?: unknown
  }
  const isOfProof = why === 'invalid_dpop_proof' || why === 'use_dpop_nonce'
  if (error.data !== undefined && !isOfProof) return error
  if (challenge !== undefined) return error
  const told = refuse('UNAUTHORIZED', { error: why, description: error.message })
  return new TransportError('UNAUTHORIZED', error.message, { data: { ...Object(told.data), nonce } })
}
