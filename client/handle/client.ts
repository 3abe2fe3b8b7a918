import { inspect as shown } from 'node:util'
import type { JsonObject } from '../../protocol/wire/json.js'
import {
  isNotificationMethod,
  type Method,
  type NotificationMethod,
  type NotificationParams,
  type NotificationTo,
  type Params,
  type RequestTo,
  type Result,
} from '../../protocol/messages/methods.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'
import type { Clock } from '../../runtime/time/clock.js'
import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { handled } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { LinkStats } from '../../transports/link/gauge.js'
import type { CallOptions } from '../options/call-options.js'
import { Caller } from '../requests/caller.js'
import type { clientActor } from '../connection/client-actor.js'
import type { Holdings } from '../holdings/holdings.js'
import { listenedTo } from '../connection/listening.js'
import { clientActorName } from '../base/names.js'
import type { ClientSettings } from '../options/options.js'
import { bad, readFunction, readText } from '../base/read-options.js'
import { Requests } from '../requests/requests.js'
import { type FeatureSource, ServerFeatures } from './server-features.js'
import type { ClientCounts, ClientState, ServerFacts, Undo } from '../base/state.js'
import { newsStream, stateStream } from './streams.js'
import { type ReadyOptions, readReadyOptions, whenReady } from './when-ready.js'
import { Wishing } from '../requests/wishing.js'

/** What a handle is made of; the rest is found by name. */
export interface ClientParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
  /** Shuts this handle, and no other, once it aborts. */
  readonly gate?: AbortSignal
  /** Ends what was started for this client alone; called once it is closed. */
  readonly stop: () => Promise<void>
}

/** A client as people look at it. */
export interface ClientInspection {
  readonly name: string
  readonly transport: string
  readonly state: ClientState
  readonly server: ServerFacts | undefined
  readonly waiting: number
  readonly inFlight: number
  readonly counts: Readonly<ClientCounts>
  /** What went over all its connections; what is not valid JSON-RPC among it is `counts.junk`. */
  readonly link: LinkStats
  /** Its part of the tree; undefined before the first start and after the end. */
  readonly tree: TreeNode | undefined
}

/** The requests of the protocol that a user makes; `initialize` is the client's own affair. */
export type RequestMethod = Exclude<RequestTo<'server'>, 'initialize'>

/** The arguments of `request` after a known method: params may be left out when all of their fields may. */
export type RequestArgs<P> =
  Record<never, never> extends P ? [params?: P, options?: CallOptions] : [params: P, options?: CallOptions]

/**
 * A handle to a client. It holds a name, not a process: it goes on working when the server, the connection or
 * an actor dies and comes back. Every call settles within its timeout; a rejection that nobody awaits is
 * never fatal. Calls reject with ClientError (with `data.sent` and `retryable`), or with McpError when that
 * is the server's answer. Its methods work on their own, too: `const { callTool } = client`.
 */
export class Client extends ServerFeatures implements AsyncDisposable {
  protected readonly source: FeatureSource
  readonly #parts: ClientParts
  readonly #caller: Caller
  readonly #requests: Requests
  readonly #wishing: Wishing
  #closing: Promise<void> | undefined

  constructor(parts: ClientParts) {
    super()
    bindMethods(this, methods)
    const { registry, settings, holdings, gate } = parts
    const clock = (): Clock => registry.clockOf(clientActorName(settings.name))
    this.#parts = parts
    this.#caller = new Caller(registry, settings, { holdings, gate })
    this.#requests = new Requests({ caller: this.#caller, settings, holdings, clock })
    const ready = (timeout: number): Promise<void> => this.ready({ timeout })
    this.#wishing = new Wishing({ registry, settings, holdings, requests: this.#requests, ready })
    this.source = {
      request: (method, params, options) => this.request<RequestMethod>(method, params, options) as never,
      callTool: (name, args, options) => this.#requests.callTool(name, args, options),
      get server() {
        return holdings.server
      },
    }
  }

  get name(): string {
    return this.#parts.settings.name
  }

  /** What it is doing now. */
  get state(): ClientState {
    return this.#parts.holdings.state
  }

  /** The server of the current session, or of the last one; undefined before the first. */
  get server(): ServerFacts | undefined {
    return this.#parts.holdings.server
  }

  /** The supervisor of the client, as a process; undefined before the first start. */
  get ref(): ProcessRef | undefined {
    return this.#parts.holdings.group
  }

  /** The names of its tree: `client NAME`, `transport of client NAME`. */
  get registry(): Registry {
    return this.#parts.registry
  }

  /** Resolves when the client is closed; rejects with GAVE_UP when it crashed too often to be restarted. */
  get closed(): Promise<void> {
    return this.#parts.holdings.closed
  }

  /**
   * Resolves once calls can be sent. Rejects at once when trying again is of no use (CONNECT_FAILED with the
   * cause, NO_COMMON_REVISION), with GAVE_UP or CLOSED, with NOT_READY after `timeout` ms (default: the
   * client's `timeout`), and with CANCELLED or BAD_OPTION.
   */
  ready(options?: ReadyOptions): Promise<void> {
    const { holdings, registry, settings } = this.#parts
    const clock = registry.clockOf(clientActorName(settings.name))
    return handled(whenReady(holdings, clock, () => readReadyOptions(options, settings.timeout)))
  }

  /**
   * Tries again now, instead of after the next pause, or at all where trying again was of no use (a missing
   * command that was installed since, a 401 that was mended). A connection that there is, or that is on its
   * way, stays. Settles as `ready(options)` does.
   */
  reconnect(options?: ReadyOptions): Promise<void> {
    return handled(this.#reconnect(options))
  }

  /** Wants log messages of this level and above, in this session and in those that follow. */
  setLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    return handled(this.#wishing.setLevel(level, options))
  }

  /**
   * Wants to hear of changes of a resource (`notifications/resources/updated`), in this session and in those
   * that follow. Rejects with NOT_SUPPORTED, or with McpError, where the server does not tell them.
   */
  subscribe(uri: string, options?: CallOptions): Promise<void> {
    return handled(this.#wishing.subscribe(uri, options))
  }

  /** Does not want to hear of changes of a resource any more. */
  unsubscribe(uri: string, options?: CallOptions): Promise<void> {
    return handled(this.#wishing.unsubscribe(uri, options))
  }

  /**
   * Other places that the server may work in; it is told that they changed. Throws BAD_OPTION, also for a
   * client without the option `roots`.
   */
  setRoots(roots: readonly Root[]): void {
    this.#wishing.setRoots(roots)
  }

  /**
   * Makes any request; params and result of the methods of the protocol are inferred, and the result is
   * checked.
   */
  request<M extends RequestMethod>(method: M, ...args: RequestArgs<Params<M>>): Promise<Result<M>>
  request<M extends string>(
    method: M extends Method ? never : M,
    params?: object,
    options?: CallOptions,
  ): Promise<JsonObject>
  request(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    return handled(this.#requests.make(method, params, options))
  }

  /** Sends a notification; resolves once the transport has it. */
  notify<N extends NotificationTo<'server'>>(method: N, params?: NotificationParams<N>): Promise<void>
  notify<N extends string>(method: N extends NotificationMethod ? never : N, params?: object): Promise<void>
  notify(method: string, params?: object): Promise<void> {
    return handled(this.#caller.call({ method, params, wantsAnswer: false }).then(() => {}))
  }

  /**
   * Calls `fn` at every change of the state until the returned function is called. What it throws stops
   * nobody.
   */
  onState(fn: (state: ClientState) => void): Undo {
    readFunction(fn, 'fn')
    return this.#parts.holdings.watch(fn)
  }

  /** The states from now on, the present one first, until the client is closed or given up. */
  states(): AsyncIterableIterator<ClientState> {
    return stateStream(this.#parts.holdings)
  }

  /**
   * Calls `fn` for every notification of that method; any number of handlers may be there, and one that
   * throws stops none.
   */
  onNotification<N extends NotificationTo<'client'>>(
    method: N,
    fn: (params: NotificationParams<N>) => void,
  ): Undo
  onNotification<N extends string>(
    method: N extends NotificationMethod ? never : N,
    fn: (params: JsonObject) => void,
  ): Undo
  onNotification(method: string, fn: (params: never) => void): Undo {
    readText(method, 'method')
    if (isNotificationMethod(`notifications/${method}`))
      throw bad('method', `the whole name, notifications/${method}`, method)
    readFunction(fn, 'fn')
    const undo = this.#parts.holdings.handle(method, fn as (params: JsonObject) => void)
    if (!listenedTo.has(method)) return undo
    this.#wishing.listenersChanged()
    return () => {
      undo()
      this.#wishing.listenersChanged()
    }
  }

  /**
   * The notifications of that method from now on, until the loop is left or the client has ended; of those
   * that wait, the newest 1,000.
   */
  notifications<N extends NotificationTo<'client'>>(method: N): AsyncIterableIterator<NotificationParams<N>>
  notifications<N extends string>(
    method: N extends NotificationMethod ? never : N,
  ): AsyncIterableIterator<JsonObject>
  notifications(method: string): AsyncIterableIterator<never> {
    const listen = (fn: (params: never) => void): Undo =>
      this.onNotification<string>(method, fn as (params: JsonObject) => void)
    return newsStream(listen, this.#parts.holdings)
  }

  /** The client, its counters and its part of the tree, read in one go. */
  inspect(): ClientInspection {
    const { holdings, settings } = this.#parts
    const { state, server, counts, group } = holdings
    return {
      name: settings.name,
      transport: settings.transport.name,
      state,
      server,
      ...holdings.load(),
      counts: { ...counts },
      link: holdings.gauge.read(),
      tree: group?.alive === true ? inspect(group) : undefined,
    }
  }

  [shown.custom](): string {
    const { waiting, inFlight } = this.#parts.holdings.load()
    return `<client ${this.name} ${this.state.phase}, ${inFlight} in flight, ${waiting} waiting>`
  }

  /**
   * Ends the connection in an orderly way, and with it whatever was started for this client; calls that wait
   * reject with CLOSED. Never rejects, and may be called again. A client that was embedded in another tree
   * stays there, closed, until its parent ends it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * For pools: another handle to this client, whose calls are refused, and given up, with the reason of
   * `gate` once that aborts.
   */
  lend(gate: AbortSignal): Client {
    return handleTo({ ...this.#parts, gate })
  }

  async #reconnect(options: ReadyOptions | undefined): Promise<void> {
    const { registry, settings } = this.#parts
    const { timeout } = readReadyOptions(options, settings.timeout)
    const actor = registry.named<typeof clientActor>(clientActorName(settings.name))
    // One that is just being started begins with an attempt.
    if (actor.current !== undefined) await actor.call('reconnect', undefined, { timeout }).catch(() => {})
    await this.ready(options)
  }

  async #close(): Promise<void> {
    const { holdings, registry, settings, stop } = this.#parts
    holdings.closing = true
    const actor = registry.named<typeof clientActor>(clientActorName(settings.name))
    // The transport bounds its own end; a client that is just being restarted finds out from the holdings.
    if (actor.current !== undefined) await actor.call('close', undefined, { timeout: 10_000 }).catch(() => {})
    await stop().catch(() => {})
    holdings.end({ phase: 'closed', reason: undefined, attempt: 0, delay: undefined })
  }
}

/** Out here: a class that names itself in its body is called something else once it is bundled. */
function handleTo(parts: ClientParts): Client {
  return new Client(parts)
}

const methods = methodNames(Client)
