import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { World } from '../../runtime/time/world.js'
import { type ServerError, optionError } from './errors.js'

/** 1 to 16 secrets of at least 32 bytes or characters each: the first seals, all of them open. */
export type Secrets = readonly (string | Uint8Array)[]

interface SealingUse {
  readonly purpose: string
  readonly field: string
  readonly of?: string
}

const format = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + keyIdBytes + nonceBytes
const maxKeys = 16
const cipher = 'aes-256-gcm'

interface Key {
  readonly id: Buffer
  readonly secret: Buffer
}

/** Makes texts of bytes that only holders of the key can read, change or make (AES-256-GCM). */
export class Sealing {
  readonly #keys: readonly [Key, ...Key[]]

  /** Keys derived for one purpose open nothing that was sealed for another. Throws BAD_OPTION. */
  constructor(secrets: unknown, use: SealingUse) {
    this.#keys = readKeys(secrets, use)
  }

  /** Seals with the first key. `about` is not in the text, but must be the same to open it. */
  seal(plain: Uint8Array, about: string, { randomBytes }: Pick<World, 'randomBytes'>): string {
    const [key] = this.#keys
    const head = Buffer.concat([Buffer.of(format), key.id, randomBytes(nonceBytes)])
    const nonce = head.subarray(-nonceBytes)
    const sealing = createCipheriv(cipher, key.secret, nonce).setAAD(context(head, about))
    const sealed = Buffer.concat([head, sealing.update(plain), sealing.final(), sealing.getAuthTag()])
    return sealed.toString('base64url')
  }

  /** The sealed bytes; undefined if they were changed, or sealed with another key or `about`. */
  open(text: string, about: string): Buffer | undefined {
    const bytes = Buffer.from(text, 'base64url')
    // decoding skips characters that are no base64url: only one spelling counts
    if (bytes.toString('base64url') !== text || bytes.length < headBytes + tagBytes) return undefined
    const head = bytes.subarray(0, headBytes)
    for (const { id, secret } of this.#keys) {
      if (head[0] !== format || !id.equals(head.subarray(1, 1 + keyIdBytes))) continue
      const opened = unseal(bytes, secret, context(head, about))
      if (opened !== undefined) return opened
    }
    return undefined
  }
}

export function sealedLength(plainBytes: number): number {
  return Math.ceil(((headBytes + plainBytes + tagBytes) * 4) / 3)
}

function unseal(bytes: Buffer, secret: Buffer, about: Buffer): Buffer | undefined {
  const nonce = bytes.subarray(1 + keyIdBytes, headBytes)
  try {
    const opening = createDecipheriv(cipher, secret, nonce)
      .setAAD(about)
      .setAuthTag(bytes.subarray(-tagBytes))
    return Buffer.concat([opening.update(bytes.subarray(headBytes, -tagBytes)), opening.final()])
  } catch {
    return undefined
  }
}

function context(head: Buffer, about: string): Buffer {
  return Buffer.concat([head, Buffer.from(about)])
}

function readKeys(secrets: unknown, { purpose, field, of }: SealingUse): readonly [Key, ...Key[]] {
  function bad(name: string, expected: string, got: unknown): ServerError {
    return optionError(
      name,
      `${of === undefined ? '' : `${of}: `}${name}: expected ${expected}, got ${kind(got)}`,
    )
  }
  if (!Array.isArray(secrets) || secrets.length === 0 || secrets.length > maxKeys)
    throw bad(field, `an array of 1 to ${maxKeys} secrets`, secrets)
  function read(secret: unknown, index: number): Key {
    const isSecret = typeof secret === 'string' || secret instanceof Uint8Array
    if (isSecret && secret.length >= 32) return deriveKey(secret, purpose)
    throw bad(`${field}[${index}]`, 'a string or bytes of length 32 or more', secret)
  }
  const [first, ...others] = secrets.map(read)
  return [first as Key, ...others]
}

function deriveKey(secret: string | Uint8Array, purpose: string): Key {
  const derived = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32 + keyIdBytes))
  return { secret: derived.subarray(0, 32), id: derived.subarray(32) }
}

/** What was given, without showing the secret. */
function kind(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} of them`
  if (typeof value === 'string' || value instanceof Uint8Array) return `one of length ${value.length}`
  return typeof value
}
