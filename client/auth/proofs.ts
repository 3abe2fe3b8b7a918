import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import type { World } from '../../runtime/time/world.js'
import type { AuthAnswer } from '../../transports/http/client/auth.js'

const loadJose = /* @__PURE__ */ lazy('jose', () => import('jose'))

/** Algorithms of proofs, the best first. */
const proofAlgorithms = ['ES256', 'EdDSA', 'ES384'] as const

type ProofAlgorithm = (typeof proofAlgorithms)[number]

/** A private key that tokens are bound to (RFC 7517), as a storage keeps it. */
export interface ProofKey {
  readonly alg: ProofAlgorithm
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
  readonly d: string
}

/** What a proof is for. */
interface Proven {
  readonly method: string
  readonly target: URL
  /** The token that goes with it; none in a request for one. */
  readonly token?: string
  readonly world: World
}

type Signer = (claims: Readonly<Record<string, unknown>>) => Promise<string>

/** Origins whose nonces are kept. */
const maxNonces = 200
/** Characters of a nonce: longer ones are not kept. */
const maxNonceLength = 1_024

/** Proofs that we have a key (RFC 9449), and the nonces that servers want in them; for one provider. */
export class Proofs {
  /** The newest of each origin, the origin that was heard of last at the end. */
  readonly #nonces = new Map<string, string>()
  readonly #signers = new WeakMap<ProofKey, Promise<Signer>>()

  /** A new one for each request: one signature. */
  async prove(key: ProofKey, { method, target, token, world }: Proven): Promise<string> {
    const sign = await this.#signerOf(key)
    const { origin, pathname } = httpUrl(target)
    const nonce = this.#nonces.get(origin)
    return sign({
      jti: world.id(),
      htm: method,
      htu: origin + pathname,
      iat: Math.floor(world.date() / 1_000),
      ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
      ...(nonce !== undefined && { nonce }),
    })
  }

  /** Keeps the nonce of an answer (RFC 9449, sections 8 and 9), and says whether it is another one. */
  heard(place: URL, headers: AuthAnswer['headers']): boolean {
    const nonce = headers['dpop-nonce']
    if (
      typeof nonce !== 'string' ||
      nonce.length > maxNonceLength ||
      !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(nonce)
    )
      return false
    const { origin } = httpUrl(place)
    if (this.#nonces.get(origin) === nonce) return false
    this.#nonces.delete(origin)
    this.#nonces.set(origin, nonce)
    const [oldest = origin] = this.#nonces.keys()
    if (this.#nonces.size > maxNonces) this.#nonces.delete(oldest)
    return true
  }

  /** Whether proofs can be made with it: what a storage gives back may be anything. */
  isUsable(key: ProofKey): Promise<boolean> {
    return this.#signerOf(key).then(
      () => true,
      () => false,
    )
  }

  #signerOf(key: ProofKey): Promise<Signer> {
    const known = this.#signers.get(key)
    if (known !== undefined) return known
    const signer = signerOf(key)
    this.#signers.set(key, signer)
    return signer
  }
}

async function signerOf(key: ProofKey): Promise<Signer> {
  const { importJWK, SignJWT } = await loadJose()
  const { alg, d: _, ...jwk } = key
  const privateKey = await importJWK({ ...key }, alg)
  const header = { typ: 'dpop+jwt', alg, jwk }
  return (claims) => new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
}

export async function makeProofKey(alg: ProofAlgorithm): Promise<ProofKey> {
  const { exportJWK, generateKeyPair } = await loadJose()
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const key = readProofKey({ ...(await exportJWK(privateKey)), alg })
  if (key === undefined) throw new Error(`${alg}: the key that was made has an unknown form`)
  return key
}

/** Reads a key from the storage; undefined for anything else. */
export function readProofKey(value: unknown): ProofKey | undefined {
  if (!isObject(value)) return undefined
  const { alg, kty, crv, x, y, d } = value
  const known = proofAlgorithms.find((name) => name === alg)
  if (known === undefined || [kty, crv, x, d].some((part) => typeof part !== 'string')) return undefined
  const parts = { kty: String(kty), crv: String(crv), x: String(x), d: String(d) }
  return { alg: known, ...parts, ...(typeof y === 'string' && { y }) }
}

/** The one of ours that all of these know; a list that is missing knows all. */
export function chooseAlgorithm(...lists: readonly unknown[]): ProofAlgorithm | undefined {
  return proofAlgorithms.find((name) =>
    lists.every((list) => list === undefined || (Array.isArray(list) && list.includes(name))),
  )
}

/** The upgrade of a WebSocket is a request over HTTP. */
export function httpUrl(url: URL): URL {
  return url.protocol === 'ws:' || url.protocol === 'wss:' ? new URL(url.href.replace(/^ws/, 'http')) : url
}
