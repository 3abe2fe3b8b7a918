import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { isObject } from '../protocol/json.js'
import { show } from '../runtime/errors.js'
import { ServerError } from './errors.js'
import { decodeFacts, encodeFacts, type SealedFacts } from './sealed-payload.js'

/** How ids are sealed. */
export interface SealedIdsOptions {
  /**
   * Secrets of 32 bytes or characters or more, 16 of them at most: the first seals, all of them open. To exchange one, put the new one second
   * everywhere, then first, and take the old one away after `maxAge`. Give the same ones to every program that serves these sessions.
   */
  readonly keys: readonly (string | Uint8Array)[]
  /** Milliseconds from `initialize` to the end of an id, and with it of the session. Default 24 h. */
  readonly maxAge?: number
  /** Ended sessions that are remembered at once; beyond it the one ended longest ago may be used again. Default 100,000. */
  readonly maxRevoked?: number
  /** The time in ms since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** An id with what it says. */
export interface SealedId {
  readonly id: string
  readonly facts: SealedFacts
  /** In ms since 1970. */
  readonly expiresAt: number
}

/**
 * Session ids that carry, encrypted (AES-256-GCM), what has to be known of a session: every program with the key goes on with it, with a store
 * or without. They have 720 characters at most. An ended session is remembered in the server's `store` when it was given one, and otherwise
 * only here, until the program ends. Throws BAD_OPTION.
 */
export function sealedIds(options: SealedIdsOptions): SealedIds {
  return new SealedIds(options)
}

const format = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + keyIdBytes + nonceBytes
const maxLength = 720
const maxKeys = 16
const cipher = 'aes-256-gcm'

interface Key {
  readonly id: Buffer
  readonly secret: Buffer
}

/** Seals and opens the ids of sessions; made by `sealedIds`. */
export class SealedIds {
  readonly #keys: readonly [Key, ...Key[]]
  readonly #maxAge: number
  readonly #maxRevoked: number
  /** When each revoked id ends by itself, in the order of revoking. */
  readonly #revoked = new Map<string, number>()
  readonly now: () => number

  constructor(options: SealedIdsOptions) {
    if (!isObject(options)) throw bad('options', 'an object with keys', show(options))
    const known = ['keys', 'maxAge', 'maxRevoked', 'now']
    for (const field of Object.keys(options))
      if (!known.includes(field)) throw bad(field, `an option among ${known.join(', ')}`, show(field))
    const {
      keys,
      maxAge = 24 * 60 * 60_000,
      maxRevoked = 100_000,
      now = Date.now,
    }: SealedIdsOptions = options
    for (const [field, value] of Object.entries({ maxAge, maxRevoked }))
      if (!(Number.isFinite(value) && value > 0)) throw bad(field, 'a number above 0', show(value))
    if (typeof now !== 'function') throw bad('now', 'a function', show(now))
    this.#keys = readKeys(keys)
    this.#maxAge = maxAge
    this.#maxRevoked = maxRevoked
    this.now = now
  }

  /** An id for a session that begins now. `server` is the name of the definition: other servers do not open it. */
  seal(facts: SealedFacts, server: string): SealedId {
    const [key] = this.#keys
    // whole seconds: they are shorter
    const expiresAt = Math.ceil((this.now() + this.#maxAge) / 1000) * 1000
    const plain = encodeFacts(facts, expiresAt)
    const head = Buffer.concat([Buffer.of(format), key.id, randomBytes(nonceBytes)])
    const sealing = createCipheriv(cipher, key.secret, head.subarray(-nonceBytes)).setAAD(
      context(head, server),
    )
    const sealed = Buffer.concat([head, sealing.update(plain), sealing.final(), sealing.getAuthTag()])
    return { id: sealed.toString('base64url'), facts, expiresAt }
  }

  /** What an id says; undefined when it is not of this server, was changed, has expired, or its session was ended here. */
  open(id: string, server: string): SealedId | undefined {
    if (id.length > maxLength || this.#revoked.has(id)) return undefined
    const bytes = Buffer.from(id, 'base64url')
    // one session, one spelling: what is no base64url is skipped when it is read
    if (bytes.toString('base64url') !== id || bytes.length < headBytes + tagBytes) return undefined
    const head = bytes.subarray(0, headBytes)
    for (const { id: keyId, secret } of this.#keys) {
      if (head[0] !== format || !keyId.equals(head.subarray(1, 1 + keyIdBytes))) continue
      const opened = decodeFacts(unseal(bytes, secret, context(head, server)))
      if (opened !== undefined && opened.expiresAt > this.now()) return { id, ...opened }
    }
    return undefined
  }

  /** Ends an id before its time, in this program. */
  revoke({ id, expiresAt }: SealedId): void {
    this.#revoked.set(id, expiresAt)
    if (this.#revoked.size <= this.#maxRevoked) return
    for (const [other, end] of this.#revoked) if (end <= this.now()) this.#revoked.delete(other)
    for (const [other] of this.#revoked) {
      if (this.#revoked.size <= this.#maxRevoked) return
      this.#revoked.delete(other)
    }
  }
}

/** Nothing when it was changed, or sealed with another key or for another server. */
function unseal(bytes: Buffer, secret: Buffer, about: Buffer): Buffer {
  const nonce = bytes.subarray(1 + keyIdBytes, headBytes)
  try {
    const opening = createDecipheriv(cipher, secret, nonce)
      .setAAD(about)
      .setAuthTag(bytes.subarray(-tagBytes))
    return Buffer.concat([opening.update(bytes.subarray(headBytes, -tagBytes)), opening.final()])
  } catch {
    return Buffer.alloc(0)
  }
}

/** What is not in the id, and yet must be the same. */
function context(head: Buffer, server: string): Buffer {
  return Buffer.concat([head, Buffer.from(`caduceus session ${server}`)])
}

function readKeys(keys: unknown): readonly [Key, ...Key[]] {
  if (!Array.isArray(keys) || keys.length > maxKeys)
    throw bad('keys', `an array of 1 to ${maxKeys} secrets`, kind(keys))
  const [first, ...others] = keys.map((secret: unknown, index) => {
    const isSecret = typeof secret === 'string' || secret instanceof Uint8Array
    if (!isSecret || secret.length < 32)
      throw bad(`keys[${index}]`, 'a string or bytes of length 32 or more', kind(secret))
    return deriveKey(secret)
  })
  if (first === undefined) throw bad('keys', `an array of 1 to ${maxKeys} secrets`, 'none')
  return [first, ...others]
}

function deriveKey(secret: string | Uint8Array): Key {
  const derived = Buffer.from(hkdfSync('sha256', secret, '', 'caduceus sealed session ids', 32 + keyIdBytes))
  return { secret: derived.subarray(0, 32), id: derived.subarray(32) }
}

/** What came, without what is in it. */
function kind(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} of them`
  if (typeof value === 'string' || value instanceof Uint8Array) return `one of length ${value.length}`
  return typeof value
}

function bad(field: string, expected: string, got: string): ServerError {
  const problem = `sealedIds: ${field}: expected ${expected}, got ${got}`
  return new ServerError('BAD_OPTION', problem, { data: { field } })
}
