import { ProtocolError } from '../protocol/errors.js'
import type { JsonObject } from '../protocol/json.js'
import {
  isMethod,
  type Method,
  type NotificationMethod,
  type NotificationParams,
  type NotificationTo,
  type Params,
  type RequestTo,
  type Result,
} from '../protocol/methods.js'
import { readResult } from '../protocol/params.js'
import type { ListToolsResult, Tool } from '../protocol/types/tools.js'
import { inspect, type TreeNode } from '../runtime/inspect.js'
import { handled } from '../runtime/promise.js'
import type { Registry } from '../runtime/registry.js'
import { Caller } from './caller.js'
import type { clientActor } from './client-actor.js'
import { callError } from './errors.js'
import type { Holdings, Undo } from './holdings.js'
import { clientActorName } from './names.js'
import {
  bad,
  type CallOptions,
  type ClientSettings,
  readCount,
  readFunction,
  readMs,
  readObject,
  readText,
} from './options.js'
import { type ToolResult, toolResult } from './results.js'
import type { ClientCounts, ClientState, ServerFacts } from './state.js'
import { stateStream } from './state-stream.js'
import { whenReady } from './when-ready.js'

/** What a handle is made of; the rest is found by name. */
export interface ClientParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
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
  /** Its part of the tree; undefined before the first start and after the end. */
  readonly tree: TreeNode | undefined
}

/** The requests of the protocol that a user makes; `initialize` is the client's own affair. */
export type RequestMethod = Exclude<RequestTo<'server'>, 'initialize'>

/** The arguments of `request` after a known method: params may be left out when all of their fields may. */
export type RequestArgs<P> =
  Record<never, never> extends P ? [params?: P, options?: CallOptions] : [params: P, options?: CallOptions]

/** What the iterator over all tools may be given. */
export interface ToolsOptions extends CallOptions {
  /** Pages after which it rejects with TOO_MANY_PAGES: a server may go on for ever. Default 100. */
  readonly maxPages?: number
}

/**
 * A handle to a client. It holds a name, not a process: it goes on working when the server, the connection or an actor dies and comes
 * back. Every call settles within its timeout; a rejection that nobody awaits is never fatal. Calls reject with ClientError (with
 * `data.sent` and `retryable`), or with McpError when that is the server's answer.
 */
export class Client implements AsyncDisposable {
  readonly #parts: ClientParts
  readonly #caller: Caller
  #closing: Promise<void> | undefined

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#caller = new Caller(parts.registry, parts.settings, parts.holdings)
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

  /** Resolves when the client is closed; rejects with GAVE_UP when it crashed too often to be restarted. */
  get closed(): Promise<void> {
    return this.#parts.holdings.closed
  }

  /**
   * Resolves once calls can be sent. Rejects at once when trying again is of no use (CONNECT_FAILED with the cause,
   * NO_COMMON_REVISION), with GAVE_UP or CLOSED, and with NOT_READY after `timeout` ms (default: the client's `timeout`).
   */
  ready(timeout?: number): Promise<void> {
    const { holdings, registry, settings } = this.#parts
    const clock = registry.clockOf(clientActorName(settings.name))
    return handled(whenReady(holdings, clock, () => readMs(timeout, 'timeout', settings.timeout)))
  }

  /** Calls a tool. A tool that failed has a result with `isError`; rejects with McpError when there is no such tool. */
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult> {
    return handled(this.#callTool(name, args, options))
  }

  /** One page of the server's tools, the first without a `cursor`. */
  listTools(page: { readonly cursor?: string } = {}, options?: CallOptions): Promise<ListToolsResult> {
    return this.request('tools/list', page, options)
  }

  /** All tools of the server, page after page as they are needed. */
  async *tools(given: ToolsOptions = {}): AsyncGenerator<Tool, void, undefined> {
    const { maxPages, ...options } = readObject(given, 'options') as ToolsOptions
    const limit = readCount(maxPages, 'maxPages', 100)
    let cursor: string | undefined
    for (let page = 0; page < limit; page++) {
      const { tools, nextCursor } = await this.listTools(cursor === undefined ? {} : { cursor }, options)
      yield* tools
      if (nextCursor === undefined) return
      cursor = nextCursor
    }
    throw callError('TOO_MANY_PAGES', `tools/list: the server has more than ${limit} pages`, {
      sent: true,
      retryable: false,
    })
  }

  /** Asks the server for a sign of life. */
  ping(options?: CallOptions): Promise<void> {
    return handled(this.request('ping', undefined, options).then(() => {}))
  }

  /** Makes any request; params and result of the methods of the protocol are inferred, and the result is checked. */
  request<M extends RequestMethod>(method: M, ...args: RequestArgs<Params<M>>): Promise<Result<M>>
  request<M extends string>(
    method: M extends Method ? never : M,
    params?: object,
    options?: CallOptions,
  ): Promise<JsonObject>
  request(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    return handled(this.#request(method, params, options))
  }

  /** Sends a notification; resolves once the transport has it. */
  notify<N extends NotificationTo<'server'>>(method: N, params?: NotificationParams<N>): Promise<void>
  notify<N extends string>(method: N extends NotificationMethod ? never : N, params?: object): Promise<void>
  notify(method: string, params?: object): Promise<void> {
    return handled(this.#caller.call({ method, params, wantsAnswer: false }).then(() => {}))
  }

  /** Calls `fn` at every change of the state until the returned function is called. What it throws stops nobody. */
  onState(fn: (state: ClientState) => void): Undo {
    readFunction(fn, 'fn')
    return this.#parts.holdings.watch(fn)
  }

  /** The states from now on, the present one first, until the client is closed or given up. */
  states(): AsyncIterableIterator<ClientState> {
    return stateStream(this.#parts.holdings)
  }

  /** Calls `fn` for every notification of that method; any number of handlers may be there, and one that throws stops none. */
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
    readFunction(fn, 'fn')
    return this.#parts.holdings.handle(method, fn as (params: JsonObject) => void)
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
      tree: group?.alive === true ? inspect(group) : undefined,
    }
  }

  /**
   * Ends the connection in an orderly way, and with it whatever was started for this client; calls that wait reject with CLOSED. Never
   * rejects, and may be called again. A client that was embedded in another tree stays there, closed, until its parent ends it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #callTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: CallOptions,
  ): Promise<ToolResult> {
    readText(name, 'name')
    const params = args === undefined ? { name } : { name, arguments: readObject(args, 'args') }
    return toolResult(await this.request('tools/call', params, options))
  }

  async #request(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    if (method === 'initialize')
      throw bad('method', 'any but initialize, which the client sends itself', method)
    const result = await this.#caller.call({ method, params, wantsAnswer: true, options })
    return isMethod(method) ? checkResult(method, result) : result
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

function checkResult<M extends Method>(method: M, result: JsonObject): JsonObject {
  try {
    return readResult(method, result) as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
  }
}
