import type { Adapter, AdapterPayload } from 'oidc-provider'
import { isObject } from '../../protocol/wire/json.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { type Pauses, tryInTurn } from '../base/turns.js'
import type { KeptValue, Values } from '../contract/values.js'

const day = 24 * 3_600_000
/**
 * Milliseconds that a client is kept with which nobody has signed in, and another one after its last grant. Hosts
 * keep theirs for ever: whoever closes the first page may come back later on that day.
 */
export const unusedClient = 8 * 3_600_000
export const usedClient = 400 * day
/** What belongs to the grant of a user, and ends with it. */
const granted: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken'])
/** What is left of a refresh token that was used, for a while: later its id alone tells (`refresh-ids.ts`). */
const usedFields = [
  'kind',
  'jti',
  'iat',
  'exp',
  'clientId',
  'accountId',
  'grantId',
  'scope',
  'resource',
] as const

/**
 * Milliseconds in which a refresh token that was used is good again, and how often: a host with several calls
 * at once renews for each of them. RFC 9700, section 4.14.2, leaves room for that.
 */
const siblings = { within: 15_000, most: 16 }
/** Milliseconds that what is left of one is kept. */
const usedTime = 60_000
/** Milliseconds that the clock of whoever makes a proof may be ahead: it is good for as long more. */
const proofSkew = 300_000
/**
 * Access tokens of one grant, refresh tokens that were not used, and browsers of one account. The oldest makes
 * room, of refresh tokens first one beside which another was used.
 */
const mostRefreshTokens = 128
const mostOf: Readonly<Record<string, number>> = {
  AccessToken: 64,
  RefreshToken: mostRefreshTokens,
  Session: 100,
}

interface AdapterInput {
  readonly values: Values
  readonly world: World
  readonly usedAlready: () => Error
  readonly unavailable: () => Error
  /** The grant of a refresh token that was given here, and would be good still. */
  readonly grantOf: (token: string) => string | undefined
}

/** The ids of a list, oldest first: what may go first, and the others. */
interface SortedTokens {
  readonly spent: readonly string[]
  readonly good: readonly string[]
}

/** A refresh token that was used a moment ago, as it was. */
interface JustUsed {
  readonly payload: AdapterPayload
  readonly left: number
  /** In ms since 1970. */
  readonly until: number
}

/**
 * By the first token of each chain of renewals of a grant: how often it was renewed, and what was used last.
 */
type Renewed = Readonly<Record<string, readonly [rotations: number, id: string]>>

/** Refresh tokens that made room for others, and are known to have been good; no id begins with the mark. */
const mostLost = 128
const lostMark = '! '
/** Chains of one grant that are known: as many as may have a token that is good. */
const mostChains = mostRefreshTokens

/** The records of one kind, as `oidc-provider` keeps them: under their ids, in the engine of the server. */
export class ValueAdapter implements Adapter {
  readonly #kind: string
  readonly #values: Values
  readonly #world: World
  readonly #usedAlready: () => Error
  readonly #unavailable: () => Error
  readonly #grantOf: AdapterInput['grantOf']

  /**
   * `usedAlready` makes the error for a code or token that was used before, `unavailable` that for an engine
   * that is away.
   */
  constructor(kind: string, { values, world, usedAlready, unavailable, grantOf }: AdapterInput) {
    this.#kind = kind
    this.#values = values
    this.#world = world
    this.#usedAlready = usedAlready
    this.#unavailable = unavailable
    this.#grantOf = grantOf
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
    // the tokens of a chain of renewals have the id of the first: the library hands that on
    if (this.#kind === 'RefreshToken') payload.nonce ??= id
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
      if (was === undefined || was.text === '') throw this.#usedAlready()
      return this.#values.set(key, JSON.stringify(payload), { ttl: expiresIn * 1_000, was })
    })
    if (!isKept) throw this.#unavailable()
  }

  /** A proof, or an assertion, is good once: of nodes that get it at the same time, one takes it. */
  async #seen(id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> {
    const ttl = expiresIn * 1_000 + proofSkew
    // the id is a digest of its issuer, too, which may be a long address
    const text = JSON.stringify({ ...payload, iss: undefined })
    const isFirst = await this.#values.set(this.#keyOf(id), text, { ttl, was: undefined })
    if (!isFirst) throw this.#usedAlready()
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
      const room = (mostOf[this.#kind] ?? 0) - 1
      const isFull = others.length > room
      const { spent, good } = isFull ? await this.#sorted(owner, others) : { spent: [], good: others }
      const left = [...spent, ...good]
      const excess = Math.max(0, left.length - room)
      const [gone, stay] = [left.slice(0, excess), new Set(left.slice(excess))]
      const lost = [...readLost(was), ...gone.filter((one) => good.includes(one))].slice(-mostLost)
      const all = [...others.filter((one) => stay.has(one)), id]
      const text = this.#kind === 'RefreshToken' ? [...all, ...lost.map(asLost)] : all
      if (!(await this.#values.set(key, JSON.stringify(text), { ttl, was }))) return false
      for (const one of gone) await this.#forget(one)
      return true
    })
    // who ends the grant meanwhile has not seen it in the list
    const isOver = this.#kind !== 'Session' && (await this.#values.get(grantKey(owner))) === undefined
    if (isListed && !isOver) return
    if (isNew) await this.#forget(id)
    if (!isOver) throw this.#unavailable()
    await put(this.#values, this.#world, key, undefined, 1)
    if (this.#kind === 'RefreshToken') await put(this.#values, this.#world, renewedKey(owner), undefined, 1)
    throw this.#usedAlready()
  }

  async #forget(id: string): Promise<void> {
    const uid = this.#kind === 'Session' ? (await this.#find(id))?.payload.uid : undefined
    await put(this.#values, this.#world, this.#keyOf(id), undefined, 1)
    if (uid === undefined) return
    const was = await this.#values.get(uidKey(uid))
    // a session that has another id now has the same there
    if (was?.text === id) await this.#values.set(uidKey(uid), undefined, { ttl: 1, was })
  }

  /**
   * Those that are there. Refresh tokens that were used are none: their records end by themselves. `spent` are
   * those beside which another was used, which would end the grant.
   */
  async #sorted(owner: string, ids: readonly string[]): Promise<SortedTokens> {
    if (this.#kind === 'AccessToken') return { spent: [], good: ids }
    const found = await Promise.all(
      ids.map(async (id) => ({ id, text: (await this.#values.get(this.#keyOf(id)))?.text })),
    )
    const there = found.filter(({ text }) => text !== undefined)
    if (this.#kind !== 'RefreshToken') return { spent: [], good: there.map(({ id }) => id) }
    const renewed = readRenewed(await this.#values.get(renewedKey(owner)))
    const spent: string[] = []
    const good: string[] = []
    for (const { id, text = '' } of there) {
      const { consumed, nonce = id, rotations = 0 } = (text === '' ? {} : JSON.parse(text)) as AdapterPayload
      const [last = -1, lastId] = renewed[nonce] ?? []
      if (consumed === undefined) (last >= rotations && lastId !== id ? spent : good).push(id)
      // of one that an earlier version gave nothing else tells
      else if (this.#grantOf(id) === undefined) spent.push(id)
    }
    return { spent, good }
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return this.#asked(async () => {
      const payload = (await this.#find(id))?.payload
      if (payload === undefined) await this.#endForgotten(id)
      if (payload?.consumed === undefined) return payload
      const used = await this.#justUsed(id)
      // too many at once are refused, and end nothing
      return used === undefined ? payload : used.left > 0 ? used.payload : undefined
    })
  }

  /** A token of ours without a record was used, and forgotten: thief or owner, the grant ends. */
  async #endForgotten(id: string): Promise<void> {
    const grantId = this.#kind === 'RefreshToken' ? this.#grantOf(id) : undefined
    // what cannot be read is there: this node has not got all keys yet
    if (grantId === undefined || (await this.#values.get(this.#keyOf(id))) !== undefined) return
    const grant = await this.#values.get(grantKey(grantId))
    // one that made room for others was never used: it is good no more, and that is all
    if (readLost(await this.#values.get(listKey(this.#kind, grantId))).includes(id)) return
    if (grant !== undefined && grant.text !== '') await endGrant(this.#values, this.#world, grantId)
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

  /**
   * Of all that consume at once, on any node, one does: a code is good once, a refresh token for a moment.
   */
  consume(id: string): Promise<void> {
    return this.#asked(() => (this.#kind === 'RefreshToken' ? this.#renew(id) : this.#use(id)))
  }

  async #use(id: string): Promise<void> {
    const found = await this.#find(id)
    if (found === undefined || found.payload.consumed !== undefined) throw this.#usedAlready()
    const { payload, was } = found
    const [now, ttl] = this.#timesOf(payload)
    const text = JSON.stringify({ ...payload, consumed: now })
    if (!(await this.#values.set(this.#keyOf(id), text, { ttl, was }))) throw this.#usedAlready()
  }

  async #renew(id: string): Promise<void> {
    const found = await this.#find(id)
    if (found === undefined) throw this.#usedAlready()
    const { payload, was } = found
    if (payload.consumed !== undefined) return this.#renewAgain(id)
    const [now, ttl] = this.#timesOf(payload)
    await this.#goOn(id, payload)
    // first, as whoever finds it used looks there
    const { most: more, within } = siblings
    const kept: JustUsed = { payload, left: more, until: this.#world.date() + within }
    // false: another call does the same
    await this.#values.set(justUsedKey(id), JSON.stringify(kept), { ttl: within, was: undefined })
    const used = Object.fromEntries(usedFields.map((field) => [field, payload[field]]))
    const text = JSON.stringify({ ...used, consumed: now })
    // the id of one that an earlier version gave tells nothing
    const left = this.#grantOf(id) === undefined ? ttl : Math.min(ttl, usedTime)
    if (!(await this.#values.set(this.#keyOf(id), text, { ttl: left, was }))) await this.#renewAgain(id)
  }

  /**
   * Of the tokens that one was renewed to, the first that is used counts: another one was somebody else's,
   * and ends the grant.
   */
  async #goOn(id: string, { grantId = '', nonce, rotations = 0 }: AdapterPayload): Promise<void> {
    // one that an earlier version gave is of no chain that is known
    if (nonce === undefined) return
    const key = renewedKey(grantId)
    const isKept = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      const { [nonce]: last, ...others } = readRenewed(was)
      if (last?.[1] === id) return true
      if (last !== undefined && last[0] >= rotations) {
        await endGrant(this.#values, this.#world, grantId)
        throw this.#usedAlready()
      }
      const kept = Object.entries(others).slice(1 - mostChains)
      const next: Renewed = { ...Object.fromEntries(kept), [nonce]: [rotations, id] }
      // it ends with the grant
      return this.#values.set(key, JSON.stringify(next), { ttl: usedClient, was })
    })
    // others of the grant renew, too: it may be asked again
    if (!isKept) throw this.#unavailable()
  }

  /** By a call that renewed at the same time as another one of its host. */
  async #renewAgain(id: string): Promise<void> {
    for (let tries = 0; tries < siblings.most; tries += 1) {
      const was = await this.#values.get(justUsedKey(id))
      const found = readJustUsed(was)
      const ttl = (found?.until ?? 0) - this.#world.date()
      if (found === undefined || found.left === 0 || ttl <= 0) break
      const text = JSON.stringify({ ...found, left: found.left - 1 })
      if (await this.#values.set(justUsedKey(id), text, { ttl, was })) return
    }
    throw this.#usedAlready()
  }

  async #justUsed(id: string): Promise<JustUsed | undefined> {
    if (this.#kind !== 'RefreshToken') return undefined
    const found = readJustUsed(await this.#values.get(justUsedKey(id)))
    return found !== undefined && found.until > this.#world.date() ? found : undefined
  }

  /** Now, in s since 1970, and the ms that it is kept from now on. */
  #timesOf({ exp }: AdapterPayload): readonly [number, number] {
    const now = Math.floor(this.#world.date() / 1_000)
    return [now, Math.max(1, (exp ?? now) - now) * 1_000]
  }

  destroy(id: string): Promise<void> {
    return this.#asked(() => (this.#kind === 'Interaction' ? this.#endStep(id) : this.#forget(id)))
  }

  /** Each step leads to the next one: of all that go on from one at once one does. */
  async #endStep(id: string): Promise<void> {
    const key = this.#keyOf(id)
    const isEnded = await tryInTurn(this.#world, async () => {
      const was = await this.#values.get(key)
      if (was === undefined || was.text === '') throw this.#usedAlready()
      return this.#values.set(key, undefined, { ttl: 1, was })
    })
    if (!isEnded) throw this.#unavailable()
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#asked(() => endGrant(this.#values, this.#world, grantId))
  }

  /** A host that is told to try again later does not have its user sign in anew. */
  async #asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE') throw this.#unavailable()
      throw error
    }
  }

  async #find(
    id: string,
  ): Promise<{ readonly payload: AdapterPayload; readonly was: KeptValue } | undefined> {
    const was = await this.#values.get(this.#keyOf(id))
    if (was === undefined || was.text === '') return undefined
    const payload = JSON.parse(was.text) as AdapterPayload
    const { grantId } = payload
    if (granted.has(this.#kind) && grantId !== undefined) {
      const grant = await this.#values.get(grantKey(grantId))
      if (grant === undefined || grant.text === '') return undefined
    }
    return { payload, was }
  }

  #keyOf(id: string): string {
    return `${this.#kind} ${id}`
  }
}

function justUsedKey(id: string): string {
  return `just used ${id}`
}

function readJustUsed(kept: KeptValue | undefined): JustUsed | undefined {
  return kept === undefined || kept.text === '' ? undefined : (JSON.parse(kept.text) as JustUsed)
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
  if (was === undefined || was.text === '') return undefined
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
  for (const kind of ['RefreshToken', 'AccessToken']) {
    const ids = readIds(await values.get(listKey(kind, grantId)))
    await Promise.all(ids.map((id) => put(values, world, `${kind} ${id}`, undefined, 1)))
    await put(values, world, listKey(kind, grantId), undefined, 1)
  }
  await put(values, world, renewedKey(grantId), undefined, 1)
}

function readList(kept: KeptValue | undefined): readonly string[] {
  return kept === undefined || kept.text === '' ? [] : (JSON.parse(kept.text) as string[])
}

function readIds(kept: KeptValue | undefined): readonly string[] {
  return readList(kept).filter((one) => !one.startsWith(lostMark))
}

/** The refresh tokens that made room for others though they were good. */
function readLost(kept: KeptValue | undefined): readonly string[] {
  return readList(kept).flatMap((one) => (one.startsWith(lostMark) ? one.slice(lostMark.length) : []))
}

function asLost(id: string): string {
  return lostMark + id
}

function readRenewed(kept: KeptValue | undefined): Renewed {
  return kept === undefined || kept.text === '' ? {} : (JSON.parse(kept.text) as Renewed)
}

function renewedKey(grantId: string): string {
  return `renewed ${grantId}`
}

/** Where the ids of all of a kind are that a grant, or an account, has: no id leads there. */
function listKey(kind: string, owner: string): string {
  return kind === 'RefreshToken' ? `tokens of ${owner}` : `${kind}s of ${owner}`
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
