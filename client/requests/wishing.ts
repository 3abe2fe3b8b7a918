import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import { isLoggingLevel, type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'
import { isModernRevision } from '../../protocol/dialects/versions.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { among } from '../../runtime/base/near.js'
import { readRoots } from '../options/answers.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import { callError } from '../base/errors.js'
import { bad, readText } from '../base/read-options.js'
import { actorOf, type ClientParts } from './parts.js'
import { onceReady } from './ready.js'
import type { Requests } from './requests.js'
import { isWished, type Wisher, wishedLevel } from '../holdings/wishes.js'

/** Subscriptions of one client; more are refused in the caller. */
const maxSubscriptions = 10_000

/** Wishes outlast a connection: they are told now and in every later session. */
export class Wishing {
  readonly #parts: ClientParts
  readonly #requests: Requests
  readonly #wisher: Wisher

  /** `wisher`: whose wishes; default the client's user. */
  constructor(parts: ClientParts, requests: Requests, wisher: Wisher = parts.holdings.wishes) {
    this.#parts = parts
    this.#requests = requests
    this.#wisher = wisher
  }

  async setLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    if (!isLoggingLevel(level))
      throw bad('level', among('a level', loggingLevels, String(level), { warn: 'warning' }), level)
    const wisher = this.#wisher
    const { hasEnvelopes, left } = await this.#begin('logging/setLevel', options)
    if (hasEnvelopes) {
      wisher.level = level // it goes with every request from here on
      return
    }
    const before = wisher.level
    wisher.level = level
    try {
      const wished = wishedLevel(this.#parts.holdings.wishes)
      await this.#requests.make('logging/setLevel', { level: wished }, left)
    } catch (error) {
      // another level may have been set meanwhile
      if (wisher.level === level) wisher.level = before
      throw error
    }
  }

  async subscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    const { uris } = this.#wisher
    if (uris.size >= maxSubscriptions && !uris.has(uri))
      throw bad('uri', `one of at most ${maxSubscriptions} that are subscribed to`, uri)
    const { hasEnvelopes, left } = await this.#begin('resources/subscribe', options)
    const isNew = !uris.has(uri)
    // before the server is asked, so that another program that unsubscribes meanwhile sees it
    uris.add(uri)
    try {
      await (hasEnvelopes ? this.#listenTo(uri, left) : this.#make('resources/subscribe', uri, left))
    } catch (error) {
      if (isNew) uris.delete(uri)
      throw error
    }
  }

  async unsubscribe(given: string, options?: CallOptions): Promise<void> {
    const uri = readText(given, 'uri')
    this.#wisher.uris.delete(uri)
    const { hasEnvelopes, left } = await this.#begin('resources/unsubscribe', options)
    if (hasEnvelopes) await this.#sync(left)
    else if (!isWished(this.#parts.holdings.wishes, uri)) await this.#make('resources/unsubscribe', uri, left)
  }

  /** A program has gone: takes back what no other wants, without waiting. */
  leave(): void {
    const { wishes, state, server } = this.#parts.holdings
    const before = wishedLevel(wishes)
    wishes.others.delete(this.#wisher)
    if (state.phase !== 'ready') return
    if (isModernRevision(server?.revision ?? '')) return this.listenersChanged()
    for (const uri of this.#wisher.uris)
      if (!isWished(wishes, uri)) this.#make('resources/unsubscribe', uri).catch(() => {})
    const level = wishedLevel(wishes)
    if (level !== undefined && level !== before)
      this.#requests.make('logging/setLevel', { level }).catch(() => {})
  }

  setRoots(roots: readonly Root[]): void {
    const { holdings, settings } = this.#parts
    if (settings.answers.roots === undefined)
      throw bad('roots', 'a client that was given the option roots: without it they are not declared', roots)
    holdings.wishes.roots = Object.freeze([...readRoots(roots)])
    actorOf(this.#parts).cast('rootsChanged')
  }

  /** In 2026-07-28 the server tells only what was asked for. */
  listenersChanged(): void {
    actorOf(this.#parts).cast('wished')
  }

  /** Whether requests carry wishes (2026-07-28), which is known once ready, and what time is left then. */
  async #begin(method: string, options: CallOptions | undefined): Promise<Begun> {
    const left = await onceReady(this.#parts, method, options)
    const { server } = this.#parts.holdings
    return { hasEnvelopes: isModernRevision(server?.revision ?? ''), left }
  }

  async #make(method: string, uri: string, options?: CallOptions): Promise<void> {
    await this.#requests.make(method, { uri }, options)
  }

  async #listenTo(uri: string, options: CallOptions | undefined): Promise<void> {
    const { server } = this.#parts.holdings
    if (!hasCapability(server?.capabilities ?? {}, 'resources.subscribe')) throw notOffered(uri)
    const { resourceSubscriptions = [] } = await this.#sync(options)
    if (!resourceSubscriptions.includes(uri)) throw notOffered(uri)
  }

  async #sync(options: CallOptions | undefined): Promise<SubscriptionFilter> {
    const { timeout, signal } = readCallOptions(options, this.#parts.settings.timeout)
    const answer = actorOf(this.#parts).call('sync', undefined, { timeout })
    const limits = {
      clock: this.#parts.holdings.world,
      ms: Number.POSITIVE_INFINITY, // the call has one
      late: () => answer,
      signal,
      aborted: (cause: unknown) => {
        const text = `subscriptions/listen: the caller gave it up (${messageOf(cause)})`
        throw callError('CANCELLED', text, { sent: true, retryable: false, cause })
      },
    }
    try {
      return await waitWithin<SubscriptionFilter>(limits, (resolve, reject) => {
        answer.then(resolve, reject)
        return undefined
      })
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      const code = error.code === 'TIMEOUT' ? 'TIMEOUT' : 'CONNECTION_LOST'
      throw callError(code, `subscriptions/listen: ${messageOf(error)}`, { sent: true, cause: error })
    }
  }
}

interface Begun {
  readonly hasEnvelopes: boolean
  readonly left: CallOptions | undefined
}

function notOffered(uri: string) {
  const text = `the server does not tell of changes of ${uri.slice(0, 200)}`
  return callError('NOT_SUPPORTED', text, { sent: true, retryable: false })
}
