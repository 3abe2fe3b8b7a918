import { createHash } from 'node:crypto'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { optionError, TransportError } from '../base/errors.js'
import type { Values } from '../contract/values.js'
import { prolong, put, usedClient } from './adapter.js'
import { IdentityProvider, type SignedInUser } from './provider.js'
import type { SignInSettings } from './sign-in.js'

/** Milliseconds for `allow` and `scopesOf`. */
const authorTime = 10_000

/** Who a user is at the provider, for ever. */
type UserName = Pick<SignedInUser, 'issuer' | 'subject'>

/** Who has signed in, under a name of ours: what belongs to a user ends with that name. */
export class Users {
  readonly #settings: Pick<SignInSettings, 'allow' | 'scopes' | 'scopesOf'>
  /** Whoever came in by another provider has to come in by this one: `with` may have changed. */
  readonly #issuer: string
  readonly #values: Values
  readonly #world: World

  constructor(settings: SignInSettings, values: Values, world: World) {
    this.#settings = settings
    this.#issuer = IdentityProvider.settings(settings.with).issuer
    this.#values = values
    this.#world = world
  }

  /** The account of a user; undefined for one who has not signed in, or has signed out. */
  async accountOf(identity: UserName): Promise<string | undefined> {
    if (identity.issuer !== this.#issuer) return undefined
    const kept = await this.#values.get(placeOf(identity))
    return kept === undefined || kept.text === '' ? undefined : kept.text
  }

  /**
   * A user has signed in; answers the account: that of before, unless it was signed out. Rejects with
   * CLUSTER_UNAVAILABLE where others change it again and again.
   */
  async keep(user: SignedInUser): Promise<string> {
    const ttl = usedClient
    const text = JSON.stringify(user)
    for (let tries = 0; tries < 10; tries += 1) {
      const place = await this.#values.get(placeOf(user))
      if (place === undefined || place.text === '') {
        // its record comes first: whoever finds an account without one takes it for signed out
        const account = this.#world.id()
        await put(this.#values, this.#world, keyOf(account), text, ttl)
        if (await this.#values.set(placeOf(user), account, { ttl, was: place })) return account
        await put(this.#values, this.#world, keyOf(account), undefined, 1)
        continue
      }
      const record = await this.#values.get(keyOf(place.text))
      if (record === undefined || record.text === '') await this.#leave(user, place.text)
      // never where there is none: it would bring back what was signed out
      else if (await this.#values.set(keyOf(place.text), text, { ttl, was: record })) {
        await prolong(this.#values, placeOf(user), ttl)
        return place.text
      }
    }
    throw new TransportError('CLUSTER_UNAVAILABLE', 'the user is signed out now', { retryable: true })
  }

  async userOf(account: string): Promise<SignedInUser | undefined> {
    const kept = await this.#values.get(keyOf(account))
    if (kept === undefined || kept.text === '') return undefined
    const user = JSON.parse(kept.text) as SignedInUser
    return user.issuer === this.#issuer ? user : undefined
  }

  /**
   * Ends all that a user has here, on all nodes: who signs in again is another account. `end` ends what belongs
   * to it, which is good no more.
   */
  async signOut(
    identity: UserName,
    end: (account: string) => Promise<void> = async () => {},
  ): Promise<string | undefined> {
    const account = await this.accountOf(identity)
    if (account === undefined) return undefined
    // in this order: if the engine fails in between, it can be said again
    await put(this.#values, this.#world, keyOf(account), undefined, 1)
    await end(account)
    await this.#leave(identity, account)
    return account
  }

  /** The user has this account no more; one who has signed in again meanwhile keeps the new one. */
  async #leave(identity: UserName, account: string): Promise<void> {
    const was = await this.#values.get(placeOf(identity))
    if (was?.text === account) await this.#values.set(placeOf(identity), undefined, { ttl: 1, was })
  }

  /** Rejects with AUTHORIZATION_UNAVAILABLE where `allow` does not answer. */
  async mayEnter(user: SignedInUser): Promise<boolean> {
    const { allow } = this.#settings
    return allow === undefined || (await this.#inTime('allow', () => allow(user))) === true
  }

  /** The scopes of those that a client asks for that a user may grant. */
  async grantable(user: SignedInUser, asked: string): Promise<readonly string[]> {
    const { scopes, scopesOf } = this.#settings
    const may =
      scopesOf === undefined ? Object.keys(scopes) : await this.#inTime('scopesOf', () => scopesOf(user))
    if (!Array.isArray(may)) throw optionError('scopesOf', 'scopesOf: expected an array of scopes')
    return asked.split(' ').filter((scope) => Object.hasOwn(scopes, scope) && may.includes(scope))
  }

  /** What a function of the author says, who may ask somebody else. */
  #inTime<Answer>(name: string, ask: () => Answer | Promise<Answer>): Promise<Answer> {
    const late = (): never => {
      const problem = `${name}: no answer within ${authorTime} ms`
      throw new TransportError('AUTHORIZATION_UNAVAILABLE', problem, {
        retryable: true,
      })
    }
    return waitWithin<Answer>({ clock: this.#world, ms: authorTime, late }, (resolve, reject) => {
      Promise.resolve(ask()).then(resolve, reject)
      return undefined
    })
  }
}

/** What a user is called, whatever their account; no client learns who it is. */
export function whoIs({ issuer, subject }: UserName): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url')
}

function placeOf(user: UserName): string {
  return `account ${whoIs(user)}`
}

function keyOf(account: string): string {
  return `user ${account}`
}
