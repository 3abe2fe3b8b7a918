import { hasCapability } from '../protocol/capabilities.js'
import type { SubscriptionFilter } from '../protocol/types/subscriptions.js'
import type { LoggingLevel } from '../protocol/types/notifications.js'
import type { Root } from '../protocol/types/roots.js'
import { isLoggingLevel } from '../protocol/logging.js'
import { isModernRevision } from '../protocol/versions.js'
import { messageOf, RuntimeError } from '../runtime/errors.js'
import type { Registry } from '../runtime/registry.js'
import { readRoots } from './answers.js'
import { type CallOptions, readCallOptions } from './call-options.js'
import type { clientActor } from './client-actor.js'
import { callError } from './errors.js'
import type { Holdings } from './holdings.js'
import { clientActorName } from './names.js'
import type { ClientSettings } from './options.js'
import { bad, readText } from './read-options.js'
import type { Requests } from './requests.js'

/** What wishes are made with. */
export interface WishingParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
  readonly requests: Requests
  ready(timeout: number): Promise<void>
}

/** Resources that one client may subscribe to; more are refused in the caller. */
const maxSubscriptions = 10_000

/** Wishes of a user that outlast a connection: the server is told now, and again in every session that follows. */
export class Wishing {
  readonly #parts: WishingParts

  constructor(parts: WishingParts) {
    this.#parts = parts
  }

  async setLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    if (!isLoggingLevel(level)) throw bad('level', 'a level such as info', level)
    const { wishes } = this.#parts.holdings
    if (await this.#hasEnvelopes(options)) {
      wishes.level = level // it goes with every request from here on
      return
    }
    await this.#parts.requests.make('logging/setLevel', { level }, options)
    wishes.level = level
  }

  async subscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    const { holdings, requests } = this.#parts
    const { uris } = holdings.wishes
    if (uris.size >= maxSubscriptions && !uris.has(uri))
      throw bad('uri', `one of at most ${maxSubscriptions} that are subscribed to`, uri)
    if (!(await this.#hasEnvelopes(options))) {
      await requests.make('resources/subscribe', { uri }, options)
      uris.add(uri)
      return
    }
    if (!hasCapability(holdings.server?.capabilities ?? {}, 'resources.subscribe')) throw notOffered(uri)
    const isNew = !uris.has(uri)
    uris.add(uri)
    try {
      const { resourceSubscriptions = [] } = await this.#sync(options)
      if (!resourceSubscriptions.includes(uri)) throw notOffered(uri)
    } catch (error) {
      if (isNew) uris.delete(uri)
      throw error
    }
  }

  async unsubscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    const { holdings, requests } = this.#parts
    holdings.wishes.uris.delete(uri)
    if (await this.#hasEnvelopes(options)) await this.#sync(options)
    else await requests.make('resources/unsubscribe', { uri }, options)
  }

  /** Takes other roots, and tells the server if there is one that wants to know. */
  setRoots(roots: readonly Root[]): void {
    const { holdings, settings } = this.#parts
    if (settings.answers.roots === undefined)
      throw bad('roots', 'a client that was given the option roots: without it they are not declared', roots)
    holdings.wishes.roots = Object.freeze([...readRoots(roots)])
    this.#actor().cast('rootsChanged')
  }

  /** Whoever hears of what has changed: in 2026-07-28 only those who listen are told. */
  listenersChanged(): void {
    this.#actor().cast('wished')
  }

  /** Which way a wish goes: the era is known once the client is ready. */
  async #hasEnvelopes(options: CallOptions | undefined): Promise<boolean> {
    const { timeout } = readCallOptions(options, this.#parts.settings.timeout)
    if (this.#parts.holdings.state.phase !== 'ready') await this.#parts.ready(timeout)
    return isModernRevision(this.#parts.holdings.server?.revision ?? '')
  }

  async #sync(options: CallOptions | undefined): Promise<SubscriptionFilter> {
    const { timeout } = readCallOptions(options, this.#parts.settings.timeout)
    try {
      return await this.#actor().call('sync', undefined, { timeout })
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      const code = error.code === 'TIMEOUT' ? 'TIMEOUT' : 'CONNECTION_LOST'
      throw callError(code, `subscriptions/listen: ${messageOf(error)}`, { sent: true, cause: error })
    }
  }

  #actor() {
    const { registry, settings } = this.#parts
    return registry.named<typeof clientActor>(clientActorName(settings.name))
  }
}

function notOffered(uri: string) {
  const text = `the server does not tell of changes of ${uri.slice(0, 200)}`
  return callError('NOT_SUPPORTED', text, { sent: true, retryable: false })
}
