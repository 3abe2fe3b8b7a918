import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { tryInTurn } from '../base/turns.js'
import type { Values } from '../contract/values.js'
import {
  clientKey,
  documentKey,
  endGrant,
  isDocument,
  lastDocumentKey,
  prolong,
  put,
  takeOnce,
  unusedClient,
  usedClient,
} from './adapter.js'
import { digest } from './browser.js'

/** Milliseconds after which a user signs in again, however often a client renews its token: a year. */
export const longestGrant = 365 * 24 * 3_600_000
/** Milliseconds that the document of a client that users have let in is good while its host is away. */
const lastDocument = 7 * 24 * 3_600_000
/** Grants of one user, for all programs and browsers, and clients that are kept for one who was signed out. */
const mostGrants = 100
const mostLeft = 100

/** Who has let which client in. */
interface Consent {
  readonly grantId: string
  readonly accountId: string
  readonly clientId: string
}

/** One that is kept: its client may be one of many users. */
type KeptGrant = readonly [grantId: string, clientId: string]

/**
 * What users have granted: so much for each. A client to which nobody has a grant any more is one that was never
 * used, unless its users were signed out.
 */
export class Grants {
  readonly #values: Values
  readonly #world: World

  constructor(values: Values, world: World) {
    this.#values = values
    this.#world = world
  }

  /**
   * Notes a new one, by which the client is sent to that address alone. A user has so many at most: the oldest
   * ends. Rejects with CLUSTER_UNAVAILABLE where others of the user begin again and again.
   */
  async note(consent: Consent, redirectUri: string): Promise<void> {
    try {
      await this.#note(consent, redirectUri)
    } catch (error) {
      // what is in no list would never end
      await endGrant(this.#values, this.#world, consent.grantId).catch(() => {})
      await put(this.#values, this.#world, redirectKey(consent.grantId), undefined, 1).catch(() => {})
      throw error
    }
  }

  async #note({ grantId, accountId, clientId }: Consent, redirectUri: string): Promise<void> {
    await put(this.#values, this.#world, redirectKey(grantId), digest(redirectUri), longestGrant)
    await this.#count(clientId, 1)
    const key = listKey(accountId)
    let all: readonly KeptGrant[] = []
    const isListed = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      all = [...readList(was?.text), [grantId, clientId]]
      const text = JSON.stringify(all.slice(-mostGrants))
      return this.#values.set(key, text, { ttl: longestGrant, was })
    })
    if (!isListed) {
      await this.#end([grantId, clientId])
      throw unavailable('too many decisions at once')
    }
    for (const oldest of all.slice(0, -mostGrants)) await this.#end(oldest)
  }

  /** Whether the user has agreed to that address. */
  async isFor(grantId: string, redirectUri: string): Promise<boolean> {
    const kept = await this.#values.get(redirectKey(grantId))
    return kept?.text === digest(redirectUri)
  }

  /** Keeps the document of a client for as long as somebody has let it in: there are no more than grants. */
  async keepDocument(clientId: string, text: string): Promise<void> {
    await put(this.#values, this.#world, lastDocumentKey(clientId), text, lastDocument)
    // whoever ends the last grant meanwhile has found none
    if (!(await this.isIn(clientId))) await this.#forgetDocument(clientId)
  }

  async #forgetDocument(clientId: string): Promise<void> {
    if (isDocument(clientId)) await put(this.#values, this.#world, lastDocumentKey(clientId), undefined, 1)
  }

  /** Ends all of an account; `user`: whose it is, under any account. */
  async endAll(accountId: string, user: string): Promise<void> {
    const key = listKey(accountId)
    // first: what is in no list would be kept each time that the user is signed out
    await this.#leave(user, readList((await this.#values.get(key))?.text))
    // of all that do it at once one counts
    for (const one of readList(await takeOnce(this.#values, key))) await this.#end(one, true)
  }

  /** The hosts of a user who is signed out keep their clients: the last ones, however often it happens. */
  async #leave(user: string, ended: readonly KeptGrant[]): Promise<void> {
    if (ended.length === 0) return
    const key = leftKey(user)
    let all: readonly string[] = []
    const isNoted = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      const known = was === undefined || was.text === '' ? [] : (JSON.parse(was.text) as string[])
      const left = new Set(ended.map(([, clientId]) => clientId))
      all = [...known.filter((one) => !left.has(one)), ...left]
      return this.#values.set(key, JSON.stringify(all.slice(-mostLeft)), { ttl: usedClient, was })
    })
    if (!isNoted) throw unavailable('the user is signed out by too many at once')
    for (const oldest of all.slice(0, -mostLeft)) {
      if (!(await this.isIn(oldest))) await this.#keepClient(oldest, unusedClient)
      // who was let in meanwhile
      if (await this.isIn(oldest)) await this.#keepClient(oldest, usedClient)
    }
  }

  async #end([grantId, clientId]: KeptGrant, keepsClient = false): Promise<void> {
    await endGrant(this.#values, this.#world, grantId)
    await put(this.#values, this.#world, redirectKey(grantId), undefined, 1)
    await this.#count(clientId, -1, keepsClient)
  }

  /** A client that nobody lets in any more is one that was never used, unless it is to be kept. */
  async #count(clientId: string, more: 1 | -1, keepsClient = false): Promise<void> {
    const key = countKey(clientId)
    let count = 0
    const isCounted = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      count = Math.max(0, Number(was?.text ?? 0) + more)
      return this.#values.set(key, count === 0 ? undefined : String(count), { ttl: usedClient, was })
    })
    if (!isCounted) throw unavailable('the client is let in by too many at once')
    if (count === 0) await this.#forgetDocument(clientId)
    if (count === 0 && !keepsClient) await this.#keepClient(clientId, unusedClient)
    // of two at once, one of which ends the last: whoever is later sees the count
    if (await this.isIn(clientId)) await this.#keepClient(clientId, usedClient)
  }

  /** Whether somebody has let a client in. */
  async isIn(clientId: string): Promise<boolean> {
    const kept = await this.#values.get(countKey(clientId))
    return kept !== undefined && kept.text !== ''
  }

  async #keepClient(clientId: string, ttl: number): Promise<void> {
    if (isDocument(clientId)) await put(this.#values, this.#world, documentKey(clientId), '1', ttl)
    else await prolong(this.#values, clientKey(clientId), ttl)
  }
}

function unavailable(why: string): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', why, { retryable: true })
}

function readList(text = ''): readonly KeptGrant[] {
  return text === '' ? [] : (JSON.parse(text) as KeptGrant[])
}

function listKey(accountId: string): string {
  return `grants of ${accountId}`
}

function leftKey(user: string): string {
  return `clients of ${user}`
}

function countKey(clientId: string): string {
  return `grants to ${clientId}`
}

/** Where it is noted by which address a grant is good. */
function redirectKey(grantId: string): string {
  return `redirect ${grantId}`
}
