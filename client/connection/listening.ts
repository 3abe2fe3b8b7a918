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
import { wishedUris } from '../holdings/wishes.js'

/** A `subscriptions/listen` stream: its filter, and callers that wait until the server agrees. */
interface Stream {
  readonly id: RequestId
  readonly filter: SubscriptionFilter
  readonly waiting: Deferred<SubscriptionFilter>[]
  /** Runs out when the server has not agreed in time. */
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

/** One stream of a connection (2026-07-28). It reopens after a pause; changed wishes open the new one first. */
export class Listening {
  readonly #state: Incarnation
  readonly #topic: Topic
  #current: Stream | undefined
  /** Not answered yet. */
  #next: Stream | undefined
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
    if (isSame(filter, latest?.filter)) {
      if (this.#next !== undefined && reply !== undefined) this.#next.waiting.push(reply)
      else reply?.resolve(this.#agreed ?? {})
      return
    }
    const waiting = [...this.#dropNext(), ...(reply === undefined ? [] : [reply])]
    if (filter !== undefined) return this.#open(filter, waiting)
    this.#closeCurrent()
    for (const one of waiting) one.resolve({})
  }

  /** A new stream replaces the one before. False: it is not of this topic. */
  acknowledged(params: JsonObject & { readonly notifications: SubscriptionFilter }): boolean {
    const next = this.#next
    if (next === undefined || subscriptionOf(params) !== next.id) return false
    this.#state.world.clearTimeout(next.timer)
    this.#next = undefined
    this.#closeCurrent()
    this.#current = next
    this.#failures = 0
    this.#agreed = params.notifications
    if (this.#isMissing) this.#topic.back(this.#state.holdings, next.filter, params.notifications)
    this.#isMissing = false
    for (const reply of next.waiting) reply.resolve(params.notifications)
    return true
  }

  /** Not current: a duplicate, or no longer wanted. */
  isCurrent(params: JsonObject): boolean {
    return this.#current !== undefined && subscriptionOf(params) === this.#current.id
  }

  /** Ended by a notification: on pipes beside, or instead of, the result. */
  cancelled(id: RequestId | undefined): void {
    const stream = [this.#current, this.#next].find((known) => known?.id === id)
    if (stream === undefined) return
    this.#state.calls.forget(stream.id)
    this.#over(stream, undefined)
  }

  clear(): void {
    const { world, calls } = this.#state
    world.clearTimeout(this.#timer)
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
    const stream: Stream = { id, filter, waiting, timer }
    this.#next = stream
  }

  /** A server that refuses it for good is not asked again on this connection. */
  #over(stream: Stream, outcome: OwnOutcome | undefined): void {
    const { world, holdings, backoff } = this.#state
    const begun = stream === this.#current
    world.clearTimeout(stream.timer)
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
    for (const reply of stream.waiting) reply.reject(error ?? lostError())
    // a server whose parts are just being restarted answers with a retryable error
    if (error !== undefined && !begun && !error.retryable) return this.#topic.refused()
    const invited = outcome?.type === 'lost' ? invitationIn(outcome.error, world.date()) : undefined
    // awaited: whoever listens waits for it
    const pause = pauseAfter({ failures: this.#failures, awaited: true, busy: 0 }, backoff)
    this.#failures += 1
    world.clearTimeout(this.#timer)
    this.#timer = world.setTimeout(() => this.sync(), Math.min(backoff.cap, invited ?? 0) + pause)
  }

  #closeCurrent(): void {
    if (this.#current !== undefined) this.#state.calls.giveUp(this.#current.id)
    this.#current = undefined
    this.#agreed = undefined
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
