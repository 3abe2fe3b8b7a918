import { systemClock } from '../../runtime/time/clock.js'
import { show } from '../../runtime/base/errors.js'
import { bearer } from './bearer.js'
import { type AuthOptions, type AuthSettings, readAuth } from './options.js'
import type { Peer } from '../contract/contract.js'
import { TransportError, type TransportErrorCode, optionError } from '../base/errors.js'
import { type Principal, readPrincipal } from '../contract/principal.js'

/**
 * Finds out who sends a request, from its headers, address and `assigns`, before its body is read. Undefined
 * lets it in as nobody. Throw TransportError UNAUTHORIZED to keep it out: it is answered 401, with the text
 * in `data.challenge` as `WWW-Authenticate`. Whatever else is thrown costs that request (500), and no answer
 * in time is 503.
 */
export type Authenticate = (
  peer: Peer,
  how: { readonly signal: AbortSignal },
) => Principal | undefined | Promise<Principal | undefined>

/** Whether and how a listener asks who sends a request. */
export interface AuthenticateOptions {
  /**
   * Finds out who sends a request: its session is for that principal alone, and tools find it as
   * `ctx.principal`. Default: nobody is asked.
   */
  readonly authenticate?: Authenticate
  /**
   * Lets in who has an OAuth access token for this server, tells the others where to get one, and publishes
   * RFC 9728 metadata for that (specification: authorization). Tools find whose token it is as
   * `ctx.principal`, and never the token. Not together with `authenticate`. Default: none.
   */
  readonly auth?: AuthOptions
  /** Milliseconds that either may take. Default 5,000. */
  readonly authenticateTimeout?: number
}

/** Checked options. */
export interface AuthenticateSettings {
  readonly authenticate: Authenticate | undefined
  readonly auth: AuthSettings | undefined
  readonly authenticateTimeout: number
}

/** Why a request is not let in. */
export interface Denial {
  readonly status: 400 | 401 | 403 | 503
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** For whoever runs the server. */
  readonly problem: string
}

/**
 * Asks the host program who it is. Rejects with TransportError UNAUTHORIZED or AUTHENTICATE_TIMEOUT, with
 * BAD_OPTION when what it answers is no principal, and with whatever it throws.
 */
export async function identify(
  peer: Peer,
  { authenticate, authenticateTimeout }: AuthenticateSettings,
): Promise<Principal | undefined> {
  if (authenticate === undefined) return peer.principal
  const controller = new AbortController()
  let timer: unknown
  const late = new Promise<never>((_, reject) => {
    timer = systemClock.setTimeout(() => {
      const error = new TransportError('AUTHENTICATE_TIMEOUT', 'authenticate: no answer in time', {
        retryable: true,
      })
      controller.abort(error)
      reject(error)
    }, authenticateTimeout)
  })
  try {
    const found = await Promise.race([authenticate(peer, { signal: controller.signal }), late])
    if (found === undefined) return undefined
    const principal = readPrincipal(found)
    if (principal.expiresAt === undefined || principal.expiresAt > Date.now()) return principal
    const data = { challenge: 'Bearer error="invalid_token"' }
    throw new TransportError('UNAUTHORIZED', 'authenticate: the principal has expired', { data })
  } finally {
    systemClock.clearTimeout(timer)
  }
}

type Denied = Pick<Denial, 'status' | 'message'>

const denials: { readonly [Code in TransportErrorCode]?: Denied } = {
  BAD_AUTHORIZATION: { status: 400, message: 'Bad authorization' },
  UNAUTHORIZED: { status: 401, message: 'Unauthorized' },
  INSUFFICIENT_SCOPE: { status: 403, message: 'Insufficient scope' },
  AUTHENTICATE_TIMEOUT: { status: 503, message: 'Service unavailable' },
  AUTHORIZATION_UNAVAILABLE: { status: 503, message: 'Service unavailable' },
}

/** How an error of `identify` is answered; undefined for one that nobody has named. */
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

/** Reads these options. Throws TransportError BAD_OPTION. */
export function readAuthenticate(options: AuthenticateOptions): AuthenticateSettings {
  const { authenticate, auth: given, authenticateTimeout = 5_000 } = options
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw bad('authenticate', 'a function', authenticate)
  if (!(typeof authenticateTimeout === 'number' && authenticateTimeout > 0))
    throw bad('authenticateTimeout', 'milliseconds above 0', authenticateTimeout)
  if (given === undefined) return { authenticate, auth: undefined, authenticateTimeout }
  if (authenticate !== undefined) throw bad('authenticate', 'nothing beside auth', authenticate)
  const auth = readAuth(given)
  return { authenticate: bearer(auth), auth, authenticateTimeout }
}

function bad(field: string, expected: string, got: unknown): TransportError {
  return optionError(field, `${field}: expected ${expected}, got ${show(got)}`)
}
