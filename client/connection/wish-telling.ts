import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { pauseAfter } from '../base/backoff.js'
import type { OwnOutcome } from '../calls/calls.js'
import { serverError } from '../calls/errors.js'
import { invitationIn } from '../holdings/retry-budget.js'
import { isWished, wishedLevel, wishedUris } from '../holdings/wishes.js'
import type { Incarnation } from './incarnation.js'
import { listKinds } from './listening.js'

interface Wish {
  readonly method: string
  /** Undefined once nobody wishes it any more. */
  readonly params: () => JsonObject | undefined
}

/** Tells a server with sessions what is wished, again where it is busy, for as long as a connection lasts. */
export class WishTelling {
  readonly #state: Incarnation
  /** Those of this connection that are not settled. */
  readonly #open = new Set<Wish>()
  readonly #refused = new Set<Wish>()
  #timer: unknown
  #failures = 0
  /** What changed meanwhile nobody tells: between two sessions, or while a stream of this one was away. */
  #isBack = false
  #hasMissed = false

  constructor(state: Incarnation) {
    this.#state = state
  }

  /** Tells all, without waiting for an answer. */
  begin(): void {
    this.clear()
    const { holdings } = this.#state
    const { wishes, server, counts } = holdings
    this.#isBack = counts.sessions > 1 || this.#hasMissed
    if (this.#hasMissed) holdings.changesMissed()
    this.#hasMissed = false
    const capabilities = server?.capabilities ?? {}
    if (this.#isBack) this.#tellLists(capabilities)
    if (hasCapability(capabilities, 'logging')) this.#tell({ method: 'logging/setLevel', params: level })
    if (!hasCapability(capabilities, 'resources.subscribe')) return
    for (const uri of wishedUris(wishes)) {
      const params = (): JsonObject | undefined => (isWished(wishes, uri) ? { uri } : undefined)
      this.#tell({ method: 'resources/subscribe', params })
    }

    function level(): JsonObject | undefined {
      const wished = wishedLevel(wishes)
      return wished === undefined ? undefined : { level: wished }
    }
  }

  /** Whoever listens looks once more; while the connection is not sure, once it is. */
  missed(): void {
    const { holdings, connection } = this.#state
    if (connection.phase !== 'ready') {
      this.#hasMissed = true
      return
    }
    const { wishes, server } = holdings
    holdings.changesMissed()
    this.#tellLists(server?.capabilities ?? {})
    for (const uri of wishedUris(wishes)) holdings.notify('notifications/resources/updated', { uri })
  }

  #tellLists(capabilities: ServerCapabilities): void {
    for (const [, method, capability] of listKinds)
      if (hasCapability(capabilities, capability)) this.#state.holdings.notify(method, {})
  }

  clear(): void {
    this.#state.world.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#open.clear()
    this.#refused.clear()
    this.#failures = 0
  }

  #tell(wish: Wish): void {
    const { calls, settings } = this.#state
    const { method } = wish
    const params = wish.params()
    if (params === undefined) return
    this.#open.add(wish)
    const done = (outcome: OwnOutcome): void => this.#heard(wish, outcome)
    calls.ask({ method, params, timeout: settings.timeout, done })
  }

  #heard(wish: Wish, outcome: OwnOutcome): void {
    if (!this.#open.delete(wish)) return
    if (outcome.type === 'answer' && 'result' in outcome.message) return this.#lookAgain(wish)
    this.#state.holdings.counts.troubles += 1
    if (!mayPass(outcome)) return
    this.#refused.add(wish)
    this.#timer ??= this.#tellLater(outcome)
  }

  /** Whoever subscribed looks once more, as with the stream of 2026-07-28. */
  #lookAgain({ method, params }: Wish): void {
    const wished = params()
    if (this.#isBack && method === 'resources/subscribe' && wished !== undefined)
      this.#state.holdings.notify('notifications/resources/updated', wished)
  }

  /** The first that is refused decides when all of them are told again. */
  #tellLater(outcome: OwnOutcome): unknown {
    const { world, backoff, connection } = this.#state
    const invited = outcome.type === 'lost' ? invitationIn(outcome.error, world.date()) : undefined
    const pause = pauseAfter({ failures: this.#failures, awaited: false, busy: 0 }, backoff)
    this.#failures += 1
    const again = (): void => {
      this.#timer = undefined
      const refused = [...this.#refused]
      this.#refused.clear()
      // the next connection hears of all
      if (connection.phase === 'ready') for (const wish of refused) this.#tell(wish)
    }
    return world.setTimeout(again, Math.min(backoff.cap, invited ?? 0) + pause)
  }
}

function mayPass(outcome: OwnOutcome): boolean {
  if (outcome.type === 'lost') return outcome.error.retryable
  if (outcome.type === 'answer' && 'error' in outcome.message)
    return serverError(outcome.message.error).retryable
  return outcome.type === 'timeout'
}
