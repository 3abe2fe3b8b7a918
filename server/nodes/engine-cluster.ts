import { createHash } from 'node:crypto'
import { outside } from '../../runtime/faults/containment.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import type { Elsewhere } from '../../runtime/watch/elsewhere.js'
import type { TransportError } from '../../transports/base/errors.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Values } from '../../transports/contract/values.js'
import type { Cluster, ClusterListener, ClusterNews } from '../cluster/cluster.js'
import type { PortMessage } from '../cluster/message.js'
import type { SessionStore } from '../engine/session-store.js'
import type { Secrets } from '../base/sealing.js'
import { SealedValues } from '../engine/values.js'
import { NewsFeed } from './news-feed.js'
import { Claims } from './claims.js'
import type { Claimed, ClusterEngine, ClusterSettings, Engine, Members } from '../engine/engine.js'
import type { NodeMessage } from './message-batch.js'
import { Membership } from './membership.js'
import { NodeStreams } from './node-streams.js'
import { NodeTasks } from './node-tasks.js'
import { NodeView } from './node-view.js'
import { Messenger } from './messenger.js'
import { RecordKeeper, type Unsaved } from './record-keeper.js'
import { Seal, type SealedKind } from './seal.js'
import { isUnavailable, unavailable } from './unavailable.js'

export interface EngineClusterOptions {
  readonly world: World
  /** The name of its definition. */
  readonly server: string
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
interface ClusterView {
  readonly node: string
  readonly engine: string
  readonly isUp: boolean
  /** Milliseconds left of the lease of this node; 0 when it is over. */
  readonly lease: number
  /** All nodes that were there at the last beat, this one among them. */
  readonly nodes: Members['nodes']
  /** Names of other nodes that this one cannot talk to, as they have other keys, or another edition. */
  readonly strangers: readonly string[]
  /** Sessions that this node owns. */
  readonly sessions: number
  /** What waits here to leave for other nodes. */
  readonly waiting: number
  /**
   * How many texts of each kind were refused, as no node of this cluster has written them, or they are
   * damaged.
   */
  readonly refused: ReadonlyMap<SealedKind, number>
  /** What the engine has not saved, though it is there. */
  readonly unsaved: Unsaved
  /** Why the engine may lose what nodes keep. */
  readonly risk: string | undefined
  /** Why no sessions are served at the moment. */
  readonly problem: string | undefined
}

/** A job of the member, to be done at once. */
export type MemberJob = 'beat' | 'inbox' | 'news' | 'keep'

/** Of the keys that are given: as many as what is sealed may be opened with. */
const maxSecrets = 16
/** Milliseconds that the nodes keep to a secret of theirs after the last has gone. */
const secretTtl = 2 * 24 * 3_600_000
/** Batches that are taken at once. */
const takenAtOnce = 64
/** Milliseconds to send what still waits when a node leaves. */
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
  readonly server: string
  readonly sessions: SessionStore
  readonly streams: NodeStreams
  readonly values: Values
  readonly tasks: NodeTasks
  readonly settings: ClusterSettings
  /** Milliseconds after which the record of a session expires that no node keeps. */
  readonly ttl: number
  readonly opener: ClusterEngine
  readonly #world: World
  readonly #claims: Claims
  readonly #membership: Membership
  readonly #messenger: Messenger
  readonly #news: NewsFeed
  readonly #view: NodeView
  readonly #seal: Seal
  readonly #records: RecordKeeper
  #engine: Engine | undefined
  #secret: string
  /** Whether the engine has taken this node, and the secret is that of all nodes. */
  #hasAgreed = false
  #listener: ClusterListener | undefined
  #ring: ((ring: MemberJob) => void) | undefined
  #isRetiring = false
  #hasLeft = false
  #isTaking = false
  #ringsAgain = false
  /** Who waits for the next look into the inbox. */
  readonly #lookers: (() => void)[] = []

  constructor(engine: ClusterEngine, options: EngineClusterOptions) {
    const { world, idleTimeout, maxSessions, maxSessionsPerClient } = options
    const { settings } = engine
    this.opener = engine
    this.settings = settings
    this.node = options.node ?? world.id()
    this.server = options.server
    this.ttl = Math.min(idleTimeout * 1.5, longest)
    this.#world = world
    this.#secret = Buffer.from(world.randomBytes(32)).toString('base64url')
    this.#claims = new Claims(this.node, {
      lease: settings.lease,
      maxSessions,
      maxSessionsPerClient,
      ttl: this.ttl,
    })
    const seal = new Seal(settings.keys)
    this.#seal = seal
    const connected = (): Engine | undefined => this.#engine
    this.#membership = new Membership({
      node: this.node,
      world,
      settings,
      engine: connected,
      facts: () => ({
        isRetiring: this.#isRetiring,
        ...this.#membership.standing,
        sessions: this.#claims.size,
        incarnation: this.#messenger.incarnation,
        marks: seal.marks,
      }),
      suits: ({ marks }) => seal.suits(marks),
      lapsed: () => this.#beginAnew(),
      restarted: (members) => {
        this.#beginAnew()
        this.#news.restart(members.news)
        outside(() => this.streams.restore())
        this.#ring?.('keep')
      },
      heard: (members, sentAt) => {
        this.#messenger.judge(members.nodes, sentAt)
        this.#claims.releaseRest(this.#engine)
        this.tasks.releaseRest(this.#engine)
        void this.#news.catchUp(members.news)
      },
      reclaim: (held, mayRestore) => this.#reclaim(held, mayRestore),
      hurry: () => this.#ring?.('beat'),
    })
    this.#news = new NewsFeed({
      node: this.node,
      seal,
      engine: connected,
      hear: (news) => this.#tell((listener) => listener.hear(news)),
    })
    this.#messenger = new Messenger({
      node: this.node,
      world,
      seal,
      settings,
      engine: connected,
      mayTake: () => !this.#membership.lapses(),
      take: (from, message) => this.#take(from, message),
      gone: (node) => {
        this.#tell((listener) => listener.gone(node))
        outside(() => this.streams.gone(node))
        outside(() => this.tasks.gone(node))
        this.#view.gone(node)
      },
      undelivered: (node, id) =>
        this.#tell((listener) => listener.receive(node, { type: 'undelivered', id })),
      late: (node, id) =>
        this.#tell((listener) => listener.receive(node, failedAsk(id, 'the node takes nothing now'))),
      looked: () => this.#looked(),
      // a beat would bring back a node that has left
      isSame: async (asked) => this.#hasLeft || this.#membership.isSame(asked),
      broken: () => this.#beginAnew(),
    })
    this.values = new SealedValues(
      () => this.engine,
      () => this.secrets,
      world,
    )
    this.streams = new NodeStreams({
      node: this.node,
      world,
      seal,
      timeout: settings.lease * 2,
      engine: connected,
      send: (node, what) => this.#send(node, { for: 'streams', what }),
      isThere: async (node) => !this.#hasLeft && this.#membership.isThere(this.engine, node),
      mayTakeOver: () => this.#membership.mayTakeOver,
    })
    this.tasks = new NodeTasks({
      node: this.node,
      lease: settings.lease,
      world,
      seal,
      engine: () => this.#surely(),
      confirm: () => this.#confirm(),
      mayTakeOver: () => this.#membership.mayTakeOver,
      isRetiring: () => this.#isRetiring,
      hasLeft: () => this.#hasLeft,
      send: (node, what) => this.#send(node, { for: 'tasks', what }),
    })
    this.#view = new NodeView({
      node: this.node,
      world,
      send: (node, what) => this.#send(node, { for: 'view', what }),
    })
    this.#records = new RecordKeeper({
      node: this.node,
      ttl: this.ttl,
      claims: this.#claims,
      seal,
      opener: engine,
      engine: () => this.#surely(),
      confirm: () => this.#confirm(),
      lost: (session) => {
        this.#claims.forget(session)
        this.#lose([session])
      },
    })
    this.sessions = this.#records
  }

  get secrets(): Secrets {
    return this.settings.secrets ?? this.settings.keys?.slice(0, maxSecrets) ?? [this.#secret]
  }

  get problem(): TransportError | undefined {
    const { name } = this.opener
    if (this.#hasLeft) return unavailable(name, 'this node has left its cluster')
    if (this.#engine?.isUp !== true) return unavailable(name, `${name} cannot be reached`)
    const { problem, reason } = this.#membership
    if (problem !== undefined) return unavailable(name, `${name} ${problem}`, reason)
    return undefined
  }

  get view(): ClusterView {
    return Object.freeze({
      node: this.node,
      engine: this.opener.name,
      isUp: this.#engine?.isUp === true,
      lease: Math.max(0, this.#membership.lease),
      nodes: this.#membership.nodes,
      strangers: this.#membership.strangers,
      sessions: this.#claims.size,
      waiting: this.#messenger.waiting,
      refused: this.#seal.refused,
      unsaved: this.#records.unsaved,
      risk: this.#engine?.risk,
      problem: this.problem?.message,
    })
  }

  /** The other nodes that were there at the last beat, to be looked at. */
  get others(): readonly Elsewhere[] {
    // processes of one program are looked at as such
    if (this.settings.isPrivate === true) return []
    return this.#view.others(this.#membership.nodes)
  }

  /** The engine that is connected; throws CLUSTER_UNAVAILABLE while it is away. */
  get engine(): Engine {
    const { name } = this.opener
    if (this.#engine?.isUp !== true) throw unavailable(name, `${name} cannot be reached`)
    return this.#engine
  }

  async claim(session: string, peer: Peer | undefined): Promise<string> {
    const engine = this.#surely()
    const { doubts, mayTakeOver } = this.#membership
    const successor = this.#isRetiring ? this.#successor(session) : undefined
    if (successor !== undefined && this.#claims.get(session) === undefined)
      return this.#ownerElsewhere(engine, session, successor)
    const claim = (): Promise<Exclude<Claimed, { readonly type: 'full' }>> =>
      this.#claims.claim(engine, session, { peer, mayTakeOver })
    const claimed = await this.#settled(await claim(), claim)
    // it may be another's by now: the program may have been stopped for a while before it read the answer
    this.#membership.lapses()
    if (doubts !== this.#membership.doubts)
      throw unavailable(this.opener.name, 'the session may be for another node by now: try again')
    return claimed.type === 'claimed' ? this.node : this.#reachable(claimed.node)
  }

  release(session: string): void {
    // also by a session whose server has ended
    outside(() => this.#claims.release(this.#engine, session))
  }

  send(to: string, message: PortMessage): boolean {
    return this.#send(to, { for: 'port', what: message })
  }

  publish(news: ClusterNews): void {
    outside(() => this.#news.publish(news))
  }

  retire(): void {
    this.#isRetiring = true
    this.#membership.hurry()
  }

  listen(listener: ClusterListener): () => void {
    this.#listener = listener
    this.#ring?.('inbox')
    return () => {
      if (this.#listener === listener) this.#listener = undefined
    }
  }

  /** Takes an engine that is connected, until the returned function is called. */
  connect(engine: Engine): () => void {
    this.#engine = engine
    const unhear = engine.onHealth((isUp) => {
      if (!isUp) return this.#membership.noteAway()
      this.#ring?.('beat')
      this.#ring?.('inbox')
    })
    const silence = engine.onBell((bell) => this.#ring?.(bell === 'nodes' ? 'beat' : bell))
    this.#ring?.('beat')
    return () => {
      unhear()
      silence()
      if (this.#engine !== engine) return
      this.#engine = undefined
      this.#membership.noteAway()
    }
  }

  /** The node takes part, again if it had left; `ring` hears what is to be done now, until the returned undo. */
  join(ring: (ring: MemberJob) => void): () => void {
    this.#ring = ring
    if (this.#hasLeft) {
      this.#hasLeft = false
      this.#isRetiring = false
      this.#messenger.beginAnew()
    }
    return () => {
      if (this.#ring === ring) this.#ring = undefined
    }
  }

  /** Renews the lease, and hears of the others. */
  async beat(): Promise<void> {
    outside(() => this.streams.tend())
    if (!this.#hasLeft) await this.#membership.beat()
  }

  /** Takes what waits in the inbox of this node. Without a port it waits for the next one, or comes back. */
  async look(): Promise<void> {
    const engine = this.#engine
    this.#ringsAgain = true
    if (this.#isTaking) return
    this.#isTaking = true
    const lookers: (() => void)[] = []
    try {
      while (this.#ringsAgain && engine !== undefined && this.#mayTakeFrom(engine)) {
        this.#ringsAgain = false
        lookers.push(...this.#lookers.splice(0))
        const texts = await engine.take(this.node, takenAtOnce)
        this.#messenger.receive(texts)
        // texts that come later ring the bell
        if (texts.length === takenAtOnce) this.#ringsAgain = true
        else for (const resolve of lookers.splice(0)) resolve()
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      // it is unknown what was taken
      this.#beginAnew()
    } finally {
      this.#isTaking = false
      for (const resolve of [...lookers, ...this.#lookers.splice(0)]) resolve()
    }
  }

  #mayTakeFrom(engine: Engine): boolean {
    if (this.#listener === undefined || this.#hasLeft || engine !== this.#engine) return false
    return engine.isUp && !this.#membership.lapses()
  }

  /** Resolves when what waited in the inbox until now was taken, or cannot be. */
  #looked(): Promise<void> {
    const looked = new Promise<void>((resolve) => this.#lookers.push(resolve))
    outside(() => void this.look())
    return looked
  }

  /** Reads the news that have come. */
  read(): Promise<void> {
    return this.#news.read()
  }

  /** Takes part for the first time, or again. Rejects where it does not know yet what all nodes keep to. */
  async begin(): Promise<void> {
    await this.beat()
    await this.keep()
    const { name } = this.opener
    if (!this.#hasAgreed) throw this.problem ?? unavailable(name, `${name} was not reached in time`)
  }

  /** Keeps what is the node's in the engine, and what it shares with the others. */
  async keep(): Promise<void> {
    const engine = this.#engine
    if (engine?.isUp !== true || this.#hasLeft) return
    try {
      await this.#agree(engine)
      if (this.problem === undefined) await this.#claims.touch(engine)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  /** Resolves when all messages until now are sent. */
  async drained(): Promise<void> {
    await Promise.all([this.#messenger.drained(), this.streams.drained()])
  }

  /** Leaves in order: the sessions of this node are anybody's at once, and it takes nothing any more. */
  async leave(): Promise<void> {
    const engine = this.#engine
    // without one the node is about to be connected again
    if (this.#hasLeft || engine === undefined) return
    const limits = { clock: this.#world, ms: farewell, late: () => {} }
    // requests that are being taken at this moment are answered
    const sent = this.#looked().then(() => this.drained())
    await waitWithin<void>(limits, (resolve) => void sent.then(resolve))
    this.#hasLeft = true
    this.#messenger.close()
    const left = this.streams.leave()
    this.#membership.leave()
    this.#lose(this.#claims.forgetAll())
    this.tasks.close()
    this.#view.close()
    try {
      await left
      if (engine.isUp) await engine.leave(this.node)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  /** After the engine has lost it, nodes propose what they have agreed on. */
  async #agree(engine: Engine): Promise<void> {
    if (this.settings.keys === undefined && this.settings.secrets === undefined)
      this.#secret = await engine.agree(this.#secret, secretTtl)
    // the engine may let this node do the one, and not the other
    this.#hasAgreed ||= this.#membership.lease > 0
  }

  /** The node that a session of this one goes to: the same for all who ask. */
  #successor(session: string): string | undefined {
    const { nodes } = this.#membership
    const others = nodes.filter(({ name, isRetiring }) => name !== this.node && !isRetiring)
    const number = createHash('sha256').update(session).digest().readUInt32BE()
    return others[number % Math.max(1, others.length)]?.name
  }

  /** The engine, if this node may do something for its sessions. Throws CLUSTER_UNAVAILABLE. */
  #surely(): Engine {
    this.#membership.lapses()
    const { problem } = this
    if (problem !== undefined) throw problem
    return this.engine
  }

  async #ownerElsewhere(engine: Engine, session: string, successor: string): Promise<string> {
    const ask = (): Promise<Claimed> => this.#claims.ask(engine, session, this.#membership.mayTakeOver)
    const claimed = await this.#settled(await ask(), ask)
    if (claimed.type === 'owned') return this.#reachable(claimed.node)
    if (claimed.type === 'claimed') await engine.release(this.node, session, claimed.epoch)
    return successor
  }

  /** Asks again if the owner is not there: it may have left in order between the answer and the last beat. */
  async #settled<T extends Claimed>(claimed: T, again: () => Promise<T>): Promise<T> {
    if (claimed.type !== 'owned' || this.#isThere(claimed.node)) return claimed
    // it may have come after the last beat
    await this.beat()
    return this.#isThere(claimed.node) ? claimed : again()
  }

  /** An owner that is away may come back: until its lease is over no node serves its sessions. */
  #reachable(owner: string): string {
    if (this.#isThere(owner)) return owner
    if (this.#membership.strangers.includes(owner))
      throw unavailable(this.opener.name, 'the session runs on a node with other keys')
    if (this.#membership.mayTakeOver) return owner
    throw unavailable(this.opener.name, 'the node that the session runs on cannot be reached')
  }

  #isThere(node: string): boolean {
    return this.#membership.nodes.some(({ name }) => name === node)
  }

  #send(to: string, message: NodeMessage): boolean {
    if (this.#hasLeft || this.#membership.lapses()) return false
    return this.#messenger.send(to, message)
  }

  /** All that is under way between this node and others is lost. */
  #beginAnew(): void {
    this.#messenger.beginAnew()
    // the others learn of it there
    this.#membership.hurry()
  }

  async #reclaim(engine: Engine, mayRestore: boolean): Promise<void> {
    const confirm = async (): Promise<void> => {
      if (await this.#membership.isSame(engine)) return
      throw unavailable(this.opener.name, 'the engine has lost something')
    }
    await this.#claims.reclaim(engine, { mayRestore, confirm, lost: (session) => this.#lose([session]) })
    await this.tasks.reclaim(engine, { mayRestore, confirm })
  }

  /** Rejects if the engine may have lost a session that its owner still has, and is about to bring back. */
  async #confirm(): Promise<void> {
    if (!(await this.#membership.mayHaveLost(this.engine))) return
    throw unavailable(this.opener.name, 'the owner of the session may bring it back: try again')
  }

  #lose(sessions: readonly string[]): void {
    if (sessions.length > 0) this.#tell((listener) => listener.lost(sessions))
  }

  #take(from: string, message: NodeMessage): void {
    if (message.for === 'streams') return outside(() => this.streams.hear(from, message.what))
    if (message.for === 'tasks') return outside(() => this.tasks.hear(from, message.what))
    if (message.for === 'view') return outside(() => this.#view.hear(from, message.what))
    if (this.#listener !== undefined) return this.#tell((listener) => listener.receive(from, message.what))
    // it was taken in the moment in which the port ended: nothing of it was done
    if (message.what.type === 'ask')
      this.send(from, { type: 'failed', id: message.what.id, problem: { type: 'elsewhere' } })
  }

  // outside of the actor that read the inbox: requests of other nodes outlive it
  #tell(fn: (listener: ClusterListener) => void): void {
    const listener = this.#listener
    if (listener !== undefined) outside(() => fn(listener))
  }
}

function failedAsk(id: string, message: string): PortMessage {
  const why = { type: 'error', floor: 'transport', code: 'SEND_FAILED', message } as const
  return { type: 'failed', id, problem: { ...why, retryable: true, data: undefined } }
}
