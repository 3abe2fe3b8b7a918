import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import type { Principal } from '../contract/principal.js'
import { isScope } from './scopes.js'

/** What a token is checked for, and how long. */
export interface TokenUse {
  /** The server that the token has to be issued for (RFC 8707). */
  readonly resource: string
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal
  /**
   * The thumbprint (RFC 7638) of the key that its sender proves to have: the token has to be bound to it
   * (`cnf.jkt`, which the claims of the principal show). Absent for a bearer token.
   */
  readonly key?: string
  /** What times are compared with. Default: the world of this machine. */
  readonly world?: World
  /**
   * The network that the token came from. Absent for one of this machine, which may be a proxy, and for a
   * token that was let in before.
   */
  readonly network?: string
}

/**
 * Finds out whose a bearer token is: what `jwt()` and `introspection()` return, or a function of your own. It
 * has to check that the token is genuine, in time, and issued for `resource`. Undefined or null refuses with
 * 401, and so does TransportError UNAUTHORIZED, whose message the client gets; AUTHORIZATION_UNAVAILABLE is
 * answered 503. Any other error or answer is 500 and reported.
 */
export interface TokenVerifier {
  (token: string, use: TokenUse): Principal | undefined | Promise<Principal | undefined>
  /** Loads what it needs; awaited before a listener accepts. */
  readonly prepare?: () => Promise<unknown>
  /**
   * The `now` of the world until which the answer for a token is good: an open connection asks again then.
   * Default: 10 s after it was asked for.
   */
  readonly keptUntil?: (token: string) => number
}

interface ExpectedClaims {
  readonly issuer: string
  /** One of them has to be among its audiences. */
  readonly audience: readonly string[]
  /** Milliseconds that clocks may differ by. */
  readonly clockTolerance: number
  /** Milliseconds since 1970. */
  readonly now: number
}

type TokenClaims = Readonly<Record<string, unknown>>

/**
 * The owner of a token by its claims, which are known to be genuine (RFC 9068, section 4; RFC 7662, section
 * 2.2). Throws TransportError UNAUTHORIZED that names the wrong claim, and not its value.
 */
export function principalOf(claims: TokenClaims, expected: ExpectedClaims): Principal {
  const { iss, aud, sub, client_id: clientId, azp } = claims
  if (iss !== expected.issuer) throw refused('the token is of another issuer')
  if (!list(aud).some((audience) => expected.audience.includes(audience)))
    throw refused('the token is for another resource')
  if (typeof sub !== 'string' || sub === '') throw refused('the token does not say whose it is')
  const expiresAt = readTimes(claims, expected)
  const client = [clientId, azp].find((id) => typeof id === 'string' && id !== '')
  return {
    issuer: expected.issuer,
    subject: sub,
    ...(client !== undefined && { clientId: String(client) }),
    scopes: scopesOf(claims),
    expiresAt,
    claims: Object.freeze({ ...claims }),
  }
}

/** The principal, where its token is bound to that key, or to none (RFC 9449, section 6). Else UNAUTHORIZED. */
export function boundTo(key: string | undefined, principal: Principal): Principal {
  const { cnf } = principal.claims ?? {}
  if (cnf === undefined && key === undefined) return principal
  if (key === undefined) throw refused('the token is bound to a key, and none was proven')
  if (cnf === undefined) throw refused('the token is not bound to the key that was proven')
  // a further condition of RFC 7800 cannot be checked here
  if (isObject(cnf) && cnf.jkt === key && Object.keys(cnf).length === 1) return principal
  throw refused('the token is bound to another key')
}

function readTimes({ exp, nbf }: TokenClaims, { clockTolerance, now }: ExpectedClaims): number {
  if (typeof exp !== 'number') throw refused('the token does not say when it expires')
  const expiresAt = exp * 1_000 + clockTolerance
  if (!(expiresAt > now)) throw refused('the token has expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf * 1_000 - clockTolerance <= now))
    throw refused('the token is not valid yet')
  return expiresAt
}

/** From `scope` (RFC 9068), or `scp`, as some authorization servers call it. */
function scopesOf({ scope, scp }: TokenClaims): readonly string[] {
  const given = scope ?? scp
  const scopes = typeof given === 'string' ? given.split(' ') : list(given)
  return [...new Set(scopes.filter(isScope))]
}

function list(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** The error for a token that is not let in; the client gets the message. */
export function refused(message: string): TransportError {
  return new TransportError('UNAUTHORIZED', message)
}

interface CacheLimits {
  /** Milliseconds; 0: none is kept. */
  readonly cacheTime: number
  readonly maxCached: number
}

interface Kept<Answer> {
  readonly until: number
  readonly answer: Promise<Answer>
}

/** Milliseconds that checks share one that has no end yet: its host may have ended it with its request. */
const patience = 5_000

/** The oldest come first. */
type Store<Answer> = Map<string, Kept<Answer>>

/** Keeps what was found out about tokens, by their digests: no token is kept. Concurrent checks share one. */
export class TokenCache<Answer> {
  readonly #limits: CacheLimits
  readonly #isGood: (answer: Answer) => boolean
  readonly #good: Store<Answer> = new Map()
  /** What is being asked, and refusals: who makes tokens up pushes out these alone. */
  readonly #others: Store<Answer> = new Map()

  /** `isGood`: whether an answer lets somebody in. */
  constructor(limits: CacheLimits, isGood: (answer: Answer) => boolean) {
    this.#limits = limits
    this.#isGood = isGood
  }

  /** What `ask` resolves with; what it rejects with is not kept. */
  find(token: string, clock: Pick<Clock, 'now'>, ask: () => Promise<Answer>): Promise<Answer> {
    const { cacheTime } = this.#limits
    if (cacheTime === 0) return ask()
    const key = digestOf(token)
    const now = clock.now()
    const known = this.#find(key)
    if (known !== undefined && known.until > now) return known.answer
    const pending = { until: now + Math.min(cacheTime, patience), answer: ask() }
    this.#good.delete(key)
    this.#put(this.#others, key, pending)
    pending.answer.then(
      (answer) => {
        const isGood = this.#isGood(answer)
        if (!isGood && this.#others.get(key) !== pending) return
        this.#forget(key, pending)
        this.#put(isGood ? this.#good : this.#others, key, { ...pending, until: now + cacheTime })
      },
      () => this.#forget(key, pending),
    )
    return pending.answer
  }

  /** The time until which its answer is kept; 0 when there is none. */
  keptUntil(token: string): number {
    return this.#find(digestOf(token))?.until ?? 0
  }

  #find(key: string): Kept<Answer> | undefined {
    return this.#good.get(key) ?? this.#others.get(key)
  }

  #put(store: Store<Answer>, key: string, kept: Kept<Answer>): void {
    store.delete(key)
    store.set(key, kept)
    const [oldest = key] = store.keys()
    if (store.size > this.#limits.maxCached) store.delete(oldest)
  }

  #forget(key: string, kept: Kept<Answer>): void {
    if (this.#others.get(key) === kept) this.#others.delete(key)
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
