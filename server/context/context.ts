import type { Question } from '../../protocol/dialects/capabilities.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import {
  isMethod,
  isNotificationMethod,
  type NotificationParams,
  type NotificationTo,
} from '../../protocol/messages/methods.js'
import type { Implementation, ProgressToken } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { ElicitResult } from '../../protocol/messages/elicitation.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { Root } from '../../protocol/messages/roots.js'
import type { CreateMessageResult } from '../../protocol/messages/sampling.js'
import { show } from '../../runtime/base/errors.js'
import type { Peer } from '../../transports/contract/contract.js'
import type {
  Credentials,
  CredentialsVisit,
  Principal,
  WantedCredentials,
} from '../../transports/contract/principal.js'
import {
  type Ask,
  type AskOptions,
  type Elicitation,
  type FormQuestion,
  Questions,
  type Sampling,
} from './ask.js'
import { DeferredAnswer } from './deferred-answer.js'
import type { Form, FormAnswer } from './form.js'
import { refuseOtherNames } from './other-names.js'
import { checkAllowed } from './scopes.js'
import { AskError, ServerError, ToolError, optionError } from '../base/errors.js'
import { PeerFacts, type RequestFacts, type TransportFacts } from './request-facts.js'
import type { Changes, ListKind } from './changes.js'
import { mergedAssigns } from './session-frame.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Isolation, IsolatedHandler } from './isolated.js'
import type { ToolReturn } from '../results/results.js'
import { checkKey, copy } from './session-state.js'
import type { StateValue } from './session-state.js'
import type { FinishedSteps, Once } from './steps.js'

/** The client of a request, and the revision that they speak. */
export interface SessionFacts {
  /** The session of the request; undefined where the revision has no sessions (2026-07-28). */
  readonly id: string | undefined
  /** What the client calls itself: for display, never for behaviour or security. */
  readonly client: Readonly<Implementation>
  readonly revision: string
  readonly capabilities: Readonly<ClientCapabilities>
}

/** The facts of a request that has a session: those of 2026-07-28 have none. */
export interface OpenSessionFacts extends SessionFacts {
  readonly id: string
}

export interface RequestScope {
  /** The task that the handler runs in. */
  readonly task: TaskContext
  /** Names the request in messages: `tools/call hash`. */
  readonly work: string
  /** Undefined where nothing is isolated. */
  readonly isolation: Isolation | undefined
  readonly session: SessionFacts
  readonly requestId: RequestId
  readonly request: RequestFacts
  readonly progressToken: ProgressToken | undefined
  readonly peer: Peer
  readonly signal: AbortSignal
  readonly assigned: Readonly<Record<string, unknown>> | undefined
  /** The error for who reads assigns that `session.init` would make, and no session has; undefined elsewhere. */
  unassigned?(): ServerError | undefined
  /** Throws NO_SESSION. */
  assign(values: object): void
  readonly changes: Changes
  /**
   * Sends a notification with this request. False when it cannot be sent, or the revision does not have it.
   */
  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean
  /**
   * Whether the client wants logs of this level; `isLogged`: there is one. Throws BAD_OPTION for what is no level.
   */
  wantsLog(level: LoggingLevel, isLogged?: boolean): boolean
  readonly ask: Ask
  readonly once: Once
  /** A page only where something is wanted. Rejects with ToolError. */
  credentials(wanted: WantedCredentials | undefined): Promise<Credentials | CredentialsVisit>
  /**
   * The server behind this one that is asked, and what it calls that; `isTheirs`: its error is the answer.
   */
  noteUpstream?(server: string, name: string, isTheirs: boolean): void
  /** Shows a message of progress to those who look at a task. */
  noteProgress?(message: string): void
  /** What the rounds of a call have brought; absent where a call has none. */
  carried?(): Carried
  /** Ends the connection early, if the client will come back. */
  release?(): boolean
  /** The process of its session, for whoever ends with it; undefined where there is none. */
  hold?(): ProcessRef
  read(key: string): Promise<StateValue>
  /** Resolves with undefined if the value was taken, else with the value that came in between. */
  swap(key: string, version: number, value: unknown): Promise<StateValue | undefined>
}

/** What the rounds of one call have brought so far. */
export interface Carried {
  readonly answers: ReadonlyMap<string, readonly { readonly method: Question; readonly result: JsonObject }[]>
  readonly steps: FinishedSteps
}

/** Any function. Without a signature here, its parameters keep the types that its author wrote. */
interface AnyFunction {
  readonly name: string
  readonly length: number
}

type Returned<Fn> = Fn extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** What a handler may do besides computing its result. It serves one request, and has no effect after it. */
export class ToolContext {
  readonly #scope: RequestScope
  #questions: Questions | undefined
  #transport: TransportFacts | undefined
  #progress = Number.NEGATIVE_INFINITY

  static {
    refuseOtherNames(ToolContext.prototype)
  }

  constructor(scope: RequestScope) {
    this.#scope = scope
  }

  /** Runs the handler of an isolated component for the request of `ctx`. */
  static async runIsolated(
    handler: IsolatedHandler,
    args: readonly unknown[],
    ctx: ToolContext,
  ): Promise<unknown> {
    const scope = ctx.#scope
    if (scope.isolation === undefined)
      throw new ServerError('BAD_DEFINITION', `${scope.work}: this server runs no isolated handlers`)
    return scope.isolation.run(handler, args, scope)
  }

  /** What stands behind the context of a request that the server answers itself. */
  static scopeOf(ctx: ToolContext): RequestScope {
    return ctx.#scope
  }

  /** The client that is served: facts of the session, or, in a revision without sessions, of this request. */
  get session(): SessionFacts {
    return this.#scope.session
  }

  get requestId(): RequestId {
    return this.#scope.requestId
  }

  /** The request: its id, its method, and its params as the client sent them. */
  get request(): RequestFacts {
    return this.#scope.request
  }

  /** How the request came in: headers, query, address. Never kept with the session. */
  get transport(): TransportFacts {
    this.#transport ??= new PeerFacts(this.#scope.peer)
    return this.#transport
  }

  /** What the listener knows of the sender; see `transport` and `assigns`. */
  get peer(): Peer {
    return this.#scope.peer
  }

  /**
   * The assigns of the session (`assign`), overridden by those of this request, which the middleware of a
   * host program gives (`mount`) and which are never kept. An empty object if there are none. Throws NO_SESSION
   * where `session.init` of the definition would have made them, and there is no session (2026-07-28, tasks),
   * unless the request has some.
   */
  get assigns(): Readonly<Record<string, unknown>> {
    const error = this.#scope.peer.assigns === undefined ? this.#scope.unassigned?.() : undefined
    if (error !== undefined) throw error
    return this.#assigns
  }

  get #assigns(): Readonly<Record<string, unknown>> {
    return mergedAssigns(this.#scope.assigned, this.#scope.peer.assigns)
  }

  /**
   * Gives the session live values, which later requests in this program find in `assigns`. They are not
   * stored: `init` makes them again for a restored session. The last value of a name counts, at once. Throws
   * NO_SESSION in a revision without sessions (2026-07-28), and BAD_OPTION unless `values` is an object.
   */
  assign(values: Readonly<Record<string, unknown>>): void {
    if (!isObject(values)) throw optionError('values', `assign: expected an object, got ${show(values)}`)
    this.#scope.assign(values)
  }

  /** Tells all who subscribed to this uri of its change. Rejects with BAD_OPTION for a malformed uri. */
  async resourceUpdated(uri: string): Promise<void> {
    await this.#scope.changes.resourceUpdated(uri)
  }

  /**
   * Tells subscribers of a change in a list that the author answers (`handleRequest`). `server.addTool` and
   * the like do so themselves. Rejects with BAD_OPTION for a list that the server does not declare.
   */
  async listChanged(list: ListKind): Promise<void> {
    await this.#scope.changes.listChanged(list)
  }

  /**
   * The caller as the author knows it: `assigns.user`, or else the principal's claims. `createApp` types it.
   */
  get user(): unknown {
    return this.#assigns.user ?? this.principal?.claims
  }

  /** The authenticated caller, if known. The session belongs to its issuer and subject. */
  get principal(): Principal | undefined {
    return this.#scope.peer.principal
  }

  /**
   * The caller's own token of the identity provider where they signed in (`signIn`), for calls of its API. It is
   * renewed before it ends, by one of all nodes. Never show it to the client. With `scopes` it is good for these
   * at the provider: a user who has granted less is sent there, by a page to visit (`elicit`, `mode: 'url'`),
   * and the handler waits. Rejects with ToolError where the caller has to sign in again, nobody signs in, or the
   * user refuses; where the client shows no pages, its message has the address.
   */
  credentials({ scopes }: { readonly scopes?: readonly string[] } = {}): Promise<Credentials> {
    const plain = () => this.#scope.credentials(undefined) as Promise<Credentials>
    return toBeAwaited('credentials', scopes === undefined ? plain() : this.#credentialsFor(scopes))
  }

  async #credentialsFor(scopes: readonly string[]): Promise<Credentials> {
    const found = await this.#scope.credentials({ scopes, visit: undefined })
    if (!('url' in found)) return found
    const { id: elicitationId, url, provider } = found
    const message = `${provider} has to let this server do more: ${scopes.join(', ')}`
    const question = { mode: 'url', message, url, elicitationId } as const
    const { action } = await this.#ask()
      .elicit(`credentials ${scopes.join(' ')}`, question, {})
      .catch((cause: unknown) => {
        if (!(cause instanceof AskError) || cause.code !== 'MISSING_CAPABILITY') throw cause
        throw new ToolError(`${message}. Open ${url} and call this again.`, { cause })
      })
    if (action !== 'accept') throw new ToolError(`${message}; the user has refused.`)
    const granted = await this.#scope.credentials({ scopes, visit: elicitationId })
    this.elicitationComplete(elicitationId)
    return granted as Credentials
  }

  /**
   * Throws McpError 403 unless the caller has all these scopes; uncaught, it makes the client ask for them.
   * An anonymous caller has no scopes; over stdio the caller is trusted.
   */
  requireScopes(...scopes: readonly string[]): void {
    checkAllowed(this.#scope.peer, { scopes })
  }

  /** Aborted at the call's cancellation or timeout, its session's end, and in 2026-07-28 at disconnect. */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Tells the client of progress, if it asked. False when nothing was sent, also for progress that does not
   * grow or is not finite. It leaves out a total that is not finite. Throws BAD_OPTION for wrong types.
   */
  progress(progress: number, total?: number, message?: string): boolean {
    checkType('progress', 'number', progress)
    if (total !== undefined) checkType('progress: total', 'number', total)
    if (message !== undefined) checkType('progress: message', 'string', message)
    if (message !== undefined) this.#scope.noteProgress?.(message)
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
   * Sends a notification of an extension with this request, such as `search/indexed`: its client hears it with
   * `onNotification`. False when it cannot be sent. Throws BAD_OPTION for a name of the protocol, or without a
   * slash, and for params that are no object with JSON.
   */
  notify(method: string, params: Readonly<Record<string, unknown>> = {}): boolean {
    const isOwn = typeof method === 'string' && /^[^\s/]+\/\S+$/.test(method)
    if (!isOwn || isMethod(method) || isNotificationMethod(method))
      throw optionError('method', `notify: expected a name such as search/indexed, got ${show(method)}`)
    return this.#scope.tell(method as never, plainParams(params) as never)
  }

  /**
   * Sends a log message with this request. False when the client does not want this level (default: `info`
   * and above), or the server lacks `logging: true`. `data` is any JSON value, and never a secret. Throws
   * BAD_OPTION for an unknown level, and for a logger that is no string.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): boolean {
    if (logger !== undefined) checkType('log: logger', 'string', logger)
    if (!this.#scope.wantsLog(level, true)) return false
    const params = { level, data: data ?? null, ...(logger !== undefined && { logger }) }
    return this.#scope.tell('notifications/message', params)
  }

  /**
   * Asks the user, by a form or by a page to visit. The answer fits the form, formats such as `email` aside.
   * A key stands for one question of a request, which is asked once: the same question again has the same answer
   * (to ask again, take another key; after 100 times it rejects with BAD_OPTION), and another one rejects with
   * BAD_OPTION. In 2026-07-28 the handler may run again from its beginning, with the answers (see `once`).
   * Rejects with AskError: MISSING_CAPABILITY where the client or its revision cannot ask. With
   * `form: { sure: field.boolean() }` in place of `requestedSchema` the content has the types of its fields.
   */
  elicit<const F extends Form>(
    key: string,
    question: FormQuestion<F>,
    options?: AskOptions,
  ): Promise<FormAnswer<F>>
  elicit(key: string, question: Elicitation, options?: AskOptions): Promise<ElicitResult>
  elicit(key: string, question: Elicitation | FormQuestion, options: AskOptions = {}): Promise<unknown> {
    return toBeAwaited('elicit', this.#ask().elicit(key, question, options))
  }

  /** Tells the client that the user is done at a page (`mode: 'url'`). False before 2025-11-25. */
  elicitationComplete(elicitationId: string): boolean {
    checkType('elicitationComplete', 'string', elicitationId)
    return this.#scope.tell('notifications/elicitation/complete', { elicitationId })
  }

  /** Asks the client's model to continue a conversation. Keys and errors are as with `elicit`. */
  sample(key: string, question: Sampling, options: AskOptions = {}): Promise<CreateMessageResult> {
    return toBeAwaited('sample', this.#ask().sample(key, question, options))
  }

  /** Asks for the folders that the client lets its servers use. Keys and errors are as with `elicit`. */
  async roots(key: string, options: AskOptions = {}): Promise<readonly Root[]> {
    return (await this.#ask().roots(key, options)).roots
  }

  /** Pings the client. Rejects with AskError. */
  async ping(options: AskOptions = {}): Promise<void> {
    await this.#scope.ask('ping', 'ping', {}, options)
  }

  /**
   * Runs `fn` once under a key, however often the handler runs (2026-07-28 runs it again with the client's
   * answers), and resolves with its value each time. A step that failed may run again. The value passes
   * through JSON. Rejects with what `fn` threw, and with ServerError BAD_STATE for a value without JSON.
   */
  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    return toBeAwaited('once', this.#scope.once(key, fn))
  }

  /**
   * Ends the HTTP response early while the work goes on. If the listener keeps events, a client of 2025-11-25
   * comes back for the rest (specification: transports, SEP-1699). False, and without effect, elsewhere.
   */
  releaseStream(): boolean {
    return this.#scope.release?.() === true
  }

  /** An answer that other code gives: return its `answer`. Without one the call ends at its `timeout`. */
  defer<Value = ToolReturn>(): DeferredAnswer<Value> {
    return new DeferredAnswer(this.#scope.signal)
  }

  /** A copy of the session's value under a key. Rejects with NO_SESSION in a revision without sessions. */
  get<Value = unknown>(key: string): Promise<Value | undefined> {
    return toBeAwaited('get', this.#get(key)) as Promise<Value | undefined>
  }

  /**
   * Changes the session's value under a key, and resolves with the new one; `undefined` deletes it. `fn` gets
   * a copy and runs in this call. It runs again if another call changed the value meanwhile, so no change is
   * lost. A restored session has its values. Rejects with BAD_STATE for a value that cannot be copied
   * (`structuredClone`), and with NO_SESSION in a revision without sessions (2026-07-28).
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
      throw new ServerError(
        'BAD_STATE',
        `update: expected a function, as in ctx.update('count', (n = 0) => n + 1), got ${show(fn)}`,
      )
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
    this.#questions ??= new Questions(
      (...question) => this.#scope.ask(...question),
      () => this.#scope.task.world.id(),
      () => new Promise((resolve) => void this.#scope.task.world.setImmediate(resolve)),
    )
    return this.#questions
  }
}

/** A copy that has JSON, made in the author's own task: a mistake throws there, also when no client listens. */
function plainParams(params: unknown): object {
  try {
    const plain: unknown = JSON.parse(JSON.stringify(params))
    if (isObject(plain)) return plain
  } catch {
    // said below
  }
  throw optionError('params', `notify: expected an object that has JSON, got ${show(params)}`)
}

function checkType(field: string, type: 'number' | 'string', value: unknown): void {
  if (typeof value !== type) throw optionError(field, `${field}: expected a ${type}, got ${show(value)}`)
}

/** A promise that throws where it is used as its value without `await`: as text, or as JSON. */
export function toBeAwaited<Value>(name: keyof typeof unawaited, promise: Promise<Value>): Promise<Value> {
  return Object.defineProperties(promise, unawaited[name])
}

const unawaited = Object.freeze({
  get: missingAwait('get'),
  update: missingAwait('update'),
  elicit: missingAwait('elicit'),
  credentials: missingAwait('credentials'),
  sample: missingAwait('sample'),
  once: missingAwait('once'),
})

function missingAwait(name: string): PropertyDescriptorMap {
  function value(this: Promise<unknown>): never {
    this.catch(() => undefined) // this error replaces its own
    throw new ServerError('BAD_RESULT', `ctx.${name}(...) is a promise, and was used as a value: await it`)
  }
  return { [Symbol.toPrimitive]: { value }, toJSON: { value } }
}
