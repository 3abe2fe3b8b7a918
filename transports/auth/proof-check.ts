import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import {
  calculateJwkThumbprint,
  compactVerify,
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  importJWK,
  type JWK,
} from 'jose'
import { isObject } from '../../protocol/wire/json.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import type { Principal } from '../contract/principal.js'
import type { DPoPSettings } from './dpop.js'
import { SeenProofs } from './seen-proofs.js'

/** What comes with a token to prove its key. */
interface ProofUse {
  /** The header, as it came. */
  readonly proof: string | readonly string[] | undefined
  readonly token: string
  readonly method: string
  /** The addresses that it may name, without query. */
  readonly targets: readonly string[]
  readonly world: World
}

/** A proof whose form is right. */
interface ReadProof {
  /** The thumbprint of its key (RFC 7638), which may be anybody's until `verify` resolves. */
  readonly key: string
  /**
   * Checks the signature, and that it has not been seen before, for the holder of its token. Rejects with
   * UNAUTHORIZED.
   */
  verify(principal: Principal): Promise<void>
}

/** Reads a proof, without a check that costs much. Rejects with UNAUTHORIZED. */
export type ProofCheck = (use: ProofUse) => Promise<ReadProof>

interface ProofClaims {
  readonly jti: string
  /** In seconds since 1970. */
  readonly iat: number
}

interface KnownKey {
  readonly thumbprint: string
  readonly key: CryptoKey | Uint8Array
}

const maxProofLength = 8_192
const maxIdLength = 256
/** Characters of the numbers of an RSA key, for 4,096 bits: larger ones take too long to check. */
const maxKeyParts = { n: 683, e: 8 } as const
/** Ms by which the clocks of nodes may differ: a proof has to be remembered until it has ended at all of them. */
const skew = 20_000
/** Keys that are kept as imported; those used last stay. */
const maxKeys = 1_000

/** Checks the proofs of one listener (RFC 9449, section 4.3). */
export function createProofCheck(settings: DPoPSettings): ProofCheck {
  const { algorithms, window, nonceKeys, seen } = settings
  const remembered = new SeenProofs()
  const keys = new Map<string, KnownKey>()

  async function wasSeen(
    key: string,
    { jti, iat }: ProofClaims,
    world: World,
    principal: Principal,
  ): Promise<boolean> {
    const id = createHash('sha256').update(`${key} ${jti}`).digest('base64url')
    const until = iat * 1_000 + window + 1_000
    const now = world.date()
    if (seen === undefined) return remembered.note({ id, key, until }, now)
    return (await seen({ id, lifetime: until - now + skew, principal })) !== false
  }

  return async (use) => {
    const { proof, world } = use
    if (proof === undefined) throw proofRefused('a proof of the key is missing (DPoP)')
    // several headers come as one text with commas, which no proof has
    if (typeof proof !== 'string' || proof.length > maxProofLength || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(proof))
      throw proofRefused('expected one proof')
    const { alg, jwk } = headerOf(proof, algorithms)
    const claims = claimsOf(proof, use, window)
    if (nonceKeys !== undefined && !isOurNonce(claims.nonce, { nonceKeys, window, world })) {
      const [first = ''] = nonceKeys
      throw proofRefused('the proof lacks the nonce of this server', makeNonce(first, world.date()))
    }
    const named = JSON.stringify([alg, jwk])
    const known = keys.get(named)
    const key = known?.thumbprint ?? (await thumbprintOf(jwk))
    return {
      key,
      async verify(principal) {
        const imported = known?.key ?? (await imports(jwk, alg))
        await checkSignature(proof, imported, alg)
        keys.delete(named)
        keys.set(named, { thumbprint: key, key: imported })
        const [oldest = named] = keys.keys()
        if (keys.size > maxKeys) keys.delete(oldest)
        if (await wasSeen(key, claims, world, principal)) throw proofRefused('the proof was used before')
      },
    }
  }
}

/** The error for a proof that is not taken; the client gets the message, and the nonce for the next one. */
function proofRefused(description: string, nonce?: string): TransportError {
  const error = nonce === undefined ? 'invalid_dpop_proof' : 'use_dpop_nonce'
  return new TransportError('UNAUTHORIZED', description, { data: { error, nonce } })
}

function headerOf(proof: string, algorithms: readonly string[]): { readonly alg: string; readonly jwk: JWK } {
  const { typ, alg, ...header } = orRefused(() => decodeProtectedHeader(proof))
  const jwk: unknown = header.jwk
  if (typ !== 'dpop+jwt') throw proofRefused('the proof has another type (typ)')
  if (alg === undefined || !algorithms.includes(alg)) throw proofRefused('the algorithm is not taken (alg)')
  if (!isObject(jwk)) throw proofRefused('the proof has no key (jwk)')
  if (jwk.kty === 'oct' || jwk.d !== undefined || jwk.k !== undefined)
    throw proofRefused('the key of the proof is not a public one (jwk)')
  if (isLonger(jwk.n, maxKeyParts.n) || isLonger(jwk.e, maxKeyParts.e))
    throw proofRefused('the key of the proof is too large (jwk)')
  return { alg, jwk }
}

function isLonger(value: unknown, max: number): boolean {
  return typeof value === 'string' && value.length > max
}

function claimsOf(
  proof: string,
  { method, targets, token, world }: ProofUse,
  window: number,
): ProofClaims & { readonly nonce: unknown } {
  const { htm, htu, iat, jti, ath, nonce } = orRefused(() => decodeJwt(proof))
  if (htm !== method) throw proofRefused('the proof is for another method (htm)')
  if (typeof htu !== 'string' || !targets.includes(addressOf(htu)))
    throw proofRefused('the proof is for another address (htu)')
  const now = Math.floor(world.date() / 1_000)
  if (typeof iat !== 'number' || !(Math.abs(now - iat) <= window / 1_000))
    throw proofRefused('the proof is not of this time (iat)')
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength)
    throw proofRefused('the proof has no id of its own (jti)')
  if (ath !== createHash('sha256').update(token).digest('base64url'))
    throw proofRefused('the proof is for another token (ath)')
  return { jti, iat, nonce }
}

/** Without query and fragment, which do not count (RFC 9449, section 4.3). */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

async function thumbprintOf(jwk: JWK): Promise<string> {
  return calculateJwkThumbprint(jwk).catch(() => {
    throw proofRefused('the key of the proof cannot be read (jwk)')
  })
}

async function imports(jwk: JWK, alg: string): Promise<CryptoKey | Uint8Array> {
  return importJWK({ ...jwk, ext: true }, alg).catch(() => {
    throw proofRefused('the key of the proof cannot be read (jwk)')
  })
}

async function checkSignature(proof: string, key: KnownKey['key'], alg: string): Promise<void> {
  try {
    await compactVerify(proof, key, { algorithms: [alg] })
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
    throw proofRefused('the signature of the proof is wrong')
  }
}

function orRefused<T>(read: () => T): T {
  try {
    return read()
  } catch {
    throw proofRefused('expected one proof')
  }
}

const timeBytes = 6

/** The time, and a code over it: nothing is kept. */
function makeNonce(secret: string, now: number): string {
  const time = Buffer.alloc(timeBytes)
  time.writeUIntBE(now, 0, timeBytes)
  return Buffer.concat([time, codeOf(secret, time)]).toString('base64url')
}

function isOurNonce(
  nonce: unknown,
  {
    nonceKeys,
    window,
    world,
  }: { readonly nonceKeys: readonly string[]; readonly window: number; readonly world: World },
): boolean {
  if (typeof nonce !== 'string' || nonce.length > maxIdLength) return false
  const bytes = Buffer.from(nonce, 'base64url')
  const [time, code] = [bytes.subarray(0, timeBytes), bytes.subarray(timeBytes)]
  if (time.length < timeBytes) return false
  const isMade = nonceKeys.some((secret) => {
    const ours = codeOf(secret, time)
    return ours.length === code.length && timingSafeEqual(ours, code)
  })
  return isMade && Math.abs(world.date() - time.readUIntBE(0, timeBytes)) <= window
}

function codeOf(secret: string, time: Buffer): Buffer {
  return createHmac('sha256', secret).update('caduceus dpop nonce').update(time).digest().subarray(0, 16)
}
