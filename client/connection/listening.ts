import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildNotification, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ServerCapabilities } from '../../protocol/messages/types/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/types/subscriptions.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { pauseAfter } from '../base/backoff.js'
import { callError } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'
import type { Incarnation } from './incarnation.js'
import type { OwnOutcome } from '../calls/own-requests.js'
import { serverError } from '../calls/pending-call.js'
import { invitationIn } from '../holdings/retry-budget.js'
import { subscriptionOf } from '../calls/speech.js'
import { wishedUris } from '../holdings/wishes.js'

/** A stream of `subscriptions/listen`: what was asked for, and who waits until the server agrees. */
interface Stream {
  readonly id: RequestId
  readonly filter: SubscriptionFilter
  readonly waiting: Deferred<SubscriptionFilter>[]
  timer: unknown
}

const listKinds = [
  ['toolsListChanged', 'notifications/tools/list_changed', 'tools.listChanged'],
  ['promptsListChanged', 'notifications/prompts/list_changed', 'prompts.listChanged'],
  ['resourcesListChanged', 'notifications/resources/list_changed', 'resources.listChanged'],
] as const

/** The notifications that are only told to those who listen (2026-07-28). */
export const listenedTo: ReadonlySet<string> = new Set([
  ...listKinds.map(([, method]) => method),
  'notifications/resources/updated',
])

/**
 * The one stream of changes of a connection in 2026-07-28, as the wishes of the client have it: opened anew
 * when it ends, with a delay that grows to that of a connection somebody waits for, and replaced, the new one
 * first, when the wishes change. Whatever may have been missed meanwhile, the caches do not hold any more.
 */
export class Listening {
  readonly #state: Incarnation
  #current: Stream | undefined
  #next: Stream | undefined
  #timer: unknown
  #failures = 0

  constructor(state: Incarnation) {
    this.#state = state
  }

  /** What the server tells on the current stream; undefined without one. */
  honoured: SubscriptionFilter | undefined

  /** Looks at the wishes again, if there is a connection; `reply` hears what the server agreed to. */
  sync(reply?: Deferred<SubscriptionFilter>): void {
    if (this.#state.connection.phase === 'ready') this.begin(reply)
    else reply?.reject(lostError())
  }

  /** The same when the connection is just becoming ready. */
  begin(reply?: Deferred<SubscriptionFilter>): void {
    const { speech, holdings } = this.#state
    if (speech.dialect.handshake) return reply?.resolve({})
    const filter = filterOf(holdings, holdings.server?.capabilities ?? {})
    const latest = this.#next ?? this.#current
    if (isSame(filter, latest?.filter)) {
      if (this.#next !== undefined && reply !== undefined) this.#next.waiting.push(reply)
      else reply?.resolve(this.honoured ?? {})
      return
    }
    const waiting = [...this.#dropNext(), ...(reply === undefined ? [] : [reply])]
    if (filter !== undefined) return this.#open(filter, waiting)
    this.#closeCurrent()
    for (const one of waiting) one.resolve({})
  }

  /** The server has begun to tell: the stream before this one is not needed any more. */
  acknowledged(params: JsonObject & { readonly notifications: SubscriptionFilter }): void {
    const next = this.#next
    if (next === undefined || subscriptionOf(params) !== next.id) return
    this.#state.clock.clearTimeout(next.timer)
    this.#next = undefined
    this.#closeCurrent()
    this.#current = next
    this.#failures = 0
    this.honoured = params.notifications
    for (const reply of next.waiting) reply.resolve(params.notifications)
  }

  /**
   * Whether a change is to be told: one of another stream than the current one was told there, or is not
   * wanted any more.
   */
  tells(params: JsonObject): boolean {
    return this.#current !== undefined && subscriptionOf(params) === this.#current.id
  }

  /**
   * The server has ended a stream with a notification: on pipes it may do so beside, or instead of, the
   * result.
   */
  cancelled(id: RequestId | undefined): void {
    const stream = [this.#current, this.#next].find((known) => known?.id === id)
    if (stream === undefined) return
    this.#state.own.forget(stream.id)
    this.#over(stream, undefined)
  }

  /** The connection is over. */
  clear(): void {
    const { clock, own } = this.#state
    clock.clearTimeout(this.#timer)
    for (const stream of [this.#current, this.#next]) {
      if (stream === undefined) continue
      own.forget(stream.id)
      clock.clearTimeout(stream.timer)
      for (const reply of stream.waiting) reply.reject(lostError())
    }
    this.#current = undefined
    this.#next = undefined
    this.#timer = undefined
    this.#failures = 0
    this.honoured = undefined
  }

  #open(filter: SubscriptionFilter, waiting: Deferred<SubscriptionFilter>[]): void {
    const { own, clock, settings, speech, calls } = this.#state
    clock.clearTimeout(this.#timer)
    const id = `listen-${calls.nextId()}`
    const timer = clock.setTimeout(() => this.#unanswered(stream), settings.handshakeTimeout)
    const stream: Stream = { id, filter, waiting, timer }
    this.#next = stream
    const done = (outcome: OwnOutcome): void => this.#over(stream, outcome)
    const params = { notifications: filter }
    const timeout = Number.POSITIVE_INFINITY // it stays open
    own.send(speech, { id, method: 'subscriptions/listen', params, timeout, done })
  }

  #unanswered(stream: Stream): void {
    this.#cancel(stream)
    this.#over(stream, { type: 'timeout' })
  }

  /**
   * A stream has ended. A server that refuses to begin it, for good, is not asked again on this connection.
   */
  #over(stream: Stream, outcome: OwnOutcome | undefined): void {
    const { clock, holdings, settings } = this.#state
    const begun = stream === this.#current
    clock.clearTimeout(stream.timer)
    if (stream === this.#next) this.#next = undefined
    else if (begun) {
      this.#current = undefined
      this.honoured = undefined
      holdings.changesMissed()
    } else return
    const error =
      outcome?.type === 'answer' && 'error' in outcome.message
        ? serverError(outcome.message.error)
        : undefined
    if (error !== undefined) holdings.counts.troubles += 1
    for (const reply of stream.waiting) reply.reject(error ?? lostError())
    // A server whose parts were just started anew says so with an error, too, and is to be asked again.
    if (error !== undefined && !begun && !error.retryable) return
    const { backoff } = settings
    const invited = outcome?.type === 'lost' ? invitationIn(outcome.error, Date.now()) : undefined
    // whoever listens waits for it
    const pause = pauseAfter({ failures: this.#failures, awaited: true, busy: 0 }, backoff)
    this.#failures += 1
    clock.clearTimeout(this.#timer)
    this.#timer = clock.setTimeout(() => this.sync(), Math.min(backoff.cap, invited ?? 0) + pause)
  }

  #closeCurrent(): void {
    if (this.#current !== undefined) this.#cancel(this.#current)
    this.#current = undefined
    this.honoured = undefined
  }

  /** Answers who waited for the stream that is not needed any more. */
  #dropNext(): readonly Deferred<SubscriptionFilter>[] {
    const next = this.#next
    if (next === undefined) return []
    this.#next = undefined
    this.#state.clock.clearTimeout(next.timer)
    this.#cancel(next)
    return next.waiting
  }

  #cancel({ id }: Stream): void {
    const { own, link, speech } = this.#state
    own.forget(id)
    if (speech.cancels === 'close') link.abort(id)
    else link.tell(buildNotification('notifications/cancelled', { requestId: id }))
  }
}

/** What is wished for and the server offers; undefined for nothing. */
export function filterOf(
  holdings: Pick<Holdings, 'hears' | 'wishes'>,
  capabilities: ServerCapabilities,
): SubscriptionFilter | undefined {
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
  return callError('CONNECTION_LOST', 'subscriptions/listen: the stream ended before it began', {
    sent: true,
  })
}
