import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'

/** What a proof that came is compared with. */
export type ProofOf = {
  readonly method: string
  /** Without query. */
  readonly url: string
  readonly token?: string | undefined
  readonly nonce?: string | undefined
  /** Ids that came before. */
  readonly seen: Set<string>
}

/** The thumbprint of the key of a proof, checked as RFC 9449, section 4.3 says; throws for one that is not good. */
export async function thumbprintOf(
  proof: string | string[] | undefined,
  { method, url, token, nonce, seen }: ProofOf,
): Promise<string> {
  if (typeof proof !== 'string') throw new Error(`one proof has to come, not ${JSON.stringify(proof)}`)
  const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
    typ: 'dpop+jwt',
    maxTokenAge: '60 s',
    algorithms: ['ES256', 'ES384', 'EdDSA'],
    requiredClaims: ['jti', 'iat', 'htm', 'htu'],
  })
  const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url')
  const found = JSON.stringify([payload.htm, payload.htu, payload.ath, payload.nonce])
  const expected = JSON.stringify([method, url, ath, nonce])
  if (found !== expected) throw new Error(`the proof says ${found}, not ${expected}`)
  if (seen.has(payload.jti ?? '')) throw new Error('the proof came before')
  seen.add(payload.jti ?? '')
  const { jwk } = protectedHeader
  if (jwk === undefined || Object.hasOwn(jwk, 'd'))
    throw new Error('the key of the proof is not a public one')
  return calculateJwkThumbprint(jwk)
}
