import { createHash } from 'node:crypto'
import { outside } from '../../runtime/faults/containment.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import type { TransportError } from '../../transports/base/errors.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { SharedStreams } from '../../transports/contract/shared-streams.js'
import type { Cluster, Inbox, News } from '../cluster/cluster.js'
import type { Envelope } from '../cluster/envelope.js'
import type { SessionStore } from '../stores/session-store.js'
import { Bulletin } from './bulletin.js'
import { Claims } from './claims.js'
import type { ClusterEngine, ClusterSettings, Engine, Members, NodeFacts } from './engine.js'
import { Lease } from './lease.js'
import type { Parcel } from './letter.js'
import { Post } from './post.js'
import { RecordKeeper } from './record-keeper.js'
import { Seal } from './seal.js'
import { isUnavailable, unavailable } from './unavailable.js'

export interface EngineClusterOptions {
  readonly world: World
  /** Milliseconds that a session lives without use. */
  readonly idleTimeout: number
  /** Of all nodes. */
  readonly maxSessions: number
  /** Of all nodes; undefined for the usual limit, which leaves out addresses of this machine. */
  readonly maxSessionsPerClient: number | undefined
  /** Default: a random name. */
  readonly node?: string
}

/** What one node sees of its cluster. */
export interface ClusterView {
  readonly node: string
  readonly engine: string
  readonly isUp: boolean
  /** Milliseconds left of the lease of this node; 0 when it is over. */
  readonly lease: number
  /** All nodes that were there at the last beat, this one among them. */
  readonly nodes: Members['nodes']
  /** Sessions that this node owns. */
  readonly sessions: number
  /** What waits here to leave for other nodes. */
  readonly waiting: number
  /** Letters that were refused, as no node of this cluster has written them. */
  readonly refused: number
  /** Why no sessions are served at the moment. */
  readonly problem: string | undefined
}

/** A part of this node, other than the port, that other nodes have something for. */
export interface Correspondence {
  receive(from: string, what: unknown): void
  /** Nothing comes from this node any more of what was under way. */
  gone(node: string): void
}

/** What the member is to do now. */
export type Ring = 'beat' | 'inbox' | 'news'

/** Letters that are taken at once. */
const takenAtOnce = 64
/** Milliseconds that what is still to be sent has when a node leaves. */
const farewell = 1_000
/** Sessions live no longer than this without use, where an option says so: in ms, 30 days. */
const longest = 30 * 24 * 3_600_000

/**
 * The nodes of a cluster, as one of them sees them, through an engine that all of them reach. It outlives the
 * two actors that work for it: the one that connects the engine, and the one that beats. While no engine is
 * connected, and until it is sure which sessions are its own, `problem` says so, and nothing is written.
 */
export class EngineCluster implements Cluster {
  readonly node: string
  readonly store: SessionStore
  readonly streams: SharedStreams | undefined = undefined
  readonly settings: ClusterSettings
  /** Milliseconds after which the record of a session expires that no node keeps. */
  readonly ttl: number
  readonly opener: ClusterEngine
  readonly #world: World
  readonly #lease: Lease
  readonly #claims: Claims
  readonly #post: Post
  readonly #bulletin: Bulletin
  #engine: Engine | undefined
  #inbox: Inbox | undefined
  #correspondence: Correspondence | undefined
  #ring: ((ring: Ring) => void) | undefined
  #nodes: Members['nodes'] = []
  #run: string | undefined
  /** When the engine was reached, again or for the first time; undefined while it is away. */
  #since: number | undefined
  /** Grows whenever the claims have become uncertain. */
  #doubts = 1
  /** The doubts that have been cleared. */
  #cleared = 0
  #mayRestore = false
  /** When the engine was found to have lost something. */
  #lostAt = Number.NEGATIVE_INFINITY
  /** Whether it was noticed that the lease is over; so it is before the first beat. */
  #hasLapsed = true
  #isRetiring = false
  #hasLeft = false
  #isBeating = false
  #beatsAgain = false
  #isTaking = false
  #ringsAgain = false

  constructor(engine: ClusterEngine, options: EngineClusterOptions) {
    const { world, idleTimeout, maxSessions, maxSessionsPerClient } = options
    const { settings } = engine
    this.opener = engine
    this.settings = settings
    this.node = options.node ?? world.id()
    this.ttl = Math.min(idleTimeout * 1.5, longest)
    this.#world = world
    this.#lease = new Lease(settings.lease, world)
    this.#claims = new Claims(this.node, { maxSessions, maxSessionsPerClient, ttl: this.ttl })
    const seal = new Seal(settings.keys)
    const connected = (): Engine | undefined => this.#engine
    this.#bulletin = new Bulletin({
      node: this.node,
      seal,
      engine: connected,
      hear: (news) => this.#tell((inbox) => inbox.hear(news)),
    })
    this.#post = new Post({
      node: this.node,
      world,
      seal,
      settings,
      engine: connected,
      mayTake: () => !this.#lapses(),
      take: (from, parcel) => this.#take(from, parcel),
      gone: (node) => {
        this.#tell((inbox) => inbox.gone(node))
        outside(() => this.#correspondence?.gone(node))
      },
      undelivered: (node, id) => this.#tell((inbox) => inbox.receive(node, { type: 'undelivered', id })),
      broken: () => this.#beginAnew(),
    })
    this.store = new RecordKeeper({
      node: this.node,
      ttl: this.ttl,
      claims: this.#claims,
      engine: () => this.#surely(),
      confirm: () => this.#confirm(),
      lost: (session) => {
        this.#claims.forget(session)
        this.#lose([session])
      },
    })
  }

  get problem(): TransportError | undefined {
    const { name } = this.opener
    if (this.#hasLeft) return unavailable(name, 'this node has left its cluster')
    if (this.#engine?.isUp !== true) return unavailable(name, `${name} cannot be reached`)
    if (this.#lease.isOver) return unavailable(name, `${name} was not reached in time`)
    if (this.#cleared < this.#doubts) return this.#unsure()
    return undefined
  }

  get view(): ClusterView {
    return Object.freeze({
      node: this.node,
      engine: this.opener.name,
      isUp: this.#engine?.isUp === true,
      lease: Math.max(0, this.#lease.left),
      nodes: this.#nodes,
      sessions: this.#claims.size,
      waiting: this.#post.waiting,
      refused: this.#post.refused,
      problem: this.problem?.message,
    })
  }

  /** The engine that is connected; throws CLUSTER_UNAVAILABLE while it is away. */
  get engine(): Engine {
    const { name } = this.opener
    if (this.#engine?.isUp !== true) throw unavailable(name, `${name} cannot be reached`)
    return this.#engine
  }

  async claim(session: string, peer: Peer | undefined): Promise<string> {
    const engine = this.#surely()
    const { successor } = this
    if (this.#isRetiring && successor !== undefined && this.#claims.get(session) === undefined)
      return this.#ownerElsewhere(engine, session, successor(session))
    const doubts = this.#doubts
    const mayTakeOver = this.#mayTakeOver
    const claimed = await this.#claims.claim(engine, session, { peer, mayTakeOver })
    // made before what has brought them about: it may be another's by now
    if (doubts !== this.#doubts) throw this.#unsure()
    if (claimed.type === 'claimed') return this.node
    return this.#reachable(claimed.node)
  }

  release(session: string): void {
    // also by a session whose server has ended
    outside(() => this.#claims.release(this.#engine, session))
  }

  send(to: string, envelope: Envelope): boolean {
    return this.#send(to, { for: 'port', what: envelope })
  }

  /** Sends to the same part of another node, as `send` does: plain data. */
  write(to: string, what: unknown): boolean {
    return this.#send(to, { for: 'streams', what })
  }

  publish(news: News): void {
    outside(() => this.#bulletin.publish(news))
  }

  retire(): void {
    this.#isRetiring = true
    this.#beatNow()
  }

  listen(inbox: Inbox): () => void {
    this.#inbox = inbox
    return () => {
      if (this.#inbox === inbox) this.#inbox = undefined
    }
  }

  /** Makes `part` the one that hears what was written with `write`, until the returned function is called. */
  correspond(part: Correspondence): () => void {
    this.#correspondence = part
    return () => {
      if (this.#correspondence === part) this.#correspondence = undefined
    }
  }

  /** Takes an engine that is connected, until the returned function is called. */
  connect(engine: Engine): () => void {
    this.#engine = engine
    const unhear = engine.onHealth((isUp) => {
      if (!isUp) return this.#noteAway()
      this.#ring?.('beat')
      this.#ring?.('inbox')
    })
    const silence = engine.onBell((bell) => this.#ring?.(bell))
    this.#ring?.('beat')
    return () => {
      unhear()
      silence()
      if (this.#engine !== engine) return
      this.#engine = undefined
      this.#noteAway()
    }
  }

  /** The node takes part, again if it had left; `ring` hears what is to be done now, until the returned undo. */
  join(ring: (ring: Ring) => void): () => void {
    this.#ring = ring
    if (this.#hasLeft) {
      this.#hasLeft = false
      this.#isRetiring = false
      this.#doubt()
      this.#beginAnew()
    }
    return () => {
      if (this.#ring === ring) this.#ring = undefined
    }
  }

  /** Renews the lease, and learns of the others. */
  async beat(): Promise<void> {
    const engine = this.#engine
    if (this.#hasLeft || this.#isBeating || engine?.isUp !== true) return
    this.#isBeating = true
    this.#beatsAgain = false
    try {
      this.#lapses()
      const sentAt = this.#world.now()
      const members = await engine.beat(this.node, this.settings.lease, this.#facts)
      if (this.#engine !== engine || !engine.isUp || this.#hasLeft) return
      this.#lapses()
      this.#lease.renew(sentAt)
      if (this.#lease.isOver) return
      this.#hasLapsed = false
      this.#learn(members, sentAt)
      if (this.#cleared < this.#doubts) await this.#clear(engine)
      await this.#bulletin.catchUp(members.news)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    } finally {
      this.#isBeating = false
      if (this.#beatsAgain) this.#ring?.('beat')
    }
  }

  /** Takes what waits in the inbox of this node. */
  async look(): Promise<void> {
    const engine = this.#engine
    this.#ringsAgain = true
    if (this.#isTaking || engine?.isUp !== true || this.#lapses()) return
    this.#isTaking = true
    try {
      while (this.#ringsAgain && !this.#hasLeft && engine === this.#engine && engine.isUp) {
        this.#ringsAgain = false
        const texts = await engine.take(this.node, takenAtOnce)
        if (texts.length > 0) this.#ringsAgain = true
        this.#post.receive(texts)
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      // nobody knows what was taken
      this.#beginAnew()
    } finally {
      this.#isTaking = false
    }
  }

  /** Reads the news that have come. */
  read(): Promise<void> {
    return this.#bulletin.read()
  }

  /** Keeps what is the node's in the engine. */
  async keep(): Promise<void> {
    const engine = this.#engine
    if (engine?.isUp !== true || this.problem !== undefined) return
    try {
      await this.#claims.touch(engine)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  /** Resolves when what was given to `send` until now has left. */
  drained(): Promise<void> {
    return this.#post.drained()
  }

  /** Leaves in order: the sessions of this node are anybody's at once, and it takes nothing any more. */
  async leave(): Promise<void> {
    const engine = this.#engine
    if (this.#hasLeft) return
    const limits = { clock: this.#world, ms: farewell, late: () => {} }
    await waitWithin<void>(limits, (resolve) => void this.drained().then(resolve))
    this.#hasLeft = true
    this.#post.close()
    this.#lease.end()
    this.#claims.forgetAll()
    try {
      if (engine?.isUp === true) await engine.leave(this.node)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  get #facts(): NodeFacts {
    const { incarnation } = this.#post
    return { isRetiring: this.#isRetiring, sessions: this.#claims.size, incarnation }
  }

  /** Everybody may come back together with this node, also the owner of a session. */
  get #mayTakeOver(): boolean {
    return this.#since !== undefined && this.#world.now() - this.#since >= this.settings.lease
  }

  /** The node that sessions of this one go to; all who ask for the same session are sent to the same node. */
  get successor(): ((session: string) => string) | undefined {
    const others = this.#nodes.filter(({ name, isRetiring }) => name !== this.node && !isRetiring)
    if (others.length === 0) return undefined
    return (session) => {
      const number = createHash('sha256').update(session).digest().readUInt32BE()
      return others[number % others.length]?.name as string
    }
  }

  /** The engine, if this node may do something for its sessions. Throws CLUSTER_UNAVAILABLE. */
  #surely(): Engine {
    this.#lapses()
    const { problem } = this
    if (problem !== undefined) throw problem
    return this.engine
  }

  async #ownerElsewhere(engine: Engine, session: string, successor: string): Promise<string> {
    const claimed = await this.#claims.ask(engine, session, this.#mayTakeOver)
    if (claimed.type === 'owned') return this.#reachable(claimed.node)
    if (claimed.type === 'claimed') await engine.release(this.node, session, claimed.epoch)
    return successor
  }

  /** An owner that is not there may come back: until then nobody serves its sessions. */
  #reachable(owner: string): string {
    if (this.#mayTakeOver || this.#nodes.some(({ name }) => name === owner)) return owner
    throw unavailable(this.opener.name, 'the node that the session runs on cannot be reached')
  }

  #send(to: string, parcel: Parcel): boolean {
    if (this.#hasLeft || this.#lapses()) return false
    return this.#post.send(to, parcel)
  }

  #noteAway(): void {
    this.#lease.shorten()
    this.#since = undefined
    this.#doubt()
  }

  /** Which sessions are this node's is uncertain: none are served until the engine has said so. */
  #doubt(): void {
    this.#doubts += 1
  }

  #unsure(): TransportError {
    return unavailable(this.opener.name, 'the node finds out which sessions are its own')
  }

  /** Whether the lease is over. The first one who notices ends all that was under way with other nodes. */
  #lapses(): boolean {
    if (!this.#lease.isOver) return false
    if (this.#hasLapsed) return true
    this.#hasLapsed = true
    this.#since = undefined
    this.#doubt()
    this.#beginAnew()
    return true
  }

  #beginAnew(): void {
    this.#post.beginAnew()
    // the others learn of it there
    this.#beatNow()
  }

  #beatNow(): void {
    this.#beatsAgain = true
    if (!this.#isBeating) this.#ring?.('beat')
  }

  #learn({ run, nodes, news }: Members, sentAt: number): void {
    if (this.#run !== undefined && run !== this.#run) {
      this.#mayRestore = true
      this.#lostAt = this.#world.now()
      this.#since = undefined
      this.#doubt()
      this.#beginAnew()
      this.#bulletin.restart(news)
    }
    this.#run = run
    this.#since ??= sentAt
    this.#nodes = nodes
    this.#post.judge(nodes, sentAt)
  }

  async #clear(engine: Engine): Promise<void> {
    const doubts = this.#doubts
    this.#claims.releaseRest(engine)
    this.#lose(await this.#claims.reclaim(engine, this.#mayRestore))
    if (doubts !== this.#doubts) return
    this.#cleared = doubts
    this.#mayRestore = false
    void this.look()
  }

  /** Rejects if the engine may have lost a session that its owner still has, and is about to bring back. */
  async #confirm(): Promise<void> {
    const run = this.#run
    const members = await this.engine.beat(this.node, this.settings.lease, this.#facts)
    if (members.run !== run) this.#beatNow()
    if (members.run === run && this.#world.now() - this.#lostAt >= this.settings.lease) return
    throw unavailable(this.opener.name, 'the owner of the session may bring it back')
  }

  #lose(sessions: readonly string[]): void {
    if (sessions.length > 0) this.#tell((inbox) => inbox.lost(sessions))
  }

  #take(from: string, parcel: Parcel): void {
    if (parcel.for === 'streams') return outside(() => this.#correspondence?.receive(from, parcel.what))
    if (this.#inbox !== undefined) return this.#tell((inbox) => inbox.receive(from, parcel.what))
    if (parcel.what.type !== 'ask') return
    const message = 'the server is starting again'
    const problem = { type: 'error', floor: 'transport', code: 'SEND_FAILED', message } as const
    const failed = { ...problem, retryable: true, data: undefined }
    this.send(from, { type: 'failed', id: parcel.what.id, problem: failed })
  }

  /** What is served for others goes on when the actor that has heard of it ends. */
  #tell(fn: (inbox: Inbox) => void): void {
    const inbox = this.#inbox
    if (inbox !== undefined) outside(() => fn(inbox))
  }
}
