import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { resource } from './_authorization-server.js'

/** A key that tokens can be bound to. */
export type ProofKey = {
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  /** With its private part. */
  readonly all: JWK
  /** For `cnf`. */
  readonly jkt: string
}

/** How a proof differs from a good one; undefined leaves something out. */
export type ProofChange = {
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
  /** Signs it. */
  readonly with?: CryptoKey | Uint8Array
}

export async function makeProofKey(alg = 'ES256'): Promise<ProofKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { alg, privateKey, jwk, all: await exportJWK(privateKey), jkt: await calculateJwkThumbprint(jwk) }
}

/** A proof for a POST to `resource` with that token. */
export async function prove(key: ProofKey, token: string, change: ProofChange = {}): Promise<string> {
  const claims = {
    jti: randomUUID(),
    htm: 'POST',
    htu: resource,
    iat: Math.floor(Date.now() / 1_000),
    ath: createHash('sha256').update(token).digest('base64url'),
    ...change.claims,
  }
  const header = { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...change.header }
  if (header.alg === 'none') return `${part(header)}.${part(claims)}.`
  const proof = new SignJWT(claims as never).setProtectedHeader(header as never)
  return proof.sign(change.with ?? key.privateKey, { crit: { unknown: true } })
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
