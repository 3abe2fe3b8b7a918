import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import { TransportError } from '../base/errors.js'
import { isSecureUrl } from '../base/secure-url.js'
import { fetchJson } from '../http/outgoing/fetch.js'
import type { JwtSettings } from './jwt.js'

/** How keys are loaded and kept. */
interface KeyOptions {
  load(clock: Clock): Promise<JsonObject>
  /** Milliseconds after a fetch, good or bad, before the next one; less while there are no keys at all. */
  readonly cooldown: number
  /** Milliseconds after which keys are fetched anew. */
  readonly maxAge: number
  /** Milliseconds after which a fetch that has no end yet is given up. */
  readonly fetchTimeout: number
}

/** How many times `maxAge` keys are used while they cannot be fetched anew. */
const staleFactor = 6

/** Milliseconds after the first fetch that failed, while there are no keys; doubled with each. */
const firstPause = 1_000

/** Milliseconds from the beginning of a fetch in which those wait for it that can do with older keys. */
const patience = 1_000
/** Keys of an issuer that are looked at. */
const mostKeys = 1_000
/** Bits of a key (RFC 7518, section 3.3). */
const shortestRsa = 2_048

/** The keys of an issuer, fetched when needed, old or unknown: made-up ones cost one fetch a cool-down. */
export class IssuerKeys {
  readonly #options: KeyOptions
  #find: JWTVerifyGetKey | undefined
  #fetchedAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #failures = 0
  #pending: Promise<void> | undefined

  constructor(options: KeyOptions) {
    this.#options = options
  }

  /** The key of a token. Rejects with jose's error for an unknown one, or AUTHORIZATION_UNAVAILABLE. */
  findBy(clock: Clock): JWTVerifyGetKey {
    return async (header, token) => {
      const { maxAge } = this.#options
      if (this.#find === undefined) await this.#refresh(clock)
      else if (this.#age(clock) > maxAge) await this.#refreshSoon(clock)
      if (this.#find === undefined || this.#isUseless(clock)) throw this.#unavailable()
      try {
        return await this.#find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        if (await this.#refresh(clock)) return await this.#find(header, token)
        // it may be a new one: nobody can say as long as the issuer is away
        throw this.#failure === undefined ? error : this.#unavailable()
      }
    }
  }

  #isUseless(clock: Clock): boolean {
    return this.#find === undefined || this.#age(clock) > this.#options.maxAge * staleFactor
  }

  #age(clock: Clock): number {
    return clock.now() - this.#fetchedAt
  }

  /** Waits for new keys for a moment only: with an issuer that hangs, the known ones go on. */
  async #refreshSoon(clock: Clock): Promise<void> {
    const refreshed = this.#refresh(clock)
    const left = this.#triedAt + patience - clock.now()
    if (this.#pending === undefined || left <= 0) return
    let timer: unknown
    const over = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, left)
    })
    await Promise.race([refreshed, over])
    clock.clearTimeout(timer)
  }

  /** False when it is too early to ask again, or when nothing new came of it. */
  async #refresh(clock: Clock): Promise<boolean> {
    const { cooldown } = this.#options
    this.#giveUp(clock)
    const before = this.#fetchedAt
    // nobody is let in meanwhile
    const pause = this.#isUseless(clock) ? firstPause * 2 ** (this.#failures - 1) : cooldown
    if (this.#pending === undefined && clock.now() - this.#triedAt >= Math.min(cooldown, pause))
      this.#pending = this.#load(clock)
    await this.#pending
    return this.#fetchedAt > before
  }

  /**
   * A host that ends a request with its client ends what that request has begun, timers too: it never
   * settles.
   */
  #giveUp(clock: Clock): void {
    if (this.#pending === undefined || clock.now() - this.#triedAt < this.#options.fetchTimeout) return
    this.#pending = undefined
    this.#fail(new Error('the last fetch did not end'))
  }

  #fail(error: unknown): void {
    this.#failure = error
    this.#failures += 1
  }

  /** Never rejects: those who wait look at the keys afterwards. */
  async #load(clock: Clock): Promise<void> {
    const begun = clock.now()
    this.#triedAt = begun
    const found = await this.#ask(clock)
    const isLast = this.#triedAt === begun
    if (isLast) this.#pending = undefined
    if (!('find' in found)) return isLast ? this.#fail(found.error) : undefined
    // one that was given up may come late, and is as good while there is none of a later one
    if (begun < this.#fetchedAt) return
    this.#find = found.find
    this.#fetchedAt = begun
    this.#failure = undefined
    this.#failures = 0
  }

  async #ask(clock: Clock): Promise<{ readonly find: JWTVerifyGetKey } | { readonly error: unknown }> {
    try {
      return { find: createLocalJWKSet(usableKeys(await this.#options.load(clock))) }
    } catch (error) {
      return { error }
    }
  }

  #unavailable(): TransportError {
    if (this.#failure instanceof TransportError) return this.#failure
    const details = { cause: this.#failure, retryable: true }
    return new TransportError('AUTHORIZATION_UNAVAILABLE', 'the keys of the issuer cannot be read', details)
  }
}

/** Others are ignored (RFC 7517, section 5). Throws AUTHORIZATION_UNAVAILABLE where there is none. */
function usableKeys({ keys }: JsonObject): JSONWebKeySet {
  const usable = Array.isArray(keys) ? keys.slice(0, mostKeys).filter(isUsable) : []
  if (usable.length === 0) throw unusable('the issuer has no keys that can be used')
  return { keys: usable }
}

/** The public key of an algorithm that is taken, whole, and of a size that is taken. */
function isUsable(key: unknown): key is JSONWebKeySet['keys'][number] {
  if (!isObject(key) || (key.use !== undefined && key.use !== 'sig')) return false
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails } = createPublicKey({
      key: key as JsonWebKey,
      format: 'jwk',
    })
    return type !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) >= shortestRsa
  } catch {
    // whatever is wrong with it, it is no key
    return false
  }
}

/** Fetches the keys of an issuer: from an address, or from where its metadata says. */
export function keysOf({
  issuer,
  jwks,
  fetchTimeout,
}: Pick<JwtSettings, 'issuer' | 'jwks' | 'fetchTimeout'>): (clock: Clock) => Promise<JsonObject> {
  const given = typeof jwks === 'string' ? jwks : undefined
  let known = given
  return async (clock) => {
    const within = { timeout: fetchTimeout, clock }
    known ??= await findKeys(issuer, within)
    try {
      return await fetchJson(known, within)
    } catch (error) {
      // they may have moved: the metadata is asked again
      known = given
      throw error
    }
  }
}

/** Places by RFC 8414, 3.1, and OpenID Connect Discovery, the latter before and after the issuer's path. */
async function findKeys(
  issuer: string,
  within: { readonly timeout: number; readonly clock: Clock },
): Promise<string> {
  let last: unknown
  for (const address of metadataAddresses(issuer)) {
    try {
      return readKeysAddress(await fetchJson(address, within), issuer, address)
    } catch (error) {
      last = error
    }
  }
  throw last
}

function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ]
}

/** The document has to name this very issuer (RFC 8414, section 3.3). */
function readKeysAddress(document: JsonObject, issuer: string, address: string): string {
  const { issuer: said, jwks_uri: keys } = document
  if (said !== issuer) throw unusable(`${address}: expected the metadata of ${issuer}`)
  if (typeof keys !== 'string' || !isSecureUrl(keys))
    throw unusable(`${address}: jwks_uri: expected an https address`)
  return keys
}

function unusable(message: string): TransportError {
  return new TransportError('AUTHORIZATION_UNAVAILABLE', message, { retryable: true })
}
