import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import { isLoggingLevel, type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'
import { isModernRevision } from '../../protocol/dialects/versions.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import type { Registry } from '../../runtime/process/registry.js'
import { readRoots } from '../options/answers.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import type { clientActor } from '../connection/client-actor.js'
import { callError } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'
import { clientActorName } from '../base/names.js'
import type { ClientSettings } from '../options/options.js'
import { bad, readText } from '../base/read-options.js'
import type { Requests } from './requests.js'
import { isWished, type Wisher, wishedLevel } from '../holdings/wishes.js'

/** What wishes are made with. */
export interface WishingParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
  readonly requests: Requests
  ready(timeout: number): Promise<void>
  /** Who wishes. Default the user of the client. */
  readonly wisher?: Wisher
}

/** Resources that one client may subscribe to; more are refused in the caller. */
const maxSubscriptions = 10_000

/**
 * Wishes of a user that outlast a connection: the server is told now, and again in every session that
 * follows.
 */
export class Wishing {
  readonly #parts: WishingParts
  readonly #wisher: Wisher

  constructor(parts: WishingParts) {
    this.#parts = parts
    this.#wisher = parts.wisher ?? parts.holdings.wishes
  }

  async setLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    if (!isLoggingLevel(level))
      throw bad('level', among('a level', loggingLevels, String(level), { warn: 'warning' }), level)
    const { holdings, requests } = this.#parts
    const wisher = this.#wisher
    if (await this.#hasEnvelopes(options)) {
      wisher.level = level // it goes with every request from here on
      return
    }
    const before = wisher.level
    wisher.level = level
    try {
      await requests.make('logging/setLevel', { level: wishedLevel(holdings.wishes) }, options)
    } catch (error) {
      // another one may have been wanted meanwhile
      if (wisher.level === level) wisher.level = before
      throw error
    }
  }

  async subscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    const { uris } = this.#wisher
    if (uris.size >= maxSubscriptions && !uris.has(uri))
      throw bad('uri', `one of at most ${maxSubscriptions} that are subscribed to`, uri)
    const hasEnvelopes = await this.#hasEnvelopes(options)
    const isNew = !uris.has(uri)
    // Before the server is asked: who unsubscribes meanwhile sees that it is still wanted.
    uris.add(uri)
    try {
      await (hasEnvelopes ? this.#listenTo(uri, options) : this.#make('resources/subscribe', uri, options))
    } catch (error) {
      if (isNew) uris.delete(uri)
      throw error
    }
  }

  async unsubscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    this.#wisher.uris.delete(uri)
    if (await this.#hasEnvelopes(options)) await this.#sync(options)
    else if (!isWished(this.#parts.holdings.wishes, uri))
      await this.#make('resources/unsubscribe', uri, options)
  }

  /**
   * One of those that the client is shared with has gone: what nobody else wants is taken back, and nobody
   * waits for the answers.
   */
  leave(): void {
    const { holdings, requests } = this.#parts
    const { wishes, state, server } = holdings
    const before = wishedLevel(wishes)
    wishes.others.delete(this.#wisher)
    if (state.phase !== 'ready') return
    if (isModernRevision(server?.revision ?? '')) return void this.#actor().cast('wished')
    for (const uri of this.#wisher.uris)
      if (!isWished(wishes, uri)) this.#make('resources/unsubscribe', uri).catch(() => {})
    const level = wishedLevel(wishes)
    if (level !== undefined && level !== before) requests.make('logging/setLevel', { level }).catch(() => {})
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

  async #make(method: string, uri: string, options?: CallOptions): Promise<void> {
    await this.#parts.requests.make(method, { uri }, options)
  }

  async #listenTo(uri: string, options: CallOptions | undefined): Promise<void> {
    const { server } = this.#parts.holdings
    if (!hasCapability(server?.capabilities ?? {}, 'resources.subscribe')) throw notOffered(uri)
    const { resourceSubscriptions = [] } = await this.#sync(options)
    if (!resourceSubscriptions.includes(uri)) throw notOffered(uri)
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
