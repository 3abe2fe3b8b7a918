import { outside } from '../../runtime/faults/containment.js'
import type { World } from '../../runtime/time/world.js'
import type {
  EventLogLimits,
  SharedStreams,
  StreamMember,
  StreamNews,
  StreamReport,
} from '../../transports/contract/shared-streams.js'
import { StreamArchive } from '../../transports/http/streams/stream-archive.js'
import { RetryQueue } from '../cluster/retry-queue.js'
import type { Engine, StreamPlace } from '../engine/engine.js'
import { Follow } from './follow.js'
import type { FollowNews, FollowReport, StreamMessage } from './stream-message.js'
import type { Seal } from './seal.js'
import { readEntries } from './stream-entries.js'
import { StreamWriter } from './stream-writer.js'
import { isUnavailable } from './unavailable.js'

interface NodeStreamsInput {
  readonly node: string
  readonly world: World
  readonly seal: Seal
  /** Milliseconds that another node has to answer for a stream. */
  readonly timeout: number
  /** Undefined while there is none. */
  readonly engine: () => Engine | undefined
  /** Sends to the same part of another node, in order; false when there is no room. */
  readonly send: (node: string, message: StreamMessage) => boolean
  /** Asks the engine whether a node is there. */
  readonly isThere: (node: string) => Promise<boolean>
  /** Whether an absent node has ended; false while all may be about to come back. */
  readonly mayTakeOver: () => boolean
}

/** What is kept on this node, once one of its logs has told the limits. */
interface Keeping {
  readonly archive: StreamArchive
  readonly writer: StreamWriter
  /** The logs of this node. */
  readonly local: StreamMember
}

/** Where the logs of nodes are that have left. */
const nobody = ''

/** Milliseconds between two removals of expired streams. */
const trimInterval = 15_000

/**
 * The event streams of a node. They stay where the clients' connections are, and are written to the engine as
 * well. A client that comes back to another node gets the rest from the node of the stream, or, once that has
 * ended, from the engine: it closes the stream first, so that a node that was taken for dead adds nothing.
 */
export class NodeStreams implements SharedStreams {
  readonly #input: NodeStreamsInput
  readonly #listeners = new Set<(news: StreamNews) => void>()
  /** By log: until when the engine knows whose it is. */
  readonly #logs = new Map<string, number>()
  /** Logs that are gone, while this node goes on: until when the engine may know whose they were. */
  readonly #left = new Map<string, number>()
  /** Other nodes whose clients have taken up streams of this one. */
  readonly #members = new Map<string, StreamMember>()
  /** Streams of other nodes that clients of this one take up. */
  readonly #follows = new Map<string, Follow>()
  readonly #retries: RetryQueue<StreamMessage>
  #keeping: Keeping | undefined
  #trimmedAt = 0

  constructor(input: NodeStreamsInput) {
    this.#input = input
    this.#retries = new RetryQueue(input.send, input.world)
  }

  send(report: StreamReport): void {
    if (report.type === 'joined') this.#join(report.log, report.limits)
    const { local, writer } = this.#keeping ?? {}
    switch (report.type) {
      case 'left':
        writer?.left(report.log)
        this.#logs.delete(report.log)
        this.#left.set(report.log, this.#input.world.now() + this.#placed)
        break
      case 'began':
        writer?.began(report)
        break
      case 'event':
        writer?.event(report)
        break
      case 'ended':
        writer?.ended(report.stream)
        break
      case 'dropped':
        writer?.dropped(report.stream)
        break
      case 'forgotten':
        writer?.forgotten(report.sessionId)
        break
      case 'follow':
        return this.#follow(report)
      case 'taken':
      case 'stopped': {
        const follow = this.#follows.get(report.follow)
        if (follow !== undefined) return this.#tell(follow, report)
      }
    }
    local?.receive(report)
  }

  receive(fn: (news: StreamNews) => void): () => void {
    this.#listeners.add(fn)
    return () => void this.#listeners.delete(fn)
  }

  /** Takes a message of another node. */
  hear(from: string, message: StreamMessage): void {
    if (message.type === 'report') return this.#memberOf(from)?.receive(message.report)
    const follow = this.#follows.get(message.news.follow)
    if (follow?.place === from) this.#pass(follow, message.news)
  }

  /** What was in flight from a node is lost; the node itself may still be there. */
  gone(node: string): void {
    this.#retries.forget(node)
    this.#members.get(node)?.gone()
    this.#members.delete(node)
    for (const follow of this.#follows.values()) if (follow.place === node) this.#find(follow)
  }

  /** This node leaves: others go on with its streams at once, and it hears of them no more. */
  async leave(): Promise<void> {
    const logs = [...this.#logs.keys(), ...this.#left.keys()]
    this.#left.clear()
    for (const node of this.#members.keys()) this.gone(node)
    for (const follow of this.#follows.values()) this.#giveUp(follow)
    this.#retries.end()
    await Promise.all(logs.map((log) => this.#placeLog(log, nobody)))
  }

  /** To be called with each beat. */
  tend(): void {
    const { world } = this.#input
    const now = world.now()
    for (const follow of this.#follows.values()) if (follow.isLate(now)) this.#giveUp(follow)
    if (this.#keeping === undefined) return
    for (const [log, until] of this.#logs) if (until <= now) void this.#placeLog(log)
    this.#keeping.writer.tend()
    if (now < this.#trimmedAt + trimInterval) return
    this.#trimmedAt = now
    for (const [log, until] of this.#left) if (until <= now) this.#left.delete(log)
    this.#keeping.archive.trim()
  }

  /** The engine has lost data: gives it all streams again. */
  restore(): void {
    for (const log of this.#logs.keys()) void this.#placeLog(log)
    const { archive, writer } = this.#keeping ?? {}
    writer?.repeat(({ session, stream }) => archive?.kept(session, stream))
  }

  /** Resolves when the engine has all that was written until now. */
  async drained(): Promise<void> {
    await this.#keeping?.writer.drained()
  }

  #join(log: string, limits: EventLogLimits): void {
    this.#keeping ??= this.#keep(limits)
    this.#logs.set(log, 0)
    void this.#placeLog(log)
  }

  #keep(limits: EventLogLimits): Keeping {
    const { world, seal, engine } = this.#input
    const archive = new StreamArchive(limits, world.now)
    const closed = ({ session, stream }: StreamPlace): void =>
      this.#hear({ type: 'closed', sessionId: session, stream })
    const writer = new StreamWriter({ world, seal, limits, engine, closed })
    return { archive, writer, local: archive.join((news) => this.#hearArchive(news)) }
  }

  /** ms that a stream is kept. */
  get #maxAge(): number {
    return this.#keeping?.archive.limits.maxAge ?? 0
  }

  /** ms that the engine knows where a log is. */
  get #placed(): number {
    return this.#maxAge * 3
  }

  /** It is known for longer than any of its streams is kept. */
  async #placeLog(log: string, node = this.#input.node): Promise<void> {
    const { world, engine } = this.#input
    const maxAge = this.#maxAge
    if (this.#logs.has(log)) this.#logs.set(log, 0)
    try {
      if (engine()?.isUp !== true) return
      await engine()?.placeLog(log, node, this.#placed)
      if (this.#logs.has(log) && node !== nobody) this.#logs.set(log, world.now() + maxAge)
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  #memberOf(node: string): StreamMember | undefined {
    const known = this.#members.get(node)
    if (known !== undefined || this.#keeping === undefined) return known
    const member = this.#keeping.archive.join((news) => {
      this.#retries.send(node, { type: 'news', news: news as FollowNews })
    })
    this.#members.set(node, member)
    return member
  }

  #hear(news: StreamNews): void {
    outside(() => {
      for (const listener of this.#listeners) listener(news)
    })
  }

  #hearArchive(news: StreamNews): void {
    const follow = 'follow' in news ? this.#follows.get(news.follow) : undefined
    if (follow === undefined) this.#hear(news)
    else this.#pass(follow, news as FollowNews)
  }

  #follow(report: Extract<StreamReport, { readonly type: 'follow' }>): void {
    const { archive, local } = this.#keeping ?? {}
    if (this.#logs.has(report.log) || archive?.kept(report.sessionId, report.stream) !== undefined)
      return local?.receive(report)
    const follow = new Follow(report, this.#input.world.now() + this.#input.timeout)
    this.#follows.set(follow.id, follow)
    this.#find(follow)
  }

  /** Asks where the stream is, and for it. */
  #find(follow: Follow): void {
    const { world, timeout } = this.#input
    const search = follow.search(world.now() + timeout)
    outside(() => {
      void this.#search(follow, search).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error
        if (follow.isAt(search)) this.#giveUp(follow)
      })
    })
  }

  async #search(follow: Follow, search: number): Promise<void> {
    const { node: self, engine, isThere, mayTakeOver } = this.#input
    const node = await engine()?.placeOfLog(follow.log)
    if (!follow.isAt(search)) return
    if (engine()?.isUp !== true || (node === undefined && !mayTakeOver())) return this.#giveUp(follow)
    if (node === undefined || node === self) return this.#followHere(follow)
    const isAlive = node !== nobody && (await isThere(node))
    if (!follow.isAt(search)) return
    if (isAlive) {
      follow.place = node
      return this.#retries.send(node, { type: 'report', report: follow.report })
    }
    if (node !== nobody && !mayTakeOver()) return this.#giveUp(follow)
    await this.#adopt(follow, search)
  }

  /** Takes over what is kept of a stream whose node has ended. */
  async #adopt(follow: Follow, search: number): Promise<void> {
    const { archive } = this.#keeping ?? {}
    const { log, sessionId, stream } = follow
    const place = { session: sessionId, stream }
    const entries = (await this.#input.engine()?.closeStream(place)) ?? []
    // somebody else may have asked for it meanwhile
    const isHere = archive?.kept(sessionId, stream) !== undefined
    const read = isHere ? undefined : readEntries(log, place, { entries, seal: this.#input.seal })
    if (read !== undefined) {
      const ended = archive?.join(() => {})
      ended?.receive({ type: 'joined', log, limits: archive?.limits as EventLogLimits })
      for (const report of read) ended?.receive(report)
      ended?.gone()
    }
    if (follow.isAt(search)) this.#followHere(follow)
  }

  #followHere(follow: Follow): void {
    follow.place = this.#input.node
    this.#keeping?.local.receive(follow.report)
  }

  #tell(follow: Follow, report: FollowReport): void {
    const { place } = follow
    if (report.type === 'stopped') {
      follow.isOver = true
      this.#follows.delete(follow.id)
    }
    if (place === this.#input.node) this.#keeping?.local.receive(report)
    else if (place !== undefined) this.#retries.send(place, { type: 'report', report })
  }

  /** Passes events on to the client; a stream that is found again continues after the last one. */
  #pass(follow: Follow, news: FollowNews): void {
    const [told, taken] = follow.hear(news)
    if (follow.isOver) this.#follows.delete(follow.id)
    if (told !== undefined) this.#hear(told)
    if (taken) this.#tell(follow, { type: 'taken', follow: follow.id })
  }

  /** Its client is to come back. */
  #giveUp(follow: Follow): void {
    const { place } = follow
    if (place !== undefined) this.#tell(follow, { type: 'stopped', follow: follow.id })
    this.#pass(follow, { type: 'unreachable', follow: follow.id })
  }
}
