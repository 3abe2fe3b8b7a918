import { among } from '../../runtime/base/near.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { type ServerError, optionError } from '../base/errors.js'
import { decodeFacts, encodeFacts, type SealedFacts } from './sealed-payload.js'
import { Sealing, type Secrets } from '../base/sealing.js'

/** How ids are sealed. */
export interface SealedIdsOptions {
  /**
   * Secrets of 32 bytes or characters or more, 16 of them at most: the first seals, all of them open. To
   * exchange one, put the new one second everywhere, then first, and take the old one away after `maxAge`.
   * Give the same ones to every program that serves these sessions.
   */
  readonly keys: Secrets
  /** Milliseconds from `initialize` to the end of an id, and with it of the session. Default 24 h. */
  readonly maxAge?: number
  /**
   * Ended sessions that are remembered at once; beyond it the one ended longest ago may be used again.
   * Default 100,000.
   */
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
 * Session ids that carry, encrypted (AES-256-GCM), what has to be known of a session: every program with the
 * key goes on with it, with a store or without. They have 720 characters at most. An ended session is
 * remembered in the server's `store` when it was given one, and otherwise only here, until the program ends.
 * Throws BAD_OPTION.
 */
export function sealedIds(options: SealedIdsOptions): SealedIds {
  return new SealedIds(options)
}

const maxLength = 720

/** Seals and opens the ids of sessions; made by `sealedIds`. */
export class SealedIds {
  readonly #sealing: Sealing
  readonly #maxAge: number
  readonly #maxRevoked: number
  /** When each revoked id ends by itself, in the order of revoking. */
  readonly #revoked = new Map<string, number>()
  readonly now: () => number

  constructor(options: SealedIdsOptions) {
    if (!isObject(options)) throw bad('options', 'an object with keys', show(options))
    const known = ['keys', 'maxAge', 'maxRevoked', 'now']
    for (const field of Object.keys(options))
      if (!known.includes(field)) throw bad(field, among('an option', known, field), show(field))
    const {
      keys,
      maxAge = 24 * 60 * 60_000,
      maxRevoked = 100_000,
      now = Date.now,
    }: SealedIdsOptions = options
    for (const [field, value] of Object.entries({ maxAge, maxRevoked }))
      if (!(Number.isFinite(value) && value > 0)) throw bad(field, 'a number above 0', show(value))
    if (!Number.isInteger(maxRevoked)) throw bad('maxRevoked', 'a whole number above 0', show(maxRevoked))
    if (typeof now !== 'function') throw bad('now', 'a function', show(now))
    this.#sealing = new Sealing(keys, {
      purpose: 'caduceus sealed session ids',
      field: 'keys',
      of: 'sealedIds',
    })
    this.#maxAge = maxAge
    this.#maxRevoked = maxRevoked
    this.now = now
  }

  /**
   * An id for a session that begins now. `server` is the name of the definition: other servers do not open
   * it.
   */
  seal(facts: SealedFacts, server: string): SealedId {
    // whole seconds: they are shorter
    const expiresAt = Math.ceil((this.now() + this.#maxAge) / 1000) * 1000
    const id = this.#sealing.seal(encodeFacts(facts, expiresAt), about(server))
    return { id, facts, expiresAt }
  }

  /**
   * What an id says; undefined when it is not of this server, was changed, has expired, or its session was
   * ended here.
   */
  open(id: string, server: string): SealedId | undefined {
    if (id.length > maxLength || this.#revoked.has(id)) return undefined
    const plain = this.#sealing.open(id, about(server))
    const opened = plain === undefined ? undefined : decodeFacts(plain)
    return opened !== undefined && opened.expiresAt > this.now() ? { id, ...opened } : undefined
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

/** What is not in the id, and yet must be the same. */
function about(server: string): string {
  return `caduceus session ${server}`
}

function bad(field: string, expected: string, got: string): ServerError {
  const problem = `sealedIds: ${field}: expected ${expected}, got ${got}`
  return optionError(field, problem)
}
