import type { Adapter, AdapterPayload } from 'oidc-provider'
import { isObject } from '../../protocol/wire/json.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { type Pauses, tryInTurn } from '../base/turns.js'
import type { KeptValue, Values } from '../contract/values.js'
import { makingRoom } from './token-ids.js'

const day = 24 * 3_600_000
/**
 * Milliseconds that a client is kept with which nobody has signed in, and another one after its last grant. Hosts
 * keep theirs for ever: whoever closes the first page may come back later on that day.
 */
export const unusedClient = 8 * 3_600_000
export const usedClient = 400 * day
/** What belongs to the grant of a user, and ends with it. */
const granted: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode'])
/** Milliseconds that the clock of whoever makes a proof may be ahead: it is good for as long more. */
const proofSkew = 300_000
/** Access tokens of one grant, and browsers of one account: the oldest makes room. */
const mostOf: Readonly<Record<string, number>> = { AccessToken: 128, Session: 100 }

/** The errors for what a client did, or has to do again. */
export interface KeptErrors {
  /** For a code or token that was used before. */
  readonly usedAlready: () => Error
  /** For an engine that is away. */
  readonly unavailable: () => Error
}

export interface AdapterInput extends KeptErrors {
  readonly values: Values
  readonly world: World
  /** Keeps what is done last of a request for tokens: what fails before it can be tried again as it was. */
  readonly atLast: (act: () => Promise<void>) => void
}

/** The records of one kind, as `oidc-provider` keeps them: under their ids, in the engine of the server. */
export class ValueAdapter implements Adapter {
  readonly #kind: string
  readonly #values: Values
  readonly #world: World
  readonly #errors: KeptErrors
  readonly #atLast: AdapterInput['atLast']

  constructor(kind: string, { values, world, atLast, ...errors }: AdapterInput) {
    this.#kind = kind
    this.#values = values
    this.#world = world
    this.#errors = errors
    this.#atLast = atLast
  }

  upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    return this.#asked(() => this.#upsert(id, payload, expiresIn))
  }

  async #upsert(id: string, given: AdapterPayload, expiresIn: number | undefined): Promise<void> {
    // of a browser that is nobody's there is nothing to keep
    if (this.#kind === 'Session' && given.accountId === undefined) return
    if (this.#kind === 'ReplayDetection') return this.#seen(id, given, expiresIn)
    if (this.#kind === 'Interaction' && given.result !== undefined) return this.#goesOn(id, given, expiresIn)
    const payload = this.#kind === 'Session' ? withGrants(given) : given
    const ttl = expiresIn === undefined ? unusedClient : expiresIn * 1_000
    await put(this.#values, this.#world, this.#keyOf(id), JSON.stringify(payload), ttl)
    const owner = this.#kind === 'Session' ? payload.accountId : payload.grantId
    if (this.#kind in mostOf && owner !== undefined) await this.#bound(owner, id, ttl)
    if (this.#kind === 'Session' && payload.uid !== undefined)
      await put(this.#values, this.#world, uidKey(payload.uid), id, ttl)
  }

  /** What a step has come to; one that has ended does not come back. */
  async #goesOn(id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> {
    const key = this.#keyOf(id)
    const isKept = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      if (isGone(was)) throw this.#errors.usedAlready()
      return this.#values.set(key, JSON.stringify(payload), { ttl: expiresIn * 1_000, was })
    })
    if (!isKept) throw this.#errors.unavailable()
  }

  /** A proof, or an assertion, is good once: of nodes that get it at the same time, one takes it. */
  async #seen(id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> {
    const ttl = expiresIn * 1_000 + proofSkew
    // the id is a digest of its issuer, too, which may be a long address
    const text = JSON.stringify({ ...payload, iss: undefined })
    const isFirst = await this.#values.set(this.#keyOf(id), text, { ttl, was: undefined })
    if (!isFirst) throw this.#errors.usedAlready()
  }

  /** Forgets one of many of a grant, or of an account. */
  async #bound(owner: string, id: string, ttl: number): Promise<void> {
    const key = listKey(this.#kind, owner)
    let isNew = true
    const isListed = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      const known = readIds(was)
      // a session is kept again
      const others = known.filter((one) => one !== id)
      isNew = others.length === known.length
      // of those that renew at once
      if (this.#kind === 'AccessToken' && known.at(-1) === id) return true
      const most = mostOf[this.#kind] ?? 0
      const there = others.length < most ? others : await this.#there(others)
      const gone =
        this.#kind === 'AccessToken'
          ? makingRoom(there, id, most)
          : there.slice(0, Math.max(0, there.length + 1 - most))
      const stay = there.filter((one) => !gone.includes(one))
      if (!(await this.#values.set(key, JSON.stringify([...stay, id]), { ttl, was }))) return false
      for (const one of gone) await this.#forget(one)
      return true
    })
    // who ends the grant meanwhile has not seen it in the list
    const isOver = this.#kind !== 'Session' && (await this.#values.get(grantKey(owner))) === undefined
    if (isListed && !isOver) return
    if (isNew) await this.#forget(id)
    if (!isOver) throw this.#errors.unavailable()
    await put(this.#values, this.#world, key, undefined, 1)
    throw this.#errors.usedAlready()
  }

  async #forget(id: string): Promise<void> {
    const uid = this.#kind === 'Session' ? (await this.#find(id))?.payload.uid : undefined
    await put(this.#values, this.#world, this.#keyOf(id), undefined, 1)
    if (uid === undefined) return
    const was = await this.#values.get(uidKey(uid))
    // a session that has another id now has the same there
    if (was?.text === id) await this.#values.set(uidKey(uid), undefined, { ttl: 1, was })
  }

  /** Browsers that were closed are none. */
  async #there(ids: readonly string[]): Promise<readonly string[]> {
    if (this.#kind !== 'Session') return ids
    const found = await Promise.all(
      ids.map(async (id) => ({ id, kept: await this.#values.get(this.#keyOf(id)) })),
    )
    return found.filter(({ kept }) => kept !== undefined).map(({ id }) => id)
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return this.#asked(async () => (await this.#find(id))?.payload)
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#asked(async () => {
      const id = (await this.#values.get(uidKey(uid)))?.text
      return id === undefined || id === '' ? undefined : (await this.#find(id))?.payload
    })
  }

  /** There are no devices that show codes. */
  async findByUserCode(): Promise<undefined> {
    return undefined
  }

  /** A code is used up at last: of two who come with it at once, on any node, the second ends the grant. */
  async consume(id: string): Promise<void> {
    this.#atLast(() => this.#asked(() => this.#useUp(id)))
  }

  async #useUp(id: string): Promise<void> {
    const key = this.#keyOf(id)
    const isUsed = await tryInTurn(this.#world, async () => {
      const found = await this.#find(id)
      if (found === undefined) throw this.#errors.usedAlready()
      const { payload, was } = found
      // whoever has come beside it may be a thief, and has tokens now
      if (payload.consumed !== undefined) return this.#usedTwice(payload)
      const now = Math.floor(this.#world.date() / 1_000)
      const ttl = Math.max(1, (payload.exp ?? now) - now) * 1_000
      return this.#values.set(key, JSON.stringify({ ...payload, consumed: now }), { ttl, was })
    })
    if (!isUsed) throw this.#errors.unavailable()
  }

  /** RFC 6749, section 4.1.2: what was given for it ends. */
  async #usedTwice({ grantId }: AdapterPayload): Promise<never> {
    if (grantId !== undefined) await endGrant(this.#values, this.#world, grantId)
    throw this.#errors.usedAlready()
  }

  destroy(id: string): Promise<void> {
    return this.#asked(() => (this.#kind === 'Interaction' ? this.#endStep(id) : this.#forget(id)))
  }

  /** Each step leads to the next one: of all that go on from one at once one does. */
  async #endStep(id: string): Promise<void> {
    const key = this.#keyOf(id)
    const isEnded = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      if (isGone(was)) throw this.#errors.usedAlready()
      return this.#values.set(key, undefined, { ttl: 1, was })
    })
    if (!isEnded) throw this.#errors.unavailable()
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#asked(() => endGrant(this.#values, this.#world, grantId))
  }

  #asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return whileThere(this.#errors, ask)
  }

  async #find(
    id: string,
  ): Promise<{ readonly payload: AdapterPayload; readonly was: KeptValue } | undefined> {
    const was = await this.#values.get(this.#keyOf(id))
    if (isGone(was)) return undefined
    const payload = JSON.parse(was.text) as AdapterPayload
    const { grantId } = payload
    if (granted.has(this.#kind) && grantId !== undefined) {
      const grant = await this.#values.get(grantKey(grantId))
      if (isGone(grant)) return undefined
    }
    return { payload, was }
  }

  #keyOf(id: string): string {
    return `${this.#kind} ${id}`
  }
}

/**
 * Characters of the clients that the login of one browser remembers to have let in, a hundred of usual ids; for
 * older ones its user is asked again.
 */
const mostOfClients = 16_384

/** The library makes an entry of each client that an authorization names: those with a grant are kept. */
function withGrants(payload: AdapterPayload): AdapterPayload {
  const { authorizations } = payload
  if (!isObject(authorizations)) return payload
  let room = mostOfClients
  const kept = Object.entries(authorizations)
    .filter(([, one]) => isObject(one) && one.grantId !== undefined)
    .toReversed()
    .filter((one) => {
      room -= JSON.stringify(one).length
      return room >= 0
    })
    .toReversed()
  return { ...payload, authorizations: Object.fromEntries(kept) as NonNullable<typeof authorizations> }
}

/** A host that is told to try again later does not have its user sign in anew. */
export async function whileThere<Answer>(
  { unavailable }: KeptErrors,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE') throw unavailable()
    throw error
  }
}

/** Sets a value whatever is there. Rejects with CLUSTER_UNAVAILABLE where others set it again and again. */
export async function put(
  values: Values,
  world: Pauses,
  key: string,
  text: string | undefined,
  ttl: number,
): Promise<void> {
  const isSet = async (): Promise<boolean> => values.set(key, text, { ttl, was: await values.get(key) })
  if (await tryInTurn(world, isSet)) return
  throw new TransportError('CLUSTER_UNAVAILABLE', 'a login is being changed by others', { retryable: true })
}

/** Takes a value away: of all that do it at once, one gets it. */
export async function takeOnce(values: Values, key: string): Promise<string | undefined> {
  const was = await values.get(key)
  if (isGone(was)) return undefined
  return (await values.set(key, undefined, { ttl: 1, was })) ? was.text : undefined
}

/** What all nodes keep to: the first that was proposed. */
export async function agreed(values: Values, key: string, propose: () => string): Promise<string> {
  const kept = await values.get(key)
  if (kept !== undefined && kept.text !== '') {
    await prolong(values, key, usedClient)
    return kept.text
  }
  const text = propose()
  if (await values.set(key, text, { ttl: usedClient, was: kept })) return text
  return agreed(values, key, propose)
}

/** Keeps a value that is there for longer. */
export async function prolong(values: Values, key: string, ttl: number): Promise<void> {
  const was = await values.get(key)
  // whoever changes it meanwhile prolongs it, too
  if (was !== undefined && was.text !== '') await values.set(key, was.text, { ttl, was })
}

/** Where a grant is: without it nothing that belongs to it is good. */
export function grantKey(grantId: string): string {
  return `Grant ${grantId}`
}

/** Ends a grant, and forgets its tokens: of many that end nothing is left. */
export async function endGrant(values: Values, world: Pauses, grantId: string): Promise<void> {
  await put(values, world, grantKey(grantId), undefined, 1)
  for (const [kind, key] of [
    ['RefreshToken', chainsKey(grantId)],
    ['AccessToken', listKey('AccessToken', grantId)],
  ] as const) {
    const ids = readIds(await values.get(key))
    await Promise.all(ids.map((id) => put(values, world, `${kind} ${id}`, undefined, 1)))
    await put(values, world, key, undefined, 1)
  }
}

/** Whether nothing is there that can be read. */
export function isGone(kept: KeptValue | undefined): kept is undefined {
  return kept === undefined || kept.text === ''
}

function readIds(kept: KeptValue | undefined): readonly string[] {
  return isGone(kept) ? [] : (JSON.parse(kept.text) as string[])
}

/** Where the chains of refresh tokens are that a grant has: no chain leads there. */
export function chainsKey(grantId: string): string {
  return `tokens of ${grantId}`
}

/** Where the ids of all of a kind are that a grant, or an account, has: no id leads there. */
function listKey(kind: string, owner: string): string {
  return `${kind}s of ${owner}`
}

function uidKey(uid: string): string {
  return `Session uid ${uid}`
}

/** Whether a client is its metadata document. */
export function isDocument(clientId: string): boolean {
  return /^https:/i.test(clientId)
}

/** Where a client is that has registered. */
export function clientKey(clientId: string): string {
  return `Client ${clientId}`
}

/** Where it is noted that a user has let such a client in. */
export function documentKey(clientId: string): string {
  return `document ${clientId}`
}

/** Where its document is, as it was read last. */
export function lastDocumentKey(clientId: string): string {
  return `last document ${clientId}`
}
