import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { TransportError } from '../base/errors.js'

/** How keys are kept. */
export interface KeyOptions {
  load(): Promise<unknown>
  /** Milliseconds after a fetch before the next one, whatever came of it. */
  readonly cooldown: number
  /** Milliseconds after which keys are fetched anew. */
  readonly maxAge: number
  /** Milliseconds, never going back. */
  now(): number
}

/** Keys that cannot be fetched anew are used for so many times their age. */
const staleFactor = 6

/**
 * The keys of an issuer. They are fetched when they are first needed, when they are old, and for a key that
 * is not known, but at most once in a cool-down: tokens with made-up keys cost the issuer nothing.
 */
export class IssuerKeys {
  readonly #options: KeyOptions
  #find: JWTVerifyGetKey | undefined
  #fetchedAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #pending: Promise<void> | undefined

  constructor(options: KeyOptions) {
    this.#options = options
  }

  /**
   * The key that a token was signed with. Rejects with an error of jose for an unknown one, and with
   * TransportError AUTHORIZATION_UNAVAILABLE.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { maxAge } = this.#options
    if (this.#find === undefined || this.#age > maxAge) await this.#refresh()
    if (this.#find === undefined || this.#age > maxAge * staleFactor) throw this.#unavailable()
    try {
      return await this.#find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await this.#refresh())) throw error
      return await this.#find(header, token)
    }
  }

  get #age(): number {
    return this.#options.now() - this.#fetchedAt
  }

  /** False when it is too early to ask again, or when nothing new came of it. */
  async #refresh(): Promise<boolean> {
    const { now, cooldown } = this.#options
    const before = this.#fetchedAt
    if (this.#pending === undefined && now() - this.#triedAt >= cooldown) this.#pending = this.#load()
    await this.#pending
    return this.#fetchedAt > before
  }

  /** Never rejects: everybody who waits finds out what there is. */
  async #load(): Promise<void> {
    const { load, now } = this.#options
    this.#triedAt = now()
    try {
      this.#find = createLocalJWKSet((await load()) as JSONWebKeySet)
      this.#fetchedAt = this.#triedAt
    } catch (error) {
      this.#failure = error
    } finally {
      this.#pending = undefined
    }
  }

  #unavailable(): TransportError {
    if (this.#failure instanceof TransportError) return this.#failure
    const details = { cause: this.#failure, retryable: true }
    return new TransportError('AUTHORIZATION_UNAVAILABLE', 'the keys of the issuer cannot be read', details)
  }
}
