import { inspect as shown } from 'node:util'
import { hasCapability, missingCapability } from '../../protocol/dialects/capabilities.js'
import { acceptsRequest } from '../../protocol/dialects/dialect.js'
import { dialectOf, modernDialectOf } from '../../protocol/dialects/versions.js'
import {
  isMethod,
  isNotificationMethod,
  type Method,
  type NotificationMethod,
  type NotificationParams,
  type NotificationTo,
  type Params,
  type RequestTo,
  type Result,
} from '../../protocol/messages/methods.js'
import type { CompleteResult } from '../../protocol/messages/completion.js'
import type { Resource } from '../../protocol/messages/content.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { ListPromptsResult, Prompt } from '../../protocol/messages/prompts.js'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ResourceTemplate,
} from '../../protocol/messages/resources.js'
import type { Root } from '../../protocol/messages/roots.js'
import type { ListToolsResult } from '../../protocol/messages/tools.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import { handled, handledLate } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import type { LinkStats } from '../../transports/link/gauge.js'
import { callError } from '../base/errors.js'
import { bad, readArgument, readFunction, readObject, readText } from '../base/read-options.js'
import type { ClientCounts, ClientState, ServerFacts, Undo } from '../base/state.js'
import { listenedTo } from '../connection/listening.js'
import type { CallOptions, ToolCallOptions } from '../options/call-options.js'
import { allPages, type PageOptions, type PagesOptions, readPageOptions } from '../requests/pages.js'
import { actorOf, type ClientParts } from '../requests/parts.js'
import { type ReadyOptions, readReadyOptions, whenReady } from '../requests/ready.js'
import { Requests } from '../requests/requests.js'
import {
  type PromptResult,
  promptResult,
  type ResourceResult,
  resourceResult,
  type ToolResult,
} from '../requests/results.js'
import { Tasks } from '../requests/tasks.js'
import { Wishing } from '../requests/wishing.js'
import type { Skill } from '../skills/skill.js'
import { Skills } from '../skills/skills.js'
import { newsStream, stateStream } from './streams.js'
import { type AllTools, type TypedTools, typedTools } from './typed-tools.js'

/** A client as `inspect()` shows it. */
export interface ClientInspection {
  readonly name: string
  readonly transport: string
  readonly state: ClientState
  readonly server: ServerFacts | undefined
  readonly waiting: number
  readonly inFlight: number
  readonly counts: Readonly<ClientCounts>
  /** What went over all its connections; messages that are not valid JSON-RPC count in `counts.junk`. */
  readonly link: LinkStats
  /** Its part of the tree; undefined before the first start and after the end. */
  readonly tree: TreeNode | undefined
}

/** The requests of the protocol that a user makes; `initialize` is made by the client itself. */
export type RequestMethod = Exclude<RequestTo<'server'>, 'initialize'>

/** The arguments of `request` after a known method: params may be left out when all of their fields may. */
export type RequestArgs<P> =
  Record<never, never> extends P ? [params?: P, options?: CallOptions] : [params: P, options?: CallOptions]

type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/**
 * A handle to a client by its name: it survives restarts of server, connection and actors. Calls settle
 * within their timeout; unawaited rejections are never fatal. They reject with ClientError (`data.sent`,
 * `retryable`), or McpError for the server's answer. Methods work unbound: `const { callTool } = client`.
 */
export class Client<Served = unknown> implements AsyncDisposable {
  readonly #parts: ClientParts
  readonly #requests: Requests
  readonly #wishing: Wishing
  readonly #skills: Skills
  #tasks: Tasks | undefined
  #tools: (AllTools & TypedTools<Served>) | undefined
  #closing: Promise<void> | undefined

  constructor(parts: ClientParts) {
    bindMethods(this, methods)
    this.#parts = parts
    this.#requests = new Requests(parts)
    this.#wishing = new Wishing(parts, this.#requests)
    this.#skills = new Skills(parts, this.#requests)
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
   * Resolves once calls can be sent. Rejects with NOT_READY after `timeout` ms (default: the client's), and
   * with CONNECT_FAILED, NO_COMMON_REVISION, GAVE_UP, CLOSED, CANCELLED or BAD_OPTION.
   */
  ready(options?: ReadyOptions): Promise<void> {
    return handled(whenReady(this.#parts, options))
  }

  /** Connects now, not after the pause, also when failed; keeps a live connection. Settles as `ready`. */
  reconnect(options?: ReadyOptions): Promise<void> {
    return handled(this.#reconnect(options))
  }

  /** Asks for log messages of this level and above, in this session and in those that follow. */
  setLevel(level: LoggingLevel, options?: CallOptions): Promise<void> {
    return handledLate(this.#wishing.setLevel(level, options))
  }

  /**
   * Asks for `notifications/resources/updated`, in this session and later ones. Rejects with NOT_SUPPORTED,
   * or with McpError, where the server does not tell them.
   */
  subscribe(uri: string, options?: CallOptions): Promise<void> {
    return handledLate(this.#wishing.subscribe(uri, options))
  }

  /** Takes `subscribe(uri)` back. */
  unsubscribe(uri: string, options?: CallOptions): Promise<void> {
    return handledLate(this.#wishing.unsubscribe(uri, options))
  }

  /** Replaces the roots and tells the server. Throws BAD_OPTION, also without the option `roots`. */
  setRoots(roots: readonly Root[]): void {
    this.#wishing.setRoots(roots)
  }

  /**
   * A failed tool has `isError`. Rejects with McpError (no such tool) and BAD_OUTPUT. Where the server runs it
   * as a task, it is waited for all the same, also across connections; `timeout` and `signal` cancel the task.
   * Errors have its `data.taskId` then, among them TASK_LOST and TASK_CANCELLED.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: ToolCallOptions): Promise<ToolResult> {
    return handledLate(this.#requests.callTool(name, args, options))
  }

  /**
   * The tools of the server, as functions by their names: `client.tools.divide({ a: 1, b: 2 })`, the same as
   * `callTool`. They have types where those are known: `startClient<typeof definition>(...)`. Called itself,
   * all that the server lists; a page is fetched when its first tool is wanted.
   */
  get tools(): AllTools & TypedTools<Served> {
    this.#tools ??= typedTools<AllTools & TypedTools<Served>>({
      call: (name, args, options) => this.callTool(name, args, options),
      all: (options = {}) =>
        allPages(
          'tools/list',
          options,
          (page) => this.listTools(page),
          ({ tools }) => tools,
        ),
    })
    return this.#tools
  }

  /** Tools that are run as tasks, for programs that come back for the result. */
  get tasks(): Tasks {
    this.#tasks ??= new Tasks(this.#parts, this.#requests)
    return this.#tasks
  }

  /** One page of the server's tools, the first without a `cursor`. */
  listTools(options: PageOptions = {}, ...others: never[]): Promise<ListToolsResult> {
    return handledLate(this.#listPage('tools/list', options, others))
  }

  /** One page of the server's resources. */
  listResources(options: PageOptions = {}, ...others: never[]): Promise<ListResourcesResult> {
    return handledLate(this.#listPage('resources/list', options, others))
  }

  /** All resources of the server, page by page. */
  resources(options: PagesOptions = {}): AsyncGenerator<Resource, void, undefined> {
    return allPages(
      'resources/list',
      options,
      (page) => this.listResources(page),
      ({ resources }) => resources,
    )
  }

  /** One page of the server's resource templates. */
  listTemplates(options: PageOptions = {}, ...others: never[]): Promise<ListResourceTemplatesResult> {
    return handledLate(this.#listPage('resources/templates/list', options, others))
  }

  /** All resource templates of the server, page by page. */
  templates(options: PagesOptions = {}): AsyncGenerator<ResourceTemplate, void, undefined> {
    const fetch = (page: PageOptions) => this.listTemplates(page)
    return allPages('resources/templates/list', options, fetch, ({ resourceTemplates }) => resourceTemplates)
  }

  /** Reads a resource. Rejects with McpError when there is none: see `isResourceNotFound`. */
  readResource(uri: string, options?: CallOptions): Promise<ResourceResult> {
    return handledLate(this.#readResource(uri, options))
  }

  /** One page of the server's prompts. */
  listPrompts(options: PageOptions = {}, ...others: never[]): Promise<ListPromptsResult> {
    return handledLate(this.#listPage('prompts/list', options, others))
  }

  /** All prompts of the server, page by page. */
  prompts(options: PagesOptions = {}): AsyncGenerator<Prompt, void, undefined> {
    return allPages(
      'prompts/list',
      options,
      (page) => this.listPrompts(page),
      ({ prompts }) => prompts,
    )
  }

  /** The messages of a prompt. */
  getPrompt(name: string, args?: Record<string, string>, options?: CallOptions): Promise<PromptResult> {
    return handledLate(this.#getPrompt(name, args, options))
  }

  /**
   * All skills of the server that it lists, page by page; it may have others (`getSkill`). Reads none of their
   * files. Rejects with NOT_SUPPORTED where the server has not declared `io.modelcontextprotocol/skills`
   * (SEP-2640).
   */
  skills(options: PagesOptions = {}): AsyncGenerator<Skill, void, undefined> {
    return this.#skills.all(options)
  }

  /** The skill of this `SKILL.md`, as it is now. Rejects as `skills`, and with McpError when there is none. */
  getSkill(uri: string, options?: CallOptions): Promise<Skill> {
    return handledLate(this.#skills.get(uri, options))
  }

  /**
   * What lies directly in a directory resource, such as a folder of a skill, page by page: folders have the type
   * `inode/directory`. Rejects with NOT_SUPPORTED where the server has not declared `directoryRead` (SEP-2640).
   */
  readDirectory(uri: string, options: PagesOptions = {}): AsyncGenerator<Resource, void, undefined> {
    return this.#skills.directory(uri, options)
  }

  /** Suggests values for an argument of a prompt or of a resource template. */
  complete(params: Params<'completion/complete'>, options?: CallOptions): Promise<CompleteResult> {
    return this.request('completion/complete', params, options)
  }

  /** Sends `ping`; in 2026-07-28, which has none, `server/discover`. */
  ping(options?: CallOptions): Promise<void> {
    return handledLate(this.#requests.make('ping', {}, options).then(() => {}))
  }

  /** Whether the server offers a method or a capability (`tools.listChanged`); no, before a session. */
  supports(what: string): boolean {
    const { server } = this
    if (server === undefined) return false
    if (!isMethod(what)) return hasCapability(server.capabilities, what)
    const dialect = dialectOf(server.revision) ?? modernDialectOf(server.revision)
    if (dialect === undefined || !acceptsRequest(dialect, 'server', what)) return false
    return missingCapability(what, server.capabilities, dialect) === undefined
  }

  /** Throws NOT_SUPPORTED unless `supports(what)`; NOT_READY before the first session. */
  require(what: string): void {
    const { server } = this
    const details = { sent: false, retryable: false }
    if (server === undefined)
      throw callError('NOT_READY', `require: ${what}: no server was met yet, await ready() first`, details)
    if (this.supports(what)) return
    const { info, capabilities, revision } = server
    const offered = Object.keys(capabilities).join(', ') || 'nothing'
    const message = `require: ${info.name} does not support ${what} (it offers ${offered}, in revision ${revision})`
    throw callError('NOT_SUPPORTED', message, details)
  }

  /** Makes any request; params and result of known methods are inferred, and the result is checked. */
  request<M extends RequestMethod>(method: M, ...args: RequestArgs<Params<M>>): Promise<Result<M>>
  request<M extends string>(
    method: M extends Method ? never : M,
    params?: object,
    options?: CallOptions,
  ): Promise<JsonObject>
  request(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    return handledLate(this.#requests.make(method, params, options))
  }

  /** Sends a notification; resolves once the transport has it. */
  notify<N extends NotificationTo<'server'>>(method: N, params?: NotificationParams<N>): Promise<void>
  notify<N extends string>(method: N extends NotificationMethod ? never : N, params?: object): Promise<void>
  notify(method: string, params?: object): Promise<void> {
    return handledLate(this.#requests.notify(method, params))
  }

  /** Calls `fn` at every change of the state until the returned function is called; its throws are caught. */
  onState(fn: (state: ClientState) => void): Undo {
    readFunction(fn, 'fn')
    return this.#parts.holdings.watch(fn)
  }

  /** The states from now on, the present one first, until the client is closed or given up. */
  states(): AsyncIterableIterator<ClientState> {
    return stateStream(this.#parts.holdings)
  }

  /** Calls `fn` for every notification of that method; a handler that throws stops no other. */
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
   * The notifications of that method from now on, until the loop is left or the client has ended. Of those
   * that wait for a slow reader the newest 1,000 are kept.
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
   * Ends the connection in an orderly way, and the tree of this client; waiting calls reject with CLOSED.
   * Never rejects, and may be called again. An embedded client stays in its tree, closed, until its parent
   * ends it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** For pools: another handle to this client, whose calls end with the reason of `gate` once it aborts. */
  lend(gate: AbortSignal): Client {
    return handleTo({ ...this.#parts, gate })
  }

  async #listPage<M extends ListMethod>(
    method: M,
    options: PageOptions,
    others: readonly unknown[],
  ): Promise<Result<M>> {
    const { page, call } = readPageOptions(options, others)
    return (await this.#requests.make(method, page, call)) as unknown as Result<M>
  }

  async #readResource(given: string, options?: CallOptions): Promise<ResourceResult> {
    const uri = readArgument(given, 'uri', "readResource('file:///a')")
    return resourceResult(await this.request('resources/read', { uri }, options))
  }

  async #getPrompt(
    name: string,
    args: Record<string, string> | undefined,
    options?: CallOptions,
  ): Promise<PromptResult> {
    readArgument(name, 'name', "getPrompt('a_prompt', { a: 'b' })")
    const params =
      args === undefined ? { name } : { name, arguments: readObject(args, 'args') as Record<string, string> }
    return promptResult(await this.request('prompts/get', params, options))
  }

  async #reconnect(options: ReadyOptions | undefined): Promise<void> {
    const { timeout } = readReadyOptions(options, this.#parts.settings.timeout)
    const actor = actorOf(this.#parts)
    // an actor that is just being started begins with an attempt
    if (actor.current !== undefined) await actor.call('reconnect', undefined, { timeout }).catch(() => {})
    await this.ready(options)
  }

  async #close(): Promise<void> {
    const { holdings, stop } = this.#parts
    holdings.closing = true
    const actor = actorOf(this.#parts)
    // the transport bounds its own end; an actor that is just being restarted looks at the holdings
    if (actor.current !== undefined) await actor.call('close', undefined, { timeout: 10_000 }).catch(() => {})
    await stop?.().catch(() => {})
    holdings.end({ phase: 'closed', reason: undefined, attempt: 0, delay: undefined })
  }
}

/** Outside the class: bundlers rename a class that names itself in its body. */
function handleTo(parts: ClientParts): Client {
  return new Client(parts)
}

const methods = methodNames(Client)
