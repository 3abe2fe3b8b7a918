import { createHash } from 'node:crypto'
import type { RedisConnection } from '../../transports/redis/connection.js'
import type { RedisScript } from '../../transports/redis/script.js'
import type {
  Claimed,
  ClaimRequest,
  Engine,
  HeldClaim,
  Listed,
  Members,
  News,
  NodeFacts,
  SavedRecord,
  StreamEntry,
  StreamLimits,
  StreamPlace,
} from '../engine/engine.js'
import * as scripts from './scripts.js'

type Value = string | number

/** ms that an inbox, and the mark of a closed stream, are kept. */
const hour = 3_600_000
/** ms that what all nodes share is kept; each beat begins it anew. */
const day = 24 * hour
/** How much news is kept. */
const keptNews = 1_000
/** Sessions that are looked after in one go: others wait meanwhile. */
const portion = 200
/** What stands for no limit: a number that Lua can count with. */
const endless = 1e11

/** Of what is kept, and of what nodes tell each other: programs of another one see nothing of it. */
const format = 1

/** What all keys begin with; what is in braces decides on which server of several they are. */
export function baseOf(prefix: string): string {
  return `{${prefix}}:${format}:`
}

/** What a node listens to. */
export function channelsOf(base: string, node: string): readonly string[] {
  return [`${base}bell`, `${base}bell:${node}`]
}

/** The engine of a node on a Redis or Valkey. */
export class RedisEngine implements Engine {
  readonly #connection: RedisConnection
  readonly #base: string
  readonly #randomText: () => string

  constructor(connection: RedisConnection, base: string, randomText: () => string) {
    this.#connection = connection
    this.#base = base
    this.#randomText = randomText
  }

  get isUp(): boolean {
    return this.#connection.isUp
  }

  get risk(): string | undefined {
    const { evicts } = this.#connection
    if (evicts === undefined) return undefined
    return `maxmemory-policy is ${evicts}: it deletes sessions and tasks when its memory is full; set noeviction`
  }

  onHealth(fn: (isUp: boolean) => void): () => void {
    return this.#connection.onHealth(fn)
  }

  onBell(fn: (bell: 'inbox' | 'news') => void): () => void {
    const news = `${this.#base}bell`
    return this.#connection.onMessage((channel) => fn(channel === news ? 'news' : 'inbox'))
  }

  async beat(node: string, lease: number, facts: NodeFacts): Promise<Members> {
    const args = [node, ms(lease), JSON.stringify(facts), day, this.#randomText()]
    const answer = await this.#run(scripts.beat, args)
    const [run, news, told, granted, now] = answer as [string, number, string[], number, number]
    const nodes = pairs(told).flatMap(([name, text]) => {
      const facts = factsOf(text)
      return facts === undefined ? [] : [{ ...facts, name }]
    })
    return { run, nodes, news, lease: granted, now }
  }

  async leave(node: string): Promise<void> {
    while ((await this.#run(scripts.leave, [node, portion])) === 1);
  }

  async claim({ node, lease, session, client, ttl, ...limits }: ClaimRequest): Promise<Claimed> {
    const { maxSessions, maxPerClient, mayTakeOver } = limits
    const bounds = [atMost(maxSessions), atMost(maxPerClient), mayTakeOver ? 1 : 0]
    const args = [node, session, shortOf(client), ms(ttl), ...bounds, day, ms(lease)]
    const [type, about] = (await this.#run(scripts.claim, args)) as [Claimed['type'], never]
    if (type === 'claimed') return { type, epoch: about }
    return type === 'owned' ? { type, node: about } : { type, of: about }
  }

  async reclaim(claim: ClaimRequest, { epoch, mayRestore, saved }: HeldClaim): Promise<boolean> {
    const { node, session, client, ttl } = claim
    const record = saved === undefined ? [] : [saved.version, saved.text, shortOf(saved.list)]
    const args = [
      node,
      session,
      shortOf(client),
      ms(saved?.ttl ?? ttl),
      epoch,
      mayRestore ? 1 : 0,
      day,
      ...record,
    ]
    return (await this.#run(scripts.reclaim, args)) === 1
  }

  async release(node: string, session: string, epoch: number): Promise<void> {
    await this.#run(scripts.release, [node, session, epoch])
  }

  async ownerOf(session: string): Promise<string | undefined> {
    return textOf(await this.#connection.command('HGET', `${this.#base}s:${session}`, 'o'))
  }

  async load(session: string): Promise<string | undefined> {
    return textOf(await this.#connection.command('GET', `${this.#base}r:${session}`))
  }

  async save(node: string, session: string, epoch: number, saved: SavedRecord): Promise<boolean> {
    const { text, version, ttl, list } = saved
    const args = [node, session, epoch, text, version, ms(ttl), shortOf(list)]
    return (await this.#run(scripts.save, args)) === 1
  }

  async delete(node: string, session: string, epoch: number): Promise<boolean> {
    return (await this.#run(scripts.forget, [node, session, epoch])) === 1
  }

  async touch(sessions: readonly string[], ttl: number): Promise<void> {
    for (let at = 0; at < sessions.length; at += portion)
      await this.#run(scripts.touch, [ms(ttl), ...sessions.slice(at, at + portion)])
  }

  async orphans(max: number): Promise<readonly string[]> {
    return (await this.#run(scripts.orphans, [atMost(max)])) as string[]
  }

  async versions(sessions: readonly string[]): Promise<readonly (number | undefined)[]> {
    const found: (number | undefined)[] = []
    for (let at = 0; at < sessions.length; at += portion) {
      const texts = (await this.#run(scripts.versions, sessions.slice(at, at + portion))) as string[]
      found.push(...texts.map((text) => (text === '' ? undefined : Number(text))))
    }
    return found
  }

  async listed(list: string, after: Listed | undefined, size: number): Promise<readonly Listed[]> {
    const args = [shortOf(list), after?.session ?? '', after?.place ?? 0, size]
    const found = pairs((await this.#run(scripts.listed, args)) as string[])
    return found.map(([session, place]) => ({ session, place: Number(place) }))
  }

  async send(to: string, from: string, texts: readonly string[], max: number) {
    const marked = texts.map((text) => mark(from) + text)
    return (await this.#run(scripts.send, [to, atMost(max), hour, ...marked])) as 'taken' | 'full' | 'gone'
  }

  async take(node: string, max: number): Promise<readonly string[]> {
    const taken = await this.#connection.command('LPOP', `${this.#base}i:${node}`, max)
    return unmarked((taken ?? []) as string[])
  }

  async takeBack(node: string, from: string): Promise<readonly string[]> {
    return unmarked((await this.#run(scripts.takeBack, [node, mark(from), hour])) as string[])
  }

  async publish(text: string): Promise<number> {
    return (await this.#run(scripts.publish, [text, keptNews, day])) as number
  }

  async news(after: number): Promise<News> {
    const [last, isGap, texts] = (await this.#run(scripts.news, [after])) as [number, number, string[]]
    return { texts, last, isGap: isGap === 1 }
  }

  async agree(proposal: string, ttl: number): Promise<string> {
    return (await this.#run(scripts.agree, [proposal, ms(ttl)])) as string
  }

  async value(key: string): Promise<string | undefined> {
    return textOf(await this.#connection.command('GET', `${this.#base}v:${key}`))
  }

  async setValue(key: string, was: string | undefined, text: string | undefined, ttl: number) {
    return (await this.#run(scripts.setValue, [key, was ?? '', text ?? '', ms(ttl)])) === 1
  }

  async placeLog(log: string, node: string, ttl: number): Promise<void> {
    await this.#connection.command('SET', `${this.#base}l:${log}`, node, 'PX', ms(ttl))
  }

  async placeOfLog(log: string): Promise<string | undefined> {
    return textOf(await this.#connection.command('GET', `${this.#base}l:${log}`))
  }

  async append({ session, stream }: StreamPlace, entries: readonly StreamEntry[], limits: StreamLimits) {
    const texts = entries.map(({ number, text }) => `${number} ${text}`)
    const args = [session, stream, atMost(limits.maxEntries), ms(limits.ttl), ...texts]
    return (await this.#run(scripts.append, args)) === 1
  }

  async closeStream({ session, stream }: StreamPlace): Promise<readonly StreamEntry[]> {
    const kept = (await this.#run(scripts.closeStream, [session, stream, hour])) as string[]
    return kept.map((entry) => {
      const end = entry.indexOf(' ')
      return { number: Number(entry.slice(0, end)), text: entry.slice(end + 1) }
    })
  }

  async dropStream({ session, stream }: StreamPlace): Promise<void> {
    await this.#run(scripts.dropStream, [session, stream])
  }

  #run(script: RedisScript, args: readonly Value[]): Promise<unknown> {
    return this.#connection.run(script, [this.#base], args)
  }
}

/** Whole ms that Redis takes. */
function ms(time: number): number {
  return Math.max(1, Math.min(endless, Math.ceil(time)))
}

function atMost(limit: number): number {
  return Math.min(endless, limit)
}

/** The client as a short hash, which does not show who it is; empty for none. */
function shortOf(client: string | undefined): string {
  return client === undefined ? '' : createHash('sha256').update(client).digest('base64url').slice(0, 22)
}

/** Who a text in an inbox is from stands before it. */
function mark(from: string): string {
  return `${from}\n`
}

function unmarked(texts: readonly string[]): readonly string[] {
  return texts.map((text) => text.slice(text.indexOf('\n') + 1))
}

/** Undefined: it was not written by a node. */
function factsOf(text: string): NodeFacts | undefined {
  try {
    const { isSettled = false, marks = [], ...rest } = JSON.parse(text) as NodeFacts
    const { isRetiring, sessions, incarnation } = rest
    const isWhole = typeof isRetiring === 'boolean' && typeof sessions === 'number'
    return isWhole && typeof incarnation === 'number' ? { ...rest, isSettled, marks } : undefined
  } catch {
    return undefined
  }
}

function textOf(reply: unknown): string | undefined {
  return typeof reply === 'string' ? reply : undefined
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])) as [string, string][]
}
