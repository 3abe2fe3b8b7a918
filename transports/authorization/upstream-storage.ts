import { AsyncLocalStorage } from 'node:async_hooks'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { keyOfPrincipal, loginOf, type Principal } from '../contract/principal.js'
import type { Values } from '../contract/values.js'
import { put, takeOnce, usedClient } from './adapter.js'

/** What a client of one user keeps of its logins; `AuthStorage` of clients is such a storage. */
export interface UpstreamStorage {
  read(key: string): Promise<JsonObject | undefined>
  write(key: string, value: JsonObject | undefined): Promise<void>
  exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** Whom tokens belong to. */
export type TokenHolder = Pick<Principal, 'issuer' | 'subject' | 'claims'>

/** Milliseconds that a lock holds without a sign of life of its holder. */
const lease = 10_000
/** Milliseconds between signs of life, and between attempts to take it. */
const beatEvery = 2_500
const lookEvery = 50

/**
 * Characters that one server may say of one user, and of a registration: what it says is kept beside the logins of
 * all.
 */
const mostOfUser = 64 * 1024
const mostOfClient = 16 * 1024
/** Issuers that one server has named, for each of which a client is kept. */
const mostIssuers = 8

interface HeldLock {
  readonly lock: string
  readonly mine: string
}

/**
 * Where all tokens of a user for servers behind this one are; whoever signs out and in again is another one.
 */
export function upstreamTokensKey(holder: TokenHolder): string {
  const { issuer, subject } = holder
  const login = loginOf(holder)
  return `upstream tokens ${keyOfPrincipal({ issuer, subject })}${login === undefined ? '' : ` ${login}`}`
}

/**
 * The tokens of one user for one server, sealed in the engine and shared by all nodes; clients that were
 * registered for the server are shared by all users. The lock of a node that died is anybody's after 10 s; a
 * node that was taken for dead writes nothing any more.
 */
export function upstreamStorage(
  values: Values,
  world: World,
  holder: TokenHolder | undefined,
  server: string,
): UpstreamStorage {
  const place = holder === undefined ? 'upstream tokens' : upstreamTokensKey(holder)
  const within = (key: string): string => JSON.stringify([server, key])
  const ownPrefix = `[${JSON.stringify(server)},`
  const held = new AsyncLocalStorage<HeldLock | undefined>()

  async function checkHeld(): Promise<void> {
    const mine = held.getStore()
    if (mine !== undefined && (await values.get(mine.lock))?.text !== mine.mine) throw takenOver()
  }

  return {
    async read(key) {
      if (isShared(key)) return objectIn((await values.get(sharedPlace(server, key)))?.text)
      const own = objectIn((await values.get(place))?.text)?.[within(key)]
      return isObject(own) ? own : undefined
    },

    async write(key, value) {
      await checkHeld()
      if (isShared(key)) return writeClient(values, world, server, key, value)
      for (let tries = 0; tries < 10; tries += 1) {
        const was = await values.get(place)
        const { [within(key)]: _, ...others } = objectIn(was?.text) ?? {}
        const all = value === undefined ? others : { ...others, [within(key)]: value }
        const isEmpty = Object.keys(all).length === 0
        const text = isEmpty ? undefined : JSON.stringify(all)
        const own = Object.entries(all).filter(([name]) => name.startsWith(ownPrefix))
        if (value !== undefined && JSON.stringify(own).length > mostOfUser) throw tooLong(server, mostOfUser)
        if (await values.set(place, text, { ttl: usedClient, was })) return undefined
        await checkHeld()
      }
      throw busy()
    },

    async exclusive(key, work, signal) {
      const mine: HeldLock = { lock: `upstream lock ${place} ${within(key)}`, mine: world.id() }
      await take(values, world, mine, signal)
      const stopBeating = beat(values, world, mine)
      try {
        return await held.run(mine, work)
      } finally {
        stopBeating()
        if ((await values.get(mine.lock).catch(() => undefined))?.text === mine.mine)
          await takeOnce(values, mine.lock).catch(() => {})
      }
    },
  }
}

/** Clients belong to an issuer and to the address that a server's users come back to, and to no user. */
function isShared(key: string): boolean {
  return key.startsWith('client ')
}

/** Of the issuers that a server names one after the other the last few have a client. */
async function writeClient(
  values: Values,
  world: World,
  server: string,
  key: string,
  value: JsonObject | undefined,
): Promise<void> {
  const text = value && JSON.stringify(value)
  if ((text?.length ?? 0) + key.length > mostOfClient) throw tooLong(server, mostOfClient)
  const place = clientsPlace(server)
  for (let tries = 0; tries < 10; tries += 1) {
    const was = await values.get(place)
    const known = was === undefined || was.text === '' ? [] : (JSON.parse(was.text) as string[])
    const all = [...known.filter((one) => one !== key), ...(text === undefined ? [] : [key])]
    const kept = JSON.stringify(all.slice(-mostIssuers))
    if (!(await values.set(place, kept, { ttl: usedClient, was }))) continue
    for (const old of all.slice(0, -mostIssuers))
      await put(values, world, sharedPlace(server, old), undefined, 1)
    return put(values, world, sharedPlace(server, key), text, usedClient)
  }
  throw busy()
}

/**
 * Forgets the clients that were registered for a server. Tokens that they got go on: each has its client with it.
 */
export async function forgetClients(values: Values, world: World, server: string): Promise<void> {
  const known = (await takeOnce(values, clientsPlace(server))) ?? ''
  const keys = known === '' ? [] : (JSON.parse(known) as string[])
  for (const key of keys) await put(values, world, sharedPlace(server, key), undefined, 1)
}

function clientsPlace(server: string): string {
  return `upstream clients of ${server}`
}

function tooLong(server: string, most: number): TransportError {
  const problem = `${server}: what its authorization server says is longer than ${most} characters`
  return new TransportError('MESSAGE_TOO_LONG', problem)
}

function sharedPlace(server: string, key: string): string {
  return `upstream ${JSON.stringify([server, key])}`
}

function objectIn(text: string | undefined): JsonObject | undefined {
  if (text === undefined || text === '') return undefined
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : undefined
}

async function take(
  values: Values,
  world: World,
  { lock, mine }: HeldLock,
  signal: AbortSignal,
): Promise<void> {
  while (true) {
    signal.throwIfAborted()
    const was = await values.get(lock)
    const isFree = was === undefined || was.text === ''
    if (isFree && (await values.set(lock, mine, { ttl: lease, was }))) return
    await waitWithin<void>({ clock: world, ms: lookEvery, late: () => {}, signal }, () => undefined)
  }
}

/** Shows that the holder lives, until the returned function is called. */
function beat(values: Values, world: World, { lock, mine }: HeldLock): () => void {
  const sign = async (): Promise<void> => {
    const was = await values.get(lock)
    if (was?.text === mine) await values.set(lock, mine, { ttl: lease, was })
  }
  const next = (): unknown =>
    world.setTimeout(() => {
      // what is written later tells whether it was in time
      sign().catch(() => {})
      due = next()
    }, beatEvery)
  let due = next()
  return () => world.clearTimeout(due)
}

function takenOver(): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', 'another node has taken over what was to be renewed', {
    retryable: true,
  })
}

function busy(): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', 'a login is being changed by others', { retryable: true })
}
