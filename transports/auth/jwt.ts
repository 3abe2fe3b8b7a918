import { isObject } from '../../protocol/wire/json.js'
import { outside } from '../../runtime/faults/containment.js'
import { lazy } from '../../runtime/faults/load.js'
import type { JwtCheck } from './jwt-check.js'
import { readSecureUrl } from '../base/secure-url.js'
import type { TokenUse, TokenVerifier } from './tokens.js'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readDelay,
  readMs,
  readOptions,
  readText,
  type ReadWith,
} from '../base/read-option.js'

const loadCheck = /* @__PURE__ */ lazy('../../transports/auth/jwt-check.js', () => import('./jwt-check.js'))

/** How JWTs are checked. */
export interface JwtOptions {
  /** Who issues them; `iss` has to be exactly this. */
  readonly issuer: string
  /** What `aud` has to name. Default: the `resource` of the listener. */
  readonly audience?: string | readonly string[]
  /**
   * Where the public keys are, or the keys themselves (a JWK Set). Default: where the metadata of the issuer
   * says (RFC 8414, OpenID Connect Discovery).
   */
  readonly jwks?: string | { readonly keys: readonly object[] }
  /**
   * Default: all of `ES256 ES384 ES512 PS256 PS384 PS512 RS256 RS384 RS512 EdDSA Ed25519`; no others can be
   * chosen.
   */
  readonly algorithms?: readonly string[]
  /**
   * Milliseconds that the clock of the issuer may differ from ours, 600,000 at most: so much longer is each token
   * taken. Default 5,000.
   */
  readonly clockTolerance?: number
  /** Milliseconds after a fetch of the keys before there is another, less while there are none. Default 30,000. */
  readonly cooldown?: number
  /** Milliseconds until keys are fetched anew; if that fails, they last 6 times as long. Default 600,000. */
  readonly keyMaxAge?: number
  /** Milliseconds a result is kept, but no longer than the token lives; 0: none. Default 60,000. */
  readonly cacheTime?: number
  /** Results that are kept. Default 1,000. */
  readonly maxCached?: number
  /** Milliseconds that a fetch may take. Default 5,000. */
  readonly fetchTimeout?: number
}

export type JwtSettings = ReadWith<typeof readers>

/** Public-key algorithms only: with a shared secret, a public key could be used to forge (RFC 8725, 2.1). */
const publicAlgorithms: readonly string[] = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
  'Ed25519',
]

/**
 * Checks access tokens that are JWTs (RFC 9068): signature, algorithm, issuer, audience, times, subject. The
 * keys of the issuer are fetched with the first token. A token with an unknown key is refused without a fetch
 * if one was made within `cooldown`. Without any key requests are answered 503, and so are those with an
 * unknown key while the last fetch has failed. Throws TransportError BAD_OPTION.
 */
export function jwt(options: JwtOptions): TokenVerifier {
  const settings = readOptions(options, readers, 'jwt')
  let check: JwtCheck | undefined
  /** Called before a listener accepts, or with the first token. */
  async function prepare(): Promise<JwtCheck> {
    const { createJwtCheck } = await loadCheck()
    check ??= outside(() => createJwtCheck(settings))
    return check
  }
  return Object.assign(async (token: string, use: TokenUse) => (check ?? (await prepare()))(token, use), {
    prepare,
  })
}

export const readAudience: Read<readonly string[]> = (value, field) => {
  const all = Array.isArray(value) ? value : [value]
  if (all.length === 0) throw badOption(field, 'one audience or more', value)
  return Object.freeze(all.map((audience) => readText(audience, field)))
}

const readJwks: Read<NonNullable<JwtOptions['jwks']>> = (value, field) => {
  if (typeof value === 'string') return readSecureUrl(value, field)
  if (isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject)) return { keys: value.keys }
  throw badOption(field, 'an address, or an object with keys', value)
}

const readAlgorithms: Read<readonly string[]> = (value, field) => {
  if (!Array.isArray(value) || value.length === 0) throw badOption(field, 'an array of algorithms', value)
  const other = value.find((name) => !publicAlgorithms.includes(name))
  if (other !== undefined) throw badOption(field, `algorithms among ${publicAlgorithms.join(', ')}`, other)
  return Object.freeze([...value])
}

const longestTolerance = 600_000

/** A token that has expired is to be refused at some time (RFC 7519, section 4.1.4: a few minutes). */
const readTolerance: Read<number> = (value, field) => {
  const tolerance = readDelay(value, field)
  if (tolerance > longestTolerance) throw badOption(field, `${longestTolerance} ms at most`, value)
  return tolerance
}

const readers = {
  issuer: readSecureUrl,
  audience: orElse(readAudience, undefined),
  jwks: orElse(readJwks, undefined),
  algorithms: orElse(readAlgorithms, publicAlgorithms),
  clockTolerance: orElse(readTolerance, 5_000),
  cooldown: orElse(readMs, 30_000),
  keyMaxAge: orElse(readMs, 600_000),
  cacheTime: orElse(readDelay, 60_000),
  maxCached: orElse(readCount, 1_000),
  fetchTimeout: orElse(readMs, 5_000),
}
