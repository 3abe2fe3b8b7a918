import { taskMark } from 'caduceus/server'
import type {
  Claimed,
  ClaimRequest,
  HeldClaim,
  Listed,
  Members,
  News,
  NodeFacts,
  SavedRecord,
  StreamEntry,
  StreamLimits,
  StreamPlace,
} from '../../../server/engine/engine.js'

interface Lease {
  /** Since when it has held without a break. */
  readonly since: number
  readonly until: number
  /** Undefined until its first beat. */
  readonly facts: NodeFacts | undefined
}

interface Session {
  /** Whose it is; undefined: anybody's, and it counts for nobody. */
  readonly owner: string | undefined
  readonly client: string | undefined
  readonly epoch: number
  readonly record: Omit<SavedRecord, 'ttl' | 'list'> | undefined
  readonly until: number
  /** For how long it is kept at a time. */
  readonly ttl?: number
  /** A task that its node had when it left. */
  readonly isLeft?: boolean
}

interface Stream {
  readonly entries: readonly StreamEntry[]
  readonly isClosed: boolean
  readonly until: number
}

interface Text {
  readonly from: string
  readonly text: string
}

interface Contents {
  readonly leases: Map<string, Lease>
  readonly sessions: Map<string, Session>
  readonly inboxes: Map<string, readonly Text[]>
  readonly logs: Map<string, { readonly node: string; readonly until: number }>
  readonly streams: Map<string, Map<string, Stream>>
  /** Until when what is in a list is kept. */
  readonly lists: Map<string, ReadonlyMap<string, number>>
  readonly values: Map<string, { readonly text: string; readonly until: number }>
  news: { readonly texts: readonly string[]; readonly last: number }
  agreed: { readonly text: string; readonly until: number } | undefined
  epoch: number
}

/** How much news is kept. */
const keptNews = 1_000
/** ms that a node without a listener has at most. */
const deafLease = 1_000

/** What an engine keeps, and what each of its methods does with it, at once. Values never change: maps do. */
export class EngineState {
  readonly #now: () => number
  #contents: Contents = empty()
  run: string
  /** Hears of what expires although its node has shown for so many ms, without a break, that it lives. */
  onLapse: ((node: string, session: string, alive: number) => void) | undefined

  constructor(now: () => number, run: string) {
    this.#now = now
    this.run = run
  }

  /** What is here now, for a look and for `restore`. */
  snapshot(): Contents {
    const { leases, sessions, inboxes, logs, streams, lists, values, ...rest } = this.#contents
    return {
      ...rest,
      leases: new Map(leases),
      sessions: new Map(sessions),
      inboxes: new Map(inboxes),
      logs: new Map(logs),
      lists: new Map(lists),
      values: new Map(values),
      streams: new Map([...streams].map(([session, some]) => [session, new Map(some)])),
    }
  }

  /** What came after the snapshot is lost; without one, everything. */
  restore(snapshot: Contents = empty()): void {
    this.#contents = snapshot
  }

  get sessions(): ReadonlyMap<string, Session> {
    this.#expire()
    return this.#contents.sessions
  }

  /** The nodes whose lease holds. */
  get nodes(): readonly string[] {
    return [...this.#contents.leases.keys()].filter((node) => this.#holds(node))
  }

  /** What waits, in all inboxes. */
  get waiting(): number {
    return [...this.#contents.inboxes.values()].reduce((sum, texts) => sum + texts.length, 0)
  }

  /** `isHeard`: whether a node has a listener for bells. */
  beat(node: string, lease: number, facts: NodeFacts, isHeard: (node: string) => boolean): Members {
    const { leases, news } = this.#contents
    const now = this.#now()
    const since = this.#holds(node) ? (leases.get(node)?.since ?? now) : now
    leases.set(node, { since, until: now + lease, facts })
    for (const [name, held] of leases)
      if (!isHeard(name)) leases.set(name, { ...held, until: Math.min(held.until, now + deafLease) })
    const nodes = [...leases].flatMap(([name, { facts }]) =>
      facts !== undefined && this.#holds(name) ? [{ ...facts, name }] : [],
    )
    const granted = Number(leases.get(node)?.until) - now
    return { run: this.run, nodes, news: news.last, lease: granted, now }
  }

  leave(node: string): void {
    const { leases, sessions } = this.#contents
    leases.delete(node)
    for (const [id, session] of sessions) if (session.owner === node) this.#free(id, session, isTask(id))
  }

  claim({ node, lease, session, client, ttl, ...limits }: ClaimRequest): Claimed {
    const { sessions } = this
    const known = sessions.get(session)
    const owner = known?.owner
    if (owner !== undefined && owner !== node && (this.#holds(owner) || !limits.mayTakeOver))
      return { type: 'owned', node: owner }
    if (owner === undefined) {
      const counted = [...sessions].flatMap(([id, each]) =>
        each.owner === undefined || isTask(id) ? [] : [each],
      )
      if (counted.length >= limits.maxSessions) return { type: 'full', of: 'sessions' }
      const own = counted.filter((each) => each.client === client).length
      if (client !== undefined && own >= limits.maxPerClient) return { type: 'full', of: 'client' }
    }
    const contents = this.#contents
    if (!this.#holds(node)) {
      const now = this.#now()
      contents.leases.set(node, { since: now, until: now + lease, facts: contents.leases.get(node)?.facts })
    }
    contents.epoch = Math.max(contents.epoch, known?.epoch ?? 0) + 1
    const { epoch } = contents
    contents.sessions.set(session, {
      owner: node,
      client: owner === undefined ? client : known?.client,
      epoch,
      record: known?.record,
      until: this.#now() + ttl,
      ttl,
    })
    return { type: 'claimed', epoch }
  }

  reclaim({ node, session, client, ttl }: ClaimRequest, { epoch, mayRestore, saved }: HeldClaim): boolean {
    const known = this.sessions.get(session)
    const holds = known?.owner === node && known.epoch === epoch
    if (!mayRestore) return holds
    if (!holds && known !== undefined && known.epoch >= epoch) return false
    const contents = this.#contents
    contents.epoch = Math.max(contents.epoch, epoch)
    const isNewer = saved !== undefined && saved.version >= (known?.record?.version ?? 0)
    contents.sessions.set(session, {
      owner: node,
      client,
      epoch,
      record: isNewer ? { text: saved.text, version: saved.version } : known?.record,
      until: this.#now() + (saved?.ttl ?? ttl),
      ttl: saved?.ttl ?? ttl,
    })
    this.#enlist(session, saved)
    return true
  }

  release(node: string, id: string, epoch: number): void {
    const session = this.sessions.get(id)
    if (session?.owner === node && session.epoch <= epoch) this.#free(id, session)
  }

  load(id: string): string | undefined {
    return this.sessions.get(id)?.record?.text
  }

  ownerOf(id: string): string | undefined {
    return this.sessions.get(id)?.owner
  }

  orphans(max: number): readonly string[] {
    const tasks = [...this.sessions].filter(([id]) => isTask(id))
    const isOrphan = ({ owner, isLeft }: Session): boolean =>
      owner === undefined ? isLeft === true : !this.#holds(owner)
    return tasks.flatMap(([id, task]) => (isOrphan(task) ? [id] : [])).slice(0, max)
  }

  versions(ids: readonly string[]): readonly (number | undefined)[] {
    const { sessions } = this
    return ids.map((id) => sessions.get(id)?.record?.version)
  }

  listed(list: string, after: Listed | undefined, size: number): readonly Listed[] {
    const now = this.#now()
    const all = [...(this.#contents.lists.get(list) ?? [])].map(([session, place]) => ({ session, place }))
    const kept = all.filter(({ place }) => place > now).sort(byPlace)
    const rest = after === undefined ? kept : kept.filter((each) => byPlace(each, after) > 0)
    return rest.slice(0, size)
  }

  save(node: string, id: string, epoch: number, saved: SavedRecord): boolean {
    const { text, version, ttl } = saved
    const session = this.#owned(node, id, epoch)
    if (session === undefined) return false
    const isNewer = version >= (session.record?.version ?? 0)
    const record = isNewer ? { text, version } : session.record
    this.#contents.sessions.set(id, { ...session, record, until: this.#now() + ttl, ttl })
    this.#enlist(id, saved)
    return true
  }

  delete(node: string, id: string, epoch: number): boolean {
    if (this.#owned(node, id, epoch) === undefined) return false
    this.#contents.sessions.delete(id)
    this.#contents.streams.delete(id)
    return true
  }

  touch(ids: readonly string[], ttl: number): void {
    const { sessions } = this
    for (const id of ids) {
      const session = sessions.get(id)
      if (session !== undefined)
        this.#contents.sessions.set(id, { ...session, until: Math.max(session.until, this.#now() + ttl) })
    }
  }

  send(to: string, from: string, texts: readonly string[], max: number): 'taken' | 'full' | 'gone' {
    const { inboxes } = this.#contents
    if (!this.#holds(to)) return 'gone'
    const waiting = inboxes.get(to) ?? []
    if (waiting.length + texts.length > max) return 'full'
    inboxes.set(to, [...waiting, ...texts.map((text) => ({ from, text }))])
    return 'taken'
  }

  take(node: string, max: number): readonly string[] {
    const { inboxes } = this.#contents
    const waiting = inboxes.get(node) ?? []
    inboxes.set(node, waiting.slice(max))
    return waiting.slice(0, max).map(({ text }) => text)
  }

  takeBack(node: string, from: string): readonly string[] {
    const { inboxes } = this.#contents
    const waiting = inboxes.get(node) ?? []
    inboxes.set(
      node,
      waiting.filter((each) => each.from !== from),
    )
    return waiting.filter((each) => each.from === from).map(({ text }) => text)
  }

  publish(text: string): number {
    const { texts, last } = this.#contents.news
    this.#contents.news = { texts: [...texts, text].slice(-keptNews), last: last + 1 }
    return last + 1
  }

  news(after: number): News {
    const { texts, last } = this.#contents.news
    const missed = last - after
    const isGap = missed < 0 || missed > texts.length
    return { texts: missed <= 0 ? [] : texts.slice(-missed), last, isGap }
  }

  agree(proposal: string, ttl: number): string {
    const { agreed } = this.#contents
    const text = agreed !== undefined && agreed.until > this.#now() ? agreed.text : proposal
    this.#contents.agreed = { text, until: this.#now() + ttl }
    return text
  }

  value(key: string): string | undefined {
    const kept = this.#contents.values.get(key)
    return kept !== undefined && kept.until > this.#now() ? kept.text : undefined
  }

  setValue(key: string, was: string | undefined, text: string | undefined, ttl: number): boolean {
    if (this.value(key) !== was) return false
    if (text === undefined) this.#contents.values.delete(key)
    else this.#contents.values.set(key, { text, until: this.#now() + ttl })
    return true
  }

  placeLog(log: string, node: string, ttl: number): void {
    this.#contents.logs.set(log, { node, until: this.#now() + ttl })
  }

  placeOfLog(log: string): string | undefined {
    const place = this.#contents.logs.get(log)
    return place !== undefined && place.until > this.#now() ? place.node : undefined
  }

  append(place: StreamPlace, entries: readonly StreamEntry[], { maxEntries, ttl }: StreamLimits): boolean {
    const known = this.#stream(place)
    if (known?.isClosed) return false
    const kept = [...(known?.entries ?? []), ...entries].slice(-maxEntries)
    this.#keep(place, { entries: kept, isClosed: false, until: this.#now() + ttl })
    return true
  }

  closeStream(place: StreamPlace): readonly StreamEntry[] {
    const known = this.#stream(place) ?? { entries: [], until: this.#now() + closedFor }
    this.#keep(place, { ...known, isClosed: true })
    return known.entries
  }

  dropStream(place: StreamPlace): void {
    this.#contents.streams.get(place.session)?.delete(place.stream)
  }

  #holds(node: string): boolean {
    return (this.#contents.leases.get(node)?.until ?? 0) > this.#now()
  }

  #owned(node: string, id: string, epoch: number): Session | undefined {
    const session = this.sessions.get(id)
    return session?.owner === node && session.epoch === epoch ? session : undefined
  }

  #free(id: string, session: Session, isLeft = false): void {
    if (session.record === undefined) this.#contents.sessions.delete(id)
    else this.#contents.sessions.set(id, { ...session, owner: undefined, client: undefined, isLeft })
  }

  #enlist(id: string, saved: SavedRecord | undefined): void {
    if (saved?.list === undefined) return
    const { lists } = this.#contents
    const known = lists.get(saved.list) ?? new Map<string, number>()
    if (!known.has(id)) lists.set(saved.list, new Map(known).set(id, this.#now() + saved.ttl))
  }

  #stream({ session, stream }: StreamPlace): Stream | undefined {
    const known = this.#contents.streams.get(session)?.get(stream)
    return known !== undefined && known.until > this.#now() ? known : undefined
  }

  #keep({ session, stream }: StreamPlace, kept: Stream): void {
    const streams = this.#contents.streams.get(session) ?? new Map<string, Stream>()
    this.#contents.streams.set(session, streams.set(stream, kept))
  }

  #expire(): void {
    const now = this.#now()
    for (const [id, session] of this.#contents.sessions) {
      if (session.until > now) continue
      this.#contents.sessions.delete(id)
      this.#noteLapse(id, session)
    }
  }

  /** Who lives for as long as a claim is kept has had the time to keep it. */
  #noteLapse(id: string, { owner, until, ttl }: Session): void {
    if (owner === undefined || ttl === undefined || isTask(id) || !this.#holds(owner)) return
    const alive = until - (this.#contents.leases.get(owner)?.since ?? until)
    if (alive >= ttl) this.onLapse?.(owner, id, alive)
  }
}

/** ms that a stream stays closed of which nothing is kept. */
const closedFor = 60_000

function isTask(id: string): boolean {
  return id.startsWith(taskMark)
}

function byPlace(one: Listed, other: Listed): number {
  return one.place - other.place || (one.session < other.session ? -1 : Number(one.session > other.session))
}

function empty(): Contents {
  return {
    leases: new Map(),
    sessions: new Map(),
    inboxes: new Map(),
    logs: new Map(),
    lists: new Map(),
    agreed: undefined,
    values: new Map(),
    streams: new Map(),
    news: { texts: [], last: 0 },
    epoch: 0,
  }
}
