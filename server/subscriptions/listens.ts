import { callerOf, isFarOrKnown } from '../../transports/contract/caller.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { buildNotification, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { Sink, Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import type { TaskRecord } from '../engine/task-store.js'
import type { ListKind } from '../context/changes.js'
import { maxUriLength } from '../catalog/catalog.js'
import { honoured, tagOf, Topics, type Topic } from './listen-topics.js'

export interface ListenCall {
  readonly id: RequestId
  readonly filter: SubscriptionFilter
  readonly sink: Sink
  /** Streams are counted by it: it is the same object for all of one connection. */
  readonly peer: Peer
  /** The tasks of the filter that are its client's. */
  readonly tasks?: readonly TaskRecord[]
  /** Called once, unless it is closed before: with the error of its sink, or without at an orderly end. */
  readonly ended: (error?: unknown) => void
}

export interface Listen {
  readonly call: ListenCall
  readonly filter: SubscriptionFilter
  readonly weight: number
  /** Changes to notify it of: at most the topics of its filter. */
  readonly pending: Set<Topic<Listen>>
  acknowledged: boolean
  queued: boolean
  open: boolean
  /** Since when its reader has not kept up; undefined while it does. */
  behindSince: number | undefined
}

const maxPerConnection = 100
const maxUris = 1_000
/** Characters of all uris of all filters. */
const maxWeight = 16 * 1024 * 1024
/** Characters of all filters of one client: a principal, or else a network that is not this machine. */
const maxShare = maxWeight / 16
/** Streams that one call of `tell` tells. */
const slice = 16
/** Milliseconds that a reader may be behind before it loses its stream. */
const patience = 30_000

/** The streams of `subscriptions/listen`. Changes for a slow reader are a set, so nothing grows. */
export class Listens {
  readonly #maxListens: number
  readonly #now: () => number
  readonly #onSent: (method: string) => void
  readonly #topics: Topics<Listen>
  readonly #all = new Set<Listen>()
  readonly #behind = new Set<Listen>()
  readonly #perPeer = new WeakMap<Peer, number>()
  readonly #shares = new Map<string, number>()
  #queue: Listen[] = []
  #weight = 0

  /** `maxListens`: streams of the whole server. */
  constructor(
    maxListens: number,
    now: () => number,
    onSent: (method: string) => void = () => {},
    writeTask?: (record: TaskRecord) => object,
  ) {
    this.#topics = new Topics(writeTask)
    this.#maxListens = maxListens
    this.#now = now
    this.#onSent = onSent
  }

  get size(): number {
    return this.#all.size
  }

  get hasNews(): boolean {
    return this.#queue.length > 0
  }

  get hasBehind(): boolean {
    return this.#behind.size > 0
  }

  /**
   * Opens a stream and acknowledges it. Throws McpError -32602 for a filter that is too large, and
   * EXCHANGE_LIMIT.
   */
  open(call: ListenCall, capabilities: ServerCapabilities): Listen {
    const { tasks = [] } = call
    const filter = honoured(call.filter, capabilities)
    if (tasks.length > 0) filter.taskIds = tasks.map(({ id }) => id)
    const weight = weighFilter(filter)
    this.#checkRoom(call.peer, weight)
    const listen: Listen = {
      call,
      filter,
      weight,
      pending: new Set(),
      acknowledged: false,
      queued: false,
      open: true,
      behindSince: undefined,
    }
    this.#topics.join(filter, listen)
    // as it is now: it may have changed since its client looked
    for (const record of tasks) listen.pending.add(this.#topics.joinTask(record, listen))
    this.#all.add(listen)
    this.#weight += weight
    this.#weigh(call.peer, weight)
    this.#count(call.peer, 1)
    this.#advance(listen)
    return listen
  }

  close(listen: Listen): void {
    if (!listen.open) return
    listen.open = false
    listen.pending.clear()
    this.#all.delete(listen)
    this.#behind.delete(listen)
    this.#topics.leave(listen.filter, listen)
    this.#weight -= listen.weight
    this.#weigh(listen.call.peer, -listen.weight)
    this.#count(listen.call.peer, -1)
  }

  noteChanged(list: ListKind): void {
    this.#note(this.#topics.list(list))
  }

  /** `mayHear`: of those who have subscribed; undefined: all. */
  noteUpdated(uri: string, mayHear?: (peer: Peer) => boolean): void {
    const topic = this.#topics.resource(uri)
    if (topic !== undefined) this.#note(topic, mayHear)
  }

  noteTask(record: TaskRecord): void {
    const topic = this.#topics.task(record)
    if (topic !== undefined) this.#note(topic)
  }

  noteAllUpdated(hearersOf: (uri: string) => ((peer: Peer) => boolean) | undefined): void {
    for (const [uri, topic] of this.#topics.resources()) this.#note(topic, hearersOf(uri))
  }

  /** Tells some streams what was noted; answers whether there are more. */
  tell(): boolean {
    for (const listen of this.#queue.splice(0, slice)) {
      listen.queued = false
      this.#advance(listen)
    }
    return this.hasNews
  }

  /**
   * Tries the readers that are behind; after 30 s a stream is ended. Answers whether any are still behind.
   */
  retry(): boolean {
    for (const listen of this.#behind) {
      if (this.#advance(listen)) continue
      const { behindSince = this.#now() } = listen
      if (this.#now() - behindSince >= patience) this.#end(listen)
    }
    return this.hasBehind
  }

  /** Ends every stream with its result, after what was noted. */
  endAll(): void {
    for (const listen of this.#all) {
      this.#advance(listen)
      this.#end(listen)
    }
    this.#queue = []
  }

  /** Ends every stream without a result: the base actor has ended. */
  abandon(): void {
    for (const listen of this.#all) this.#end(listen)
  }

  #note(topic: Topic<Listen>, mayHear?: (peer: Peer) => boolean): void {
    for (const listen of topic.listeners) {
      if (mayHear !== undefined && !mayHear(listen.call.peer)) continue
      listen.pending.add(topic)
      // `retry` notifies a reader that is behind
      if (listen.queued || listen.behindSince !== undefined) continue
      listen.queued = true
      this.#queue.push(listen)
    }
  }

  /** Sends what is pending; false when the reader is behind. */
  #advance(listen: Listen): boolean {
    try {
      return this.#sendAll(listen)
    } catch (error) {
      this.#end(listen, error) // one bad sink is nothing to the other streams
      return true
    }
  }

  #sendAll(listen: Listen): boolean {
    const { call, filter, pending } = listen
    if (!listen.open) return true
    if (!listen.acknowledged) {
      const params = { notifications: filter, ...tagOf(call.id) }
      const message = buildNotification('notifications/subscriptions/acknowledged', params)
      if (!call.sink.send(message)) return this.#fallBehind(listen)
      listen.acknowledged = true
      this.#onSent(message.method)
    }
    for (const topic of pending) {
      const message = topic.messageFor(call.id)
      if (!call.sink.send(message)) return this.#fallBehind(listen)
      pending.delete(topic)
      this.#onSent(message.method)
    }
    if (listen.behindSince !== undefined) this.#behind.delete(listen)
    listen.behindSince = undefined
    return true
  }

  #fallBehind(listen: Listen): false {
    listen.behindSince ??= this.#now()
    this.#behind.add(listen)
    return false
  }

  #end(listen: Listen, error?: unknown): void {
    if (!listen.open) return
    this.close(listen)
    listen.call.ended(error)
  }

  #checkRoom(peer: Peer, weight: number): void {
    if (this.#all.size >= this.#maxListens)
      throw tooMany(`the server has ${this.#maxListens} streams already`)
    if ((this.#perPeer.get(peer) ?? 0) >= maxPerConnection)
      throw tooMany(`the connection has ${maxPerConnection} streams already`)
    const share = shareOf(peer)
    if (share !== undefined && (this.#shares.get(share) ?? 0) + weight > maxShare)
      throw tooMany(`one client may listen for resources of ${maxShare} characters`)
    if (this.#weight + weight > maxWeight) throw tooMany('the server is listened to for too many resources')
  }

  #weigh(peer: Peer, change: number): void {
    const share = shareOf(peer)
    if (share === undefined) return
    const weight = (this.#shares.get(share) ?? 0) + change
    if (weight > 0) this.#shares.set(share, weight)
    else this.#shares.delete(share)
  }

  #count(peer: Peer, change: 1 | -1): void {
    this.#perPeer.set(peer, (this.#perPeer.get(peer) ?? 0) + change)
  }
}

/** The characters of a filter. Throws McpError -32602 for one with too many resources, or too long ones. */
export function weighFilter({
  resourceSubscriptions: resources = [],
  taskIds = [],
}: SubscriptionFilter): number {
  const uris = [...resources, ...taskIds]
  const long = uris.find((uri) => uri.length > maxUriLength)
  if (uris.length <= maxUris && long === undefined) return uris.reduce((sum, uri) => sum + uri.length, 0)
  const expected = `expected ${maxUris} uris at most, of ${maxUriLength} characters at most`
  throw new McpError(errorCodes.invalidParams, `notifications.resourceSubscriptions: ${expected}`)
}

function shareOf(peer: Peer): string | undefined {
  return isFarOrKnown(peer) ? callerOf(peer, undefined) : undefined
}

function tooMany(problem: string): TransportError {
  return new TransportError('EXCHANGE_LIMIT', problem, { retryable: true })
}
