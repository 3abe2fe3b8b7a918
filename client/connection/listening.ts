import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { pauseAfter } from '../base/backoff.js'
import { callError } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'
import type { Incarnation } from './incarnation.js'
import type { OwnOutcome } from '../calls/calls.js'
import { serverError } from '../calls/errors.js'
import { invitationIn } from '../holdings/retry-budget.js'
import { subscriptionOf } from '../calls/speech.js'
import { isWished, wishedUris } from '../holdings/wishes.js'

/** A `subscriptions/listen` stream: its filter, and callers that wait until the server agrees. */
interface Stream {
  readonly id: RequestId
  readonly filter: SubscriptionFilter
  readonly waiting: Deferred<SubscriptionFilter>[]
  readonly since: number
  /** Runs out when the server has not agreed in time. */
  readonly timer: unknown
}

/** One that was replaced. */
interface Former {
  readonly since: number
  /** Closes it. */
  readonly timer: unknown
}

export const listKinds = [
  ['toolsListChanged', 'notifications/tools/list_changed', 'tools.listChanged'],
  ['promptsListChanged', 'notifications/prompts/list_changed', 'prompts.listChanged'],
  ['resourcesListChanged', 'notifications/resources/list_changed', 'resources.listChanged'],
] as const

/** Notifications that come on such a stream only (2026-07-28). */
export const listenedTo: ReadonlySet<string> = new Set([
  ...listKinds.map(([, method]) => method),
  'notifications/resources/updated',
])

/** What a stream subscribes to, and whom it tells. */
interface Topic {
  /** What is asked for now; undefined: nothing, and there is no stream. */
  readonly filter: (holdings: Holdings, capabilities: ServerCapabilities) => SubscriptionFilter | undefined
  /** The stream broke: something may not have been told. */
  readonly missed: (holdings: Holdings) => void
  /** After that there is one again, with all of this as far as it was agreed to. */
  readonly back: (holdings: Holdings, filter: SubscriptionFilter, agreed: SubscriptionFilter) => void
  /** The server refuses it for good. */
  readonly refused: () => void
}

/** The topic of all handlers and of `subscribe`. Caches are cleared when changes may be missed. */
export const changes: Topic = {
  filter: filterOf,
  missed: (holdings) => holdings.changesMissed(),
  back: tellAll,
  refused: () => {},
}

/** What changed while there was no stream is told by nobody: whoever listens looks once more. */
function tellAll(holdings: Holdings, filter: SubscriptionFilter, agreed: SubscriptionFilter): void {
  for (const [field, method] of listKinds)
    if (filter[field] === true && agreed[field] === true) holdings.notify(method, {})
  const uris = new Set(agreed.resourceSubscriptions)
  for (const uri of filter.resourceSubscriptions ?? [])
    if (uris.has(uri)) holdings.notify('notifications/resources/updated', { uri })
}

/**
 * Ms for which a stream stays beside the one that replaced it: what a server told on it before it knew of the new
 * one may still be under way.
 */
const overlap = 1_000
/**
 * Streams that stay so. Where wishes change again and again, the oldest stays for some times of what the
 * server took to agree, and for this many ms at least.
 */
const mostFormer = 4
const [leastOverlap, timesTaken] = [50, 8]

/** One stream of a connection (2026-07-28). It reopens after a pause; changed wishes open the new one first. */
export class Listening {
  readonly #state: Incarnation
  readonly #topic: Topic
  #current: Stream | undefined
  /** Not answered yet. */
  #next: Stream | undefined
  /** Replaced, the oldest one first. */
  readonly #former = new Map<RequestId, Former>()
  /** Ms in which the server agreed to the latest one. */
  #taken = 0
  /** What has come beside a former one, by kind and resource: on each stream, and how often it was heard. */
  readonly #counts = new Map<string, Counted>()
  /** Callers for whom a stream is to be opened once there is room. */
  #later: Deferred<SubscriptionFilter>[] = []
  #isBehind = false
  #agreed: SubscriptionFilter | undefined
  #isMissing = false
  #timer: unknown
  #failures = 0

  constructor(state: Incarnation, topic: Topic) {
    this.#state = state
    this.#topic = topic
  }

  /** `reply` hears what the server agreed to. */
  sync(reply?: Deferred<SubscriptionFilter>): void {
    if (this.#state.connection.phase === 'ready') this.begin(reply)
    else reply?.reject(lostError())
  }

  /** The same when just becoming ready. */
  begin(reply?: Deferred<SubscriptionFilter>): void {
    const { speech, holdings } = this.#state
    if (speech.dialect.handshake) return reply?.resolve({})
    const filter = this.#topic.filter(holdings, holdings.server?.capabilities ?? {})
    const latest = this.#next ?? this.#current
    if (reply !== undefined) this.#later.push(reply)
    this.#isBehind = false
    if (isSame(filter, latest?.filter)) {
      for (const one of this.#takeLater())
        if (this.#next !== undefined) this.#next.waiting.push(one)
        else one.resolve(this.#agreed ?? {})
      return
    }
    if (filter === undefined) {
      const waiting = [...this.#dropNext(), ...this.#takeLater()]
      this.#closeAll()
      for (const one of waiting) one.resolve({})
      return
    }
    const isFull = this.#former.size >= mostFormer
    this.#isBehind = this.#next !== undefined || isFull
    if (!this.#isBehind) this.#open(filter, this.#takeLater())
    else if (isFull) this.#hurry()
  }

  /** Whoever waits for a subscription waits for the oldest of those that were replaced. */
  #hurry(): void {
    const { world } = this.#state
    const [oldest] = this.#former
    if (oldest === undefined) return
    const [id, { since, timer }] = oldest
    const least = Math.min(overlap, Math.max(leastOverlap, timesTaken * this.#taken))
    world.clearTimeout(timer)
    const left = Math.max(0, since + least - world.now())
    this.#former.set(id, { since, timer: world.setTimeout(() => this.#endFormer(id), left) })
  }

  #catchUp(): void {
    if (this.#isBehind) this.begin()
  }

  #takeLater(): Deferred<SubscriptionFilter>[] {
    const later = this.#later
    this.#later = []
    return later
  }

  /** A new stream replaces the one before. False: it is not of this topic. */
  acknowledged(params: JsonObject & { readonly notifications: SubscriptionFilter }): boolean {
    const next = this.#next
    if (next === undefined || subscriptionOf(params) !== next.id) return false
    const { world } = this.#state
    world.clearTimeout(next.timer)
    this.#taken = world.now() - next.since
    this.#next = undefined
    this.#retire()
    this.#current = next
    this.#failures = 0
    this.#agreed = params.notifications
    if (this.#isMissing) this.#topic.back(this.#state.holdings, next.filter, params.notifications)
    this.#isMissing = false
    for (const reply of next.waiting) reply.resolve(params.notifications)
    this.#catchUp()
    return true
  }

  /**
   * Whether a notification is to be heard: not of a stream that nobody listens to any more, nor of a resource that
   * nobody wishes any more. What comes on two streams is heard once.
   */
  hears(method: string, params: JsonObject): boolean {
    const id = subscriptionOf(params) as RequestId
    const isCurrent = this.#current !== undefined && id === this.#current.id
    if (!isCurrent && !this.#former.has(id)) return false
    const { uri } = params
    if (uri !== undefined && !isWished(this.#state.holdings.wishes, String(uri))) return false
    if (this.#former.size === 0) return true
    const key = `${method} ${String(uri ?? '')}`
    const counts = this.#counts.get(key) ?? { heard: 0, by: new Map<RequestId, number>(), last: undefined }
    this.#counts.set(key, counts)
    const count = (counts.by.get(id) ?? 0) + 1
    counts.by.set(id, count)
    const isNew = count > counts.heard
    if (isNew) counts.heard = count
    // the other stream may have been cut before it told the same: then it is heard when that one ends
    counts.last = isNew || !isCurrent ? undefined : { method, params }
    return isNew
  }

  /** Ended by a notification: on pipes beside, or instead of, the result. */
  cancelled(id: RequestId | undefined): void {
    if (id !== undefined && this.#former.has(id)) return this.#endFormer(id)
    const stream = [this.#current, this.#next].find((known) => known?.id === id)
    if (stream === undefined) return
    this.#state.calls.forget(stream.id)
    this.#over(stream, undefined)
  }

  clear(): void {
    const { world, calls } = this.#state
    world.clearTimeout(this.#timer)
    for (const [id, { timer }] of this.#former) {
      calls.forget(id)
      world.clearTimeout(timer)
    }
    this.#former.clear()
    this.#counts.clear()
    this.#isBehind = false
    for (const reply of this.#takeLater()) reply.reject(lostError())
    for (const stream of [this.#current, this.#next]) {
      if (stream === undefined) continue
      calls.forget(stream.id)
      world.clearTimeout(stream.timer)
      for (const reply of stream.waiting) reply.reject(lostError())
    }
    this.#isMissing ||= this.#current !== undefined
    this.#current = undefined
    this.#next = undefined
    this.#timer = undefined
    this.#failures = 0
    this.#agreed = undefined
  }

  #open(filter: SubscriptionFilter, waiting: Deferred<SubscriptionFilter>[]): void {
    const { world, settings, calls } = this.#state
    world.clearTimeout(this.#timer)
    const id = calls.ask({
      method: 'subscriptions/listen',
      prefix: 'listen',
      params: { notifications: filter },
      timeout: Number.POSITIVE_INFINITY, // it stays open
      done: (outcome) => this.#over(stream, outcome),
    })
    const timer = world.setTimeout(() => {
      calls.giveUp(id)
      this.#over(stream, { type: 'timeout' })
    }, settings.handshakeTimeout)
    const stream: Stream = { id, filter, waiting, since: world.now(), timer }
    this.#next = stream
  }

  /** A server that refuses it for good is not asked again on this connection. */
  #over(stream: Stream, outcome: OwnOutcome | undefined): void {
    const { world, holdings, backoff } = this.#state
    const begun = stream === this.#current
    world.clearTimeout(stream.timer)
    world.clearTimeout(this.#former.get(stream.id)?.timer)
    if (this.#former.delete(stream.id)) {
      this.#settleCounts()
      return this.#catchUp()
    }
    if (stream === this.#next) this.#next = undefined
    else if (begun) {
      this.#current = undefined
      this.#agreed = undefined
      this.#isMissing = true
      this.#topic.missed(holdings)
    } else return
    const error =
      outcome?.type === 'answer' && 'error' in outcome.message
        ? serverError(outcome.message.error)
        : undefined
    if (error !== undefined) holdings.counts.troubles += 1
    this.#isBehind = false
    for (const reply of [...stream.waiting, ...(begun ? [] : this.#takeLater())])
      reply.reject(error ?? lostError())
    // a server whose parts are just being restarted answers with a retryable error
    if (error !== undefined && !begun && !error.retryable) return this.#topic.refused()
    const invited = outcome?.type === 'lost' ? invitationIn(outcome.error, world.date()) : undefined
    // awaited: whoever listens waits for it
    const pause = pauseAfter({ failures: this.#failures, awaited: true, busy: 0 }, backoff)
    this.#failures += 1
    world.clearTimeout(this.#timer)
    this.#timer = world.setTimeout(() => this.sync(), Math.min(backoff.cap, invited ?? 0) + pause)
  }

  /** The current one stays for a while. */
  #retire(): void {
    const { id } = this.#current ?? {}
    const { world } = this.#state
    if (id !== undefined) {
      const timer = world.setTimeout(() => this.#endFormer(id), overlap)
      this.#former.set(id, { since: world.now(), timer })
    }
    this.#current = undefined
    this.#agreed = undefined
  }

  #endFormer(id: RequestId): void {
    const { world, calls } = this.#state
    world.clearTimeout(this.#former.get(id)?.timer)
    this.#former.delete(id)
    calls.giveUp(id)
    this.#settleCounts()
    this.#catchUp()
  }

  /** Once one stream is left. */
  #settleCounts(): void {
    if (this.#former.size > 0) return
    const doubtful = [...this.#counts.values()].flatMap(({ last }) => last ?? [])
    this.#counts.clear()
    const { holdings } = this.#state
    for (const { method, params } of doubtful) {
      holdings.changed(method, params)
      holdings.notify(method as 'notifications/resources/updated', params as { uri: string })
    }
  }

  #closeAll(): void {
    this.#retire()
    for (const id of this.#former.keys()) this.#endFormer(id)
  }

  /** Answers the callers that waited for it. */
  #dropNext(): readonly Deferred<SubscriptionFilter>[] {
    const next = this.#next
    if (next === undefined) return []
    this.#next = undefined
    this.#state.world.clearTimeout(next.timer)
    this.#state.calls.giveUp(next.id)
    return next.waiting
  }
}

interface Counted {
  heard: number
  readonly by: Map<RequestId, number>
  last: { readonly method: string; readonly params: JsonObject } | undefined
}

/** What users ask for and the server offers. */
function filterOf(holdings: Holdings, capabilities: ServerCapabilities): SubscriptionFilter | undefined {
  const kinds = listKinds
    .filter(([, method, capability]) => holdings.hears(method) && hasCapability(capabilities, capability))
    .map(([field]) => [field, true] as const)
  const uris = hasCapability(capabilities, 'resources.subscribe') ? [...wishedUris(holdings.wishes)] : []
  const filter = { ...Object.fromEntries(kinds), ...(uris.length > 0 && { resourceSubscriptions: uris }) }
  return Object.keys(filter).length === 0 ? undefined : filter
}

function isSame(a: SubscriptionFilter | undefined, b: SubscriptionFilter | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function lostError() {
  const text = 'subscriptions/listen: the stream ended before it began'
  return callError('CONNECTION_LOST', text, { sent: true })
}
