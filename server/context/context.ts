import { isObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { NotificationParams, NotificationTo } from '../../protocol/messages/methods.js'
import type { Implementation, ProgressToken } from '../../protocol/messages/types/base.js'
import type { ClientCapabilities } from '../../protocol/messages/types/capabilities.js'
import type { ElicitResult } from '../../protocol/messages/types/elicitation.js'
import type { LoggingLevel } from '../../protocol/messages/types/notifications.js'
import type { Root } from '../../protocol/messages/types/roots.js'
import type { CreateMessageResult } from '../../protocol/messages/types/sampling.js'
import { show } from '../../runtime/base/errors.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Principal } from '../../transports/contract/principal.js'
import { type Ask, type AskOptions, type Elicitation, Questions, type Sampling } from './ask.js'
import { DeferredAnswer } from './deferred-answer.js'
import { checkAllowed } from './scopes.js'
import { ServerError, optionError } from '../base/errors.js'
import { PeerFacts, type RequestFacts, type TransportFacts } from './request-facts.js'
import type { Changes, ListKind } from './changes.js'
import { mergedAssigns } from './session-frame.js'
import type { ToolReturn } from '../results/results.js'
import { toBeAwaited } from '../base/to-be-awaited.js'
import { checkKey, copy } from './state-values.js'
import type { StateValue } from './session-state.js'
import type { Once } from './steps.js'

/** Who is served by a request, and how. */
export interface SessionFacts {
  /** The session that the request belongs to; undefined where the revision has no sessions (2026-07-28). */
  readonly id: string | undefined
  /** Who the client says it is: for display, never for behaviour or security. */
  readonly client: Readonly<Implementation>
  readonly revision: string
  readonly capabilities: Readonly<ClientCapabilities>
}

/** A session: only requests of 2026-07-28 have none. */
export interface OpenSessionFacts extends SessionFacts {
  readonly id: string
}

/** What a context is made from: the request's own facts, and its ways to the session and to the client. */
export interface RequestScope {
  readonly session: SessionFacts
  readonly requestId: RequestId
  readonly request: RequestFacts
  readonly progressToken: ProgressToken | undefined
  readonly peer: Peer
  readonly signal: AbortSignal
  /** What was assigned to the session; undefined where there is none. */
  readonly assigned: Readonly<Record<string, unknown>> | undefined
  /** Throws NO_SESSION. */
  assign(values: object): void
  readonly changes: Changes
  /**
   * Sends a notification that belongs to this request; false when nobody takes it, or the revision does not
   * have it.
   */
  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean
  /** Whether the client wants logs of this level. Throws BAD_OPTION for what is no level. */
  wantsLog(level: LoggingLevel): boolean
  readonly ask: Ask
  readonly once: Once
  /** Ends the connection early, if the client will come back. */
  release?(): boolean
  read(key: string): Promise<StateValue>
  /** Answers undefined when the value was taken, and otherwise the value that came in between. */
  swap(key: string, version: number, value: unknown): Promise<StateValue | undefined>
}

/**
 * A function, whatever it takes; without a signature here, its parameters keep the types that it gives them.
 */
interface AnyFunction {
  readonly name: string
  readonly length: number
}

type Returned<Fn> = Fn extends (...args: never[]) => infer Value ? Awaited<Value> : never

/**
 * What a tool, a resource, a prompt or a completer may do besides computing its result; good for one request,
 * and without effect after it.
 */
export class ToolContext {
  readonly #scope: RequestScope
  #questions: Questions | undefined
  #transport: TransportFacts | undefined
  #progress = Number.NEGATIVE_INFINITY

  constructor(scope: RequestScope) {
    this.#scope = scope
  }

  /**
   * Who is served: the session's facts, or, where the revision has no sessions, those of this request,
   * without an id.
   */
  get session(): SessionFacts {
    return this.#scope.session
  }

  get requestId(): RequestId {
    return this.#scope.requestId
  }

  /** The request that is being worked on: its id, its method, and its params as they came. */
  get request(): RequestFacts {
    return this.#scope.request
  }

  /** How the request came in: headers, query, address; never kept with the session. */
  get transport(): TransportFacts {
    this.#transport ??= new PeerFacts(this.#scope.peer)
    return this.#transport
  }

  /** What the listener knows of who sent the request; see `transport` and `assigns`. */
  get peer(): Peer {
    return this.#scope.peer
  }

  /**
   * What was assigned to the session (`assign`), and, counting more, what the middleware of a host program
   * says of this very request (`mount`), which is never kept. Empty where nothing was said.
   */
  get assigns(): Readonly<Record<string, unknown>> {
    return mergedAssigns(this.#scope.assigned, this.#scope.peer.assigns)
  }

  /**
   * Gives the session values of any kind, such as a connection: later requests of this session, and no other,
   * find them in `assigns`, as long as the session runs in this program. They are not stored: a session that
   * is brought back gets them from `init` again. Throws NO_SESSION where the revision has no sessions
   * (2026-07-28), and BAD_OPTION for what is no object. Unlike `update`, it waits for nobody, and the last
   * one counts.
   */
  assign(values: Readonly<Record<string, unknown>>): void {
    if (!isObject(values)) throw optionError('values', `assign: expected an object, got ${show(values)}`)
    this.#scope.assign(values)
  }

  /**
   * Tells all sessions and streams that listen to this very uri that its resource has changed. Rejects with
   * BAD_OPTION for what is no uri.
   */
  async resourceUpdated(uri: string): Promise<void> {
    await this.#scope.changes.resourceUpdated(uri)
  }

  /**
   * Tells all sessions and streams that a list has changed, where the author answers it (`handleRequest`):
   * what is added by `server.addTool` and the like is told anyway. Rejects with BAD_OPTION for what is no
   * list, or one that the server does not declare.
   */
  async listChanged(list: ListKind): Promise<void> {
    await this.#scope.changes.listChanged(list)
  }

  /**
   * Who uses this, in the author's own words: `user` of the assigns, or else the claims of the principal.
   * `createApp` gives it a type.
   */
  get user(): unknown {
    return this.assigns.user ?? this.principal?.claims
  }

  /**
   * Who calls, where the listener or the host program has found out. The session belongs to this issuer and
   * subject.
   */
  get principal(): Principal | undefined {
    return this.#scope.peer.principal
  }

  /**
   * Throws McpError 403 unless the caller has all these scopes, for what depends on the arguments: let
   * through, the client is told to ask for them, like for the `scopes` of a component. Nobody in particular
   * has none; on standard input nobody is asked.
   */
  requireScopes(...scopes: readonly string[]): void {
    checkAllowed(this.#scope.peer, { scopes })
  }

  /**
   * Aborted when the client cancels the call, when its time is up, when its session ends, and in 2026-07-28
   * when the client goes away.
   */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Tells the client how far the work is, if it wants to know; false when nobody was told. Progress that does
   * not grow or is not finite is not sent (specification: progress), and neither is a total that is not
   * finite. Throws BAD_OPTION for what is no number or no text.
   */
  progress(progress: number, total?: number, message?: string): boolean {
    checkType('progress', 'number', progress)
    if (total !== undefined) checkType('progress: total', 'number', total)
    if (message !== undefined) checkType('progress: message', 'string', message)
    const { progressToken } = this.#scope
    if (progressToken === undefined || !(Number.isFinite(progress) && progress > this.#progress)) return false
    this.#progress = progress
    const params = {
      progressToken,
      progress,
      ...(total !== undefined && Number.isFinite(total) && { total }),
      ...(message !== undefined && { message }),
    }
    return this.#scope.tell('notifications/progress', params)
  }

  /**
   * Sends a log message with this request, if the client wants that level (`info` and above until it says
   * otherwise) and the server is defined with `logging: true`; false when nobody was told. `data` is any JSON
   * value, and never a secret (specification: logging). Throws BAD_OPTION for what is no level or no name of
   * a logger.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): boolean {
    if (logger !== undefined) checkType('log: logger', 'string', logger)
    if (!this.#scope.wantsLog(level)) return false
    const params = { level, data: data ?? null, ...(logger !== undefined && { logger }) }
    return this.#scope.tell('notifications/message', params)
  }

  /**
   * Asks the user, by a form or by a page to visit; what is filled in fits the form, formats such as `email`
   * aside. Under a key that was answered in this request, the answer is the same: a key belongs to one
   * question, and another one under it rejects with BAD_OPTION. In 2026-07-28 the handler may run again from
   * its beginning, with the answers (see `once`). Rejects with AskError: MISSING_CAPABILITY where the client
   * or its revision cannot ask.
   */
  elicit(key: string, question: Elicitation, options: AskOptions = {}): Promise<ElicitResult> {
    return toBeAwaited('elicit', this.#ask().elicit(key, question, options))
  }

  /** Tells the client that what a user was asked to do at a page is done; false before 2025-11-25. */
  elicitationComplete(elicitationId: string): boolean {
    checkType('elicitationComplete', 'string', elicitationId)
    return this.#scope.tell('notifications/elicitation/complete', { elicitationId })
  }

  /** Has the client's model go on with a conversation, like `elicit`. */
  sample(key: string, question: Sampling, options: AskOptions = {}): Promise<CreateMessageResult> {
    return toBeAwaited('sample', this.#ask().sample(key, question, options))
  }

  /** The places that the client lets its servers work in, like `elicit`. */
  async roots(key: string, options: AskOptions = {}): Promise<readonly Root[]> {
    return (await this.#ask().roots(key, options)).roots
  }

  /** Asks the client for a sign of life; rejects with AskError. */
  async ping(options: AskOptions = {}): Promise<void> {
    await this.#scope.ask('ping', 'ping', {}, options)
  }

  /**
   * Runs `fn` once under a key, also when the call takes several rounds (2026-07-28 runs the handler again
   * with the client's answers), and resolves with its value each time; a step that failed may run again. The
   * value goes through JSON and comes back as it was read from there. Rejects with what `fn` threw, and with
   * ServerError BAD_STATE for a value that has no JSON.
   */
  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    return toBeAwaited('once', this.#scope.once(key, fn))
  }

  /**
   * Ends the HTTP response early while the work goes on: a client of 2025-11-25 comes back for what follows,
   * if the listener keeps events (specification: transports, SEP-1699). False where that is not possible, and
   * then nothing happens.
   */
  releaseStream(): boolean {
    return this.#scope.release?.() === true
  }

  /**
   * An answer that somebody else gives, another task or a callback: hand it on, and return its `answer`.
   * Without one the call ends like any other that takes too long: at its `timeout`.
   */
  defer<Value = ToolReturn>(): DeferredAnswer<Value> {
    return new DeferredAnswer(this.#scope.signal)
  }

  /**
   * A copy of what this session keeps under a key. Rejects with NO_SESSION where the revision has no sessions
   * (2026-07-28), like `update`.
   */
  get<Value = unknown>(key: string): Promise<Value | undefined> {
    return toBeAwaited('get', this.#get(key)) as Promise<Value | undefined>
  }

  /**
   * Changes what this session keeps under a key, and resolves with the new value; `undefined` deletes it.
   * `fn` is given a copy, runs in this call, and runs again when another call of the session was quicker, so
   * no change is lost. Sessions come back with their values after a crash. Rejects with BAD_STATE for what
   * cannot be copied (functions, sockets and the like).
   */
  update<Fn extends AnyFunction>(key: string, fn: Fn): Promise<Returned<Fn>>
  update<Value>(key: string, fn: (value: Value | undefined) => Value | Promise<Value>): Promise<Value>
  update(key: string, fn: AnyFunction): Promise<unknown> {
    return toBeAwaited('update', this.#update(key, fn))
  }

  async #get(key: string): Promise<unknown> {
    const { value } = await this.#scope.read(checkKey(key))
    return copy(key, value)
  }

  async #update(key: string, fn: AnyFunction): Promise<unknown> {
    if (typeof fn !== 'function')
      throw new ServerError('BAD_STATE', `update: expected a function, got ${show(fn)}`)
    const change = fn as (value: unknown) => unknown
    let seen = await this.#scope.read(checkKey(key))
    for (;;) {
      const next = await change(copy(key, seen.value))
      const other = await this.#scope.swap(key, seen.version, copy(key, next))
      if (other === undefined) return next
      seen = other
    }
  }

  #ask(): Questions {
    this.#questions ??= new Questions((...question) => this.#scope.ask(...question))
    return this.#questions
  }
}

/** The caller's mistake is told to the caller, also when no client listens. */
function checkType(field: string, type: 'number' | 'string', value: unknown): void {
  if (typeof value !== type) throw optionError(field, `${field}: expected a ${type}, got ${show(value)}`)
}
