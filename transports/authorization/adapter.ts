import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import type { KeptValue, Values } from '../contract/values.js'

const day = 24 * 3_600_000
/** Milliseconds that a client is kept with which nobody has signed in, and another one after its last grant. */
export const unusedClient = 3_600_000
export const usedClient = 400 * day
/** What belongs to the grant of a user, and ends with it. */
const granted: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken'])
/** What is left of a refresh token that was used: whoever uses it again ends its grant. */
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

interface AdapterInput {
  readonly values: Values
  readonly world: Pick<World, 'date'>
  readonly usedAlready: () => Error
}

/** The records of one kind, as `oidc-provider` keeps them: under their ids, in the engine of the server. */
export class ValueAdapter implements Adapter {
  readonly #kind: string
  readonly #values: Values
  readonly #world: Pick<World, 'date'>
  readonly #usedAlready: () => Error

  /** `usedAlready` makes the error for a code or token that was used before. */
  constructor(kind: string, { values, world, usedAlready }: AdapterInput) {
    this.#kind = kind
    this.#values = values
    this.#world = world
    this.#usedAlready = usedAlready
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const ttl = expiresIn === undefined ? unusedClient : expiresIn * 1_000
    await put(this.#values, this.#keyOf(id), JSON.stringify(payload), ttl)
    if (this.#kind === 'Session' && payload.uid !== undefined)
      await put(this.#values, `Session uid ${payload.uid}`, id, ttl)
    // with the first grant of a user a client is there to stay
    if (this.#kind === 'Grant' && payload.clientId !== undefined) {
      await prolong(this.#values, `Client ${payload.clientId}`, usedClient)
      if (isDocument(payload.clientId))
        await put(this.#values, documentKey(payload.clientId), '1', usedClient)
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return (await this.#find(id))?.payload
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const id = (await this.#values.get(`Session uid ${uid}`))?.text
    return id === undefined || id === '' ? undefined : this.find(id)
  }

  /** There are no devices that show codes. */
  async findByUserCode(): Promise<undefined> {
    return undefined
  }

  /** Of all that consume at once, on any node, one does: a code or refresh token is good once. */
  async consume(id: string): Promise<void> {
    const found = await this.#find(id)
    if (found === undefined || found.payload.consumed !== undefined) throw this.#usedAlready()
    const { payload, was } = found
    const now = Math.floor(this.#world.date() / 1_000)
    const ttl = Math.max(1, (payload.exp ?? now) - now) * 1_000
    const used = Object.fromEntries(usedFields.map((field) => [field, payload[field]]))
    const text = JSON.stringify({
      ...(this.#kind === 'RefreshToken' ? used : payload),
      consumed: now,
    })
    if (!(await this.#values.set(this.#keyOf(id), text, { ttl, was }))) throw this.#usedAlready()
  }

  async destroy(id: string): Promise<void> {
    await put(this.#values, this.#keyOf(id), undefined, 1)
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await put(this.#values, grantKey(grantId), undefined, 1)
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

/** Sets a value whatever is there. Rejects with CLUSTER_UNAVAILABLE where others set it again and again. */
export async function put(values: Values, key: string, text: string | undefined, ttl: number): Promise<void> {
  for (let tries = 0; tries < 10; tries += 1)
    if (await values.set(key, text, { ttl, was: await values.get(key) })) return
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

/** Whether a client is its metadata document. */
export function isDocument(clientId: string): boolean {
  return clientId.startsWith('https://')
}

/** Where it is noted that a user has let such a client in. */
export function documentKey(clientId: string): string {
  return `document ${clientId}`
}
