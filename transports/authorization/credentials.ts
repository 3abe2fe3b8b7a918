import { pause } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import type { Credentials } from '../contract/principal.js'
import type { KeptValue, Values } from '../contract/values.js'
import { put } from './adapter.js'
import type { ProviderLogin, ProviderTokens } from './provider-login.js'

/** What is kept of a user's tokens. */
interface KeptTokens {
  readonly tokens: ProviderTokens
  /** Milliseconds that they are kept. */
  readonly ttl: number
  /** Until when somebody is getting new ones, in ms since 1970. */
  readonly refreshedUntil?: number
  /** Until when nobody tries to, as the provider has just failed. */
  readonly failingUntil?: number
}

/** Milliseconds before its end in which a token is renewed. */
const early = 60_000
/** Milliseconds for one renewal: after that another node may try. */
const renewalTime = 30_000
/**
 * Milliseconds after a renewal that failed, at least, and as long as it took: all who waited for it fail with it,
 * and not each after its own.
 */
const failedTime = 2_000
/** Milliseconds that a token has to be good for, to be used while another call gets a new one. */
const enough = 5_000
/** Milliseconds after which a renewal is slow. */
const slowTime = 1_000
/** Milliseconds between two looks whether another node has renewed it. */
const lookPause = 100

/** The tokens that users have at the provider, renewed by one of all nodes. */
export class UserCredentials {
  readonly #values: Values
  readonly #login: ProviderLogin
  readonly #world: World

  constructor(values: Values, login: ProviderLogin, world: World) {
    this.#values = values
    this.#login = login
    this.#world = world
  }

  async keep(account: string, tokens: ProviderTokens, ttl: number): Promise<void> {
    const former = await this.#find(account)
    // most give a refresh token at the first login only
    const refreshToken = tokens.refreshToken ?? former?.kept.tokens.refreshToken
    const kept: KeptTokens = { tokens: { ...tokens, refreshToken }, ttl }
    await put(this.#values, this.#world, keyOf(account), JSON.stringify(kept), ttl)
  }

  forget(account: string): Promise<void> {
    return put(this.#values, this.#world, keyOf(account), undefined, 1)
  }

  /** Whether the user has to sign in again: the provider has ended them, or gives no others. */
  async areOver(account: string): Promise<boolean> {
    const found = await this.#find(account)
    if (found === undefined) return true
    const { expiresAt, refreshToken } = found.kept.tokens
    return expiresAt !== undefined && expiresAt <= this.#world.date() && refreshToken === undefined
  }

  /**
   * While the provider does not answer, a token is used to its end. Rejects with UNAUTHORIZED where the user has
   * to sign in again.
   */
  async of(account: string | undefined, signal: AbortSignal): Promise<Credentials> {
    if (account === undefined) throw signInAgain()
    while (true) {
      signal.throwIfAborted()
      const found = await this.#find(account)
      if (found === undefined) throw signInAgain()
      const { tokens, refreshedUntil = 0, failingUntil = 0 } = found.kept
      const now = this.#world.date()
      if (tokens.expiresAt === undefined || tokens.expiresAt - early > now) return credentialsOf(tokens)
      if (tokens.refreshToken === undefined) {
        if (tokens.expiresAt > now) return credentialsOf(tokens)
        throw signInAgain()
      }
      // in its first second it is worth waiting for
      const isSlow = refreshedUntil > now && refreshedUntil - renewalTime + slowTime <= now
      if (isSlow && tokens.expiresAt - enough > now) return credentialsOf(tokens)
      if (refreshedUntil > now) await pause(lookPause, this.#world, signal)
      else if (failingUntil > now) {
        if (tokens.expiresAt > now) return credentialsOf(tokens)
        throw hasFailed()
      } else {
        const renewed = await this.#renew(account, found, tokens.refreshToken)
        // a token that lives for less is used, too
        if (renewed !== undefined) return credentialsOf(renewed)
      }
    }
  }

  /** Whoever says first that it renews them does: a refresh token may be good once. Undefined: another one did. */
  async #renew(
    account: string,
    { kept, was }: FoundTokens,
    refreshToken: string,
  ): Promise<ProviderTokens | undefined> {
    const { ttl } = kept
    const key = keyOf(account)
    const begun = this.#world.date()
    const taken = JSON.stringify({ ...kept, refreshedUntil: begun + renewalTime })
    if (!(await this.#values.set(key, taken, { ttl, was }))) return undefined
    const mine = await this.#values.get(key)
    // who has signed in meanwhile has newer ones
    const end = async (text: string | undefined): Promise<boolean> =>
      mine?.text === taken && this.#values.set(key, text, { ttl, was: mine })
    try {
      const tokens = await this.#login.refresh(refreshToken)
      const renewed = { scopes: kept.tokens.scopes, ...tokens }
      return (await end(JSON.stringify({ tokens: renewed, ttl }))) ? renewed : undefined
    } catch (cause) {
      const isOver = cause instanceof TransportError && cause.code === 'UNAUTHORIZED'
      const now = this.#world.date()
      await end(isOver ? undefined : JSON.stringify({ ...kept, failingUntil: now + pauseAfter(now - begun) }))
      if (isOver) throw signInAgain(cause)
      if (Number(kept.tokens.expiresAt) > now) return kept.tokens
      throw cause
    }
  }

  async #find(account: string): Promise<FoundTokens | undefined> {
    const was = await this.#values.get(keyOf(account))
    if (was === undefined || was.text === '') return undefined
    return { kept: JSON.parse(was.text) as KeptTokens, was }
  }
}

interface FoundTokens {
  readonly kept: KeptTokens
  readonly was: KeptValue
}

function credentialsOf({ accessToken, expiresAt, scopes }: ProviderTokens): Credentials {
  return {
    accessToken,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(scopes !== undefined && { scopes }),
  }
}

function keyOf(account: string): string {
  return `credentials ${account}`
}

/** By a clock that may be set meanwhile. */
function pauseAfter(took: number): number {
  return Math.min(Math.max(failedTime, took), renewalTime)
}

function hasFailed(): TransportError {
  const problem =
    'the identity provider has just failed to renew the token of the user: try again in a moment'
  return new TransportError('AUTHORIZATION_UNAVAILABLE', problem, { retryable: true })
}

function signInAgain(cause?: unknown): TransportError {
  return new TransportError('UNAUTHORIZED', 'the user has to sign in again', { cause })
}
