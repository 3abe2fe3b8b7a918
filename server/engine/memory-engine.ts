import {
  type Claimed,
  type ClaimRequest,
  type HeldClaim,
  type Listed,
  type Members,
  type News,
  type NodeFacts,
  type SavedRecord,
  type StreamEntry,
  type StreamLimits,
  type StreamPlace,
  taskMark,
} from './engine.js'
import { MemoryValues } from './values.js'

interface NodeLease {
  readonly until: number
  /** Undefined until its first beat. */
  readonly facts: NodeFacts | undefined
}

/** A session or a task. */
interface ClaimEntry {
  /** Whose it is; undefined: anybody's, and it counts for nobody. */
  owner: string | undefined
  client: string | undefined
  epoch: number
  record: Pick<SavedRecord, 'text' | 'version'> | undefined
  until: number
  /** A task that its node had when it left. */
  isLeft: boolean
}

interface StreamLog {
  entries: readonly StreamEntry[]
  isClosed: boolean
  until: number
}

interface Inbox {
  texts: { readonly from: string; readonly text: string }[]
  until: number
}

const keptNews = 1_000
/** Milliseconds that an inbox is kept after it was sent something last. */
const inboxTtl = 3_600_000
/** Milliseconds that a stream stays closed of which nothing is kept. */
const closedFor = 60_000
/** Milliseconds between two looks for what has expired. */
const sweepInterval = 1_000

/**
 * What the nodes of one program share, at once and in memory: each method does what `Engine` says of it. The
 * end of a node is known (`leave`).
 */
export class MemoryEngine {
  readonly #now: () => number
  readonly #run: string
  readonly #leases = new Map<string, NodeLease>()
  readonly #entries = new Map<string, ClaimEntry>()
  /** What each node owns, and how many sessions each client has. */
  readonly #owned = new Map<string, Set<string>>()
  readonly #clients = new Map<string, number>()
  readonly #tasks = new Set<string>()
  readonly #inboxes = new Map<string, Inbox>()
  readonly #logs = new Map<string, { readonly node: string; readonly until: number }>()
  readonly #streams = new Map<string, Map<string, StreamLog>>()
  /** By the name of a list: until when what is in it is kept. */
  readonly #lists = new Map<string, Map<string, number>>()
  readonly #values: MemoryValues
  #news: string[] = []
  #lastNews = 0
  #agreed: { readonly text: string; readonly until: number } | undefined
  #epoch = 0
  /** Sessions that somebody owns. */
  #sessions = 0
  #sweptAt = 0

  /** `now` in ms; `run` tells it from every other. */
  constructor(now: () => number, run: string) {
    this.#now = now
    this.#run = run
    this.#values = new MemoryValues(now)
  }

  /** Sessions that somebody owns. */
  get sessions(): number {
    return this.#sessions
  }

  beat(node: string, lease: number, facts: NodeFacts): Members {
    const now = this.#now()
    this.#leases.set(node, { until: now + lease, facts })
    if (now - this.#sweptAt >= sweepInterval) this.#sweep(now)
    const nodes = [...this.#leases].flatMap(([name, { facts, until }]) =>
      facts !== undefined && until > now ? [{ ...facts, name }] : [],
    )
    return { run: this.#run, nodes, news: this.#lastNews, lease, now }
  }

  leave(node: string): void {
    this.#leases.delete(node)
    for (const id of this.#owned.get(node) ?? []) {
      const entry = this.#entries.get(id) as ClaimEntry
      entry.isLeft = isTask(id)
      this.#free(id, entry)
    }
    this.#owned.delete(node)
  }

  claim({ node, lease, session, client, ttl, ...limits }: ClaimRequest): Claimed {
    const { maxSessions, maxPerClient, mayTakeOver } = limits
    const known = this.#entry(session)
    const owner = known?.owner
    if (owner !== undefined && owner !== node && (this.#holds(owner) || !mayTakeOver))
      return { type: 'owned', node: owner }
    if (owner === undefined) {
      const full = this.#full(client, maxSessions, maxPerClient)
      if (full !== undefined) return { type: 'full', of: full }
    }
    if (!this.#holds(node))
      this.#leases.set(node, { until: this.#now() + lease, facts: this.#leases.get(node)?.facts })
    const entry = this.#enter(session)
    this.#epoch += 1
    entry.epoch = this.#epoch
    entry.until = this.#now() + ttl
    entry.isLeft = false
    this.#give(session, entry, node, owner === undefined ? client : entry.client)
    return { type: 'claimed', epoch: entry.epoch }
  }

  reclaim({ node, session, client, ttl }: ClaimRequest, { epoch, mayRestore, saved }: HeldClaim): boolean {
    const known = this.#entry(session)
    const holds = known?.owner === node && known.epoch === epoch
    if (!mayRestore) return holds
    if (!holds && known !== undefined && known.epoch >= epoch) return false
    const entry = this.#enter(session)
    this.#epoch = Math.max(this.#epoch, epoch)
    entry.epoch = epoch
    entry.until = this.#now() + (saved?.ttl ?? ttl)
    this.#give(session, entry, node, client)
    if (saved !== undefined) this.#note(session, entry, saved)
    return true
  }

  release(node: string, session: string, epoch: number): void {
    const entry = this.#entry(session)
    if (entry?.owner !== node || entry.epoch > epoch) return
    entry.isLeft = false
    this.#free(session, entry)
  }

  ownerOf(session: string): string | undefined {
    return this.#entry(session)?.owner
  }

  load(session: string): string | undefined {
    return this.#entry(session)?.record?.text
  }

  save(node: string, session: string, epoch: number, saved: SavedRecord): boolean {
    const entry = this.#ownedEntry(node, session, epoch)
    if (entry === undefined) return false
    entry.until = this.#now() + saved.ttl
    this.#note(session, entry, saved)
    return true
  }

  delete(node: string, session: string, epoch: number): boolean {
    const entry = this.#ownedEntry(node, session, epoch)
    if (entry === undefined) return false
    this.#drop(session, entry)
    this.#streams.delete(session)
    return true
  }

  touch(sessions: readonly string[], ttl: number): void {
    for (const session of sessions) {
      const entry = this.#entry(session)
      if (entry !== undefined) entry.until = Math.max(entry.until, this.#now() + ttl)
    }
  }

  /** Restores an entry that was kept outside; `isLeft`: a task that nobody works on. */
  bring(session: string, saved: SavedRecord, isLeft: boolean): void {
    const entry = this.#enter(session)
    entry.until = this.#now() + saved.ttl
    entry.isLeft = isLeft
    this.#note(session, entry, saved)
  }

  orphans(max: number): readonly string[] {
    const found: string[] = []
    for (const id of this.#tasks) {
      if (found.length >= max) break
      const { owner, isLeft } = this.#entry(id) ?? {}
      if (owner === undefined ? isLeft === true : !this.#holds(owner)) found.push(id)
    }
    return found
  }

  versions(sessions: readonly string[]): readonly (number | undefined)[] {
    return sessions.map((session) => this.#entry(session)?.record?.version)
  }

  listed(list: string, after: Listed | undefined, size: number): readonly Listed[] {
    const now = this.#now()
    const all = [...(this.#lists.get(list) ?? [])].map(([session, place]) => ({
      session,
      place,
    }))
    const kept = all.filter(({ place }) => place > now).sort(byPlace)
    const rest = after === undefined ? kept : kept.filter((each) => byPlace(each, after) > 0)
    return rest.slice(0, size)
  }

  send(to: string, from: string, texts: readonly string[], max: number): 'taken' | 'full' | 'gone' {
    if (!this.#holds(to)) return 'gone'
    const inbox = this.#inboxes.get(to) ?? { texts: [], until: 0 }
    if (inbox.texts.length + texts.length > max) return 'full'
    for (const text of texts) inbox.texts.push({ from, text })
    inbox.until = this.#now() + inboxTtl
    this.#inboxes.set(to, inbox)
    return 'taken'
  }

  take(node: string, max: number): readonly string[] {
    const inbox = this.#inboxes.get(node)
    const taken = inbox?.texts.splice(0, max) ?? []
    if (inbox?.texts.length === 0) this.#inboxes.delete(node)
    return taken.map(({ text }) => text)
  }

  takeBack(node: string, from: string): readonly string[] {
    const inbox = this.#inboxes.get(node)
    if (inbox === undefined) return []
    const back = inbox.texts.filter((each) => each.from === from)
    inbox.texts = inbox.texts.filter((each) => each.from !== from)
    return back.map(({ text }) => text)
  }

  publish(text: string): number {
    this.#news.push(text)
    if (this.#news.length > keptNews) this.#news.shift()
    this.#lastNews += 1
    return this.#lastNews
  }

  news(after: number): News {
    const missed = this.#lastNews - after
    const isGap = missed < 0 || missed > this.#news.length
    return {
      texts: missed <= 0 ? [] : this.#news.slice(-missed),
      last: this.#lastNews,
      isGap,
    }
  }

  agree(proposal: string, ttl: number): string {
    const now = this.#now()
    const text = this.#agreed !== undefined && this.#agreed.until > now ? this.#agreed.text : proposal
    this.#agreed = { text, until: now + ttl }
    return text
  }

  value(key: string): string | undefined {
    return this.#values.value(key)
  }

  setValue(key: string, was: string | undefined, text: string | undefined, ttl: number): boolean {
    return this.#values.setValue(key, was, text, ttl)
  }

  placeLog(log: string, node: string, ttl: number): void {
    this.#logs.set(log, { node, until: this.#now() + ttl })
  }

  placeOfLog(log: string): string | undefined {
    const place = this.#logs.get(log)
    return place !== undefined && place.until > this.#now() ? place.node : undefined
  }

  append(place: StreamPlace, entries: readonly StreamEntry[], { maxEntries, ttl }: StreamLimits): boolean {
    const stream = this.#stream(place)
    if (stream?.isClosed) return false
    const kept = [...(stream?.entries ?? []), ...entries].slice(-maxEntries)
    this.#keep(place, {
      entries: kept,
      isClosed: false,
      until: this.#now() + ttl,
    })
    return true
  }

  closeStream(place: StreamPlace): readonly StreamEntry[] {
    const stream = this.#stream(place) ?? {
      entries: [],
      isClosed: true,
      until: this.#now() + closedFor,
    }
    this.#keep(place, { ...stream, isClosed: true })
    return stream.entries
  }

  dropStream({ session, stream }: StreamPlace): void {
    const streams = this.#streams.get(session)
    streams?.delete(stream)
    if (streams?.size === 0) this.#streams.delete(session)
  }

  #holds(node: string): boolean {
    return (this.#leases.get(node)?.until ?? 0) > this.#now()
  }

  /** Undefined for what is not there, or has expired. */
  #entry(id: string): ClaimEntry | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.until > this.#now()) return entry
    this.#drop(id, entry)
    return undefined
  }

  #enter(id: string): ClaimEntry {
    const known = this.#entry(id)
    if (known !== undefined) return known
    const entry = {
      owner: undefined,
      client: undefined,
      epoch: 0,
      record: undefined,
      until: 0,
      isLeft: false,
    }
    this.#entries.set(id, entry)
    if (isTask(id)) this.#tasks.add(id)
    return entry
  }

  #ownedEntry(node: string, id: string, epoch: number): ClaimEntry | undefined {
    const entry = this.#entry(id)
    return entry?.owner === node && entry.epoch === epoch ? entry : undefined
  }

  /** What has no room for one more session. What has expired makes room first. */
  #full(
    client: string | undefined,
    maxSessions: number,
    maxPerClient: number,
  ): 'sessions' | 'client' | undefined {
    const full = (): 'sessions' | 'client' | undefined => {
      if (this.#sessions >= maxSessions) return 'sessions'
      return client !== undefined && (this.#clients.get(client) ?? 0) >= maxPerClient ? 'client' : undefined
    }
    if (full() === undefined || maxSessions === 0) return full()
    this.#sweep(this.#now())
    return full()
  }

  #give(id: string, entry: ClaimEntry, node: string, client: string | undefined): void {
    this.#take(id, entry)
    entry.owner = node
    entry.client = client
    this.#owned.set(node, (this.#owned.get(node) ?? new Set()).add(id))
    if (isTask(id)) return
    this.#sessions += 1
    if (client !== undefined) this.#clients.set(client, (this.#clients.get(client) ?? 0) + 1)
  }

  /** It is nobody's. */
  #take(id: string, entry: ClaimEntry): void {
    const { owner, client } = entry
    if (owner === undefined) return
    const owned = this.#owned.get(owner)
    owned?.delete(id)
    if (owned?.size === 0) this.#owned.delete(owner)
    entry.owner = undefined
    entry.client = undefined
    if (isTask(id)) return
    this.#sessions -= 1
    if (client === undefined) return
    const left = (this.#clients.get(client) ?? 1) - 1
    if (left === 0) this.#clients.delete(client)
    else this.#clients.set(client, left)
  }

  /** It is anybody's, if something of it is kept. */
  #free(id: string, entry: ClaimEntry): void {
    if (entry.record === undefined) this.#drop(id, entry)
    else this.#take(id, entry)
  }

  #drop(id: string, entry: ClaimEntry): void {
    this.#take(id, entry)
    this.#entries.delete(id)
    this.#tasks.delete(id)
  }

  #note(id: string, entry: ClaimEntry, { text, version, ttl, list }: SavedRecord): void {
    if (version >= (entry.record?.version ?? 0)) entry.record = { text, version }
    if (list === undefined) return
    const listed = this.#lists.get(list) ?? new Map<string, number>()
    this.#lists.set(list, listed)
    if (!listed.has(id)) listed.set(id, this.#now() + ttl)
  }

  #stream({ session, stream }: StreamPlace): StreamLog | undefined {
    const known = this.#streams.get(session)?.get(stream)
    return known !== undefined && known.until > this.#now() ? known : undefined
  }

  #keep({ session, stream }: StreamPlace, kept: StreamLog): void {
    const streams = this.#streams.get(session) ?? new Map<string, StreamLog>()
    this.#streams.set(session, streams.set(stream, kept))
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [id, entry] of this.#entries) if (entry.until <= now) this.#drop(id, entry)
    for (const [log, { until }] of this.#logs) if (until <= now) this.#logs.delete(log)
    for (const [session, streams] of this.#streams)
      for (const [stream, { until }] of streams) if (until <= now) this.dropStream({ session, stream })
    for (const [list, listed] of this.#lists) {
      for (const [id, place] of listed) if (place <= now) listed.delete(id)
      if (listed.size === 0) this.#lists.delete(list)
    }
    for (const [node, { until }] of this.#leases) if (until <= now) this.#leases.delete(node)
    for (const [node, { until }] of this.#inboxes) if (until <= now) this.#inboxes.delete(node)
  }
}

function isTask(id: string): boolean {
  return id.startsWith(taskMark)
}

function byPlace(one: Listed, other: Listed): number {
  return one.place - other.place || (one.session < other.session ? -1 : Number(one.session > other.session))
}
