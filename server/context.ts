import type { RequestId } from '../protocol/jsonrpc.js'
import type { NotificationParams, NotificationTo } from '../protocol/methods.js'
import type { Implementation, ProgressToken } from '../protocol/types/base.js'
import type { ClientCapabilities } from '../protocol/types/capabilities.js'
import type { ElicitResult } from '../protocol/types/elicitation.js'
import type { LoggingLevel } from '../protocol/types/notifications.js'
import type { Root } from '../protocol/types/roots.js'
import type { CreateMessageResult } from '../protocol/types/sampling.js'
import { show } from '../runtime/errors.js'
import type { Peer } from '../transports/contract.js'
import { type Ask, type AskOptions, type Elicitation, Questions, type Sampling } from './ask.js'
import { ServerError } from './errors.js'
import type { StateValue } from './session-state.js'

/** The session a request belongs to. */
export interface SessionFacts {
  readonly id: string
  /** Who the client says it is: for display, never for behaviour or security. */
  readonly client: Readonly<Implementation>
  readonly revision: string
  readonly capabilities: Readonly<ClientCapabilities>
}

/** What a context is made from: the request's own facts, and its ways to the session and to the client. */
export interface RequestScope {
  readonly session: SessionFacts
  readonly requestId: RequestId
  readonly progressToken: ProgressToken | undefined
  readonly peer: Peer
  readonly signal: AbortSignal
  /** Sends a notification that belongs to this request; false when nobody takes it, or the revision does not have it. */
  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean
  /** Whether the client wants logs of this level. Throws BAD_OPTION for what is no level. */
  wantsLog(level: LoggingLevel): boolean
  readonly ask: Ask
  /** Ends the connection early, if the client will come back. */
  release?(): boolean
  read(key: string): Promise<StateValue>
  /** Answers undefined when the value was taken, and otherwise the value that came in between. */
  swap(key: string, version: number, value: unknown): Promise<StateValue | undefined>
}

/** A function, whatever it takes; without a signature here, its parameters keep the types that it gives them. */
interface AnyFunction {
  readonly name: string
  readonly length: number
}

type Returned<Fn> = Fn extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** What a tool, a resource, a prompt or a completer may do besides computing its result; good for one request, and without effect after it. */
export class ToolContext {
  readonly #scope: RequestScope
  #questions: Questions | undefined
  #progress = Number.NEGATIVE_INFINITY

  constructor(scope: RequestScope) {
    this.#scope = scope
  }

  get session(): SessionFacts {
    return this.#scope.session
  }

  get requestId(): RequestId {
    return this.#scope.requestId
  }

  /** The request's headers and address, where the transport has such; never kept with the session. */
  get peer(): Peer {
    return this.#scope.peer
  }

  /** Aborted when the client cancels the call, when its time is up, and when its session ends. */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Tells the client how far the work is, if it wants to know; false when nobody was told. Progress that does not grow is not sent
   * (specification: progress).
   */
  progress(progress: number, total?: number, message?: string): boolean {
    const { progressToken } = this.#scope
    if (progressToken === undefined || !(Number.isFinite(progress) && progress > this.#progress)) return false
    this.#progress = progress
    const params = {
      progressToken,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    return this.#scope.tell('notifications/progress', params)
  }

  /**
   * Sends a log message with this request, if the client wants that level (`info` and above until it says otherwise) and the server is defined
   * with `logging: true`; false when nobody was told. `data` is any JSON value, and never a secret (specification: logging).
   */
  log(level: LoggingLevel, data: unknown, logger?: string): boolean {
    if (!this.#scope.wantsLog(level)) return false
    const params = { level, data: data ?? null, ...(logger !== undefined && { logger }) }
    return this.#scope.tell('notifications/message', params)
  }

  /**
   * Asks the user, by a form or by a page to visit; what is filled in fits the form, formats such as `email` aside. Under a key that was answered in this request,
   * the answer is the same. Rejects with AskError: MISSING_CAPABILITY where the client or its revision cannot ask.
   */
  elicit(key: string, question: Elicitation, options: AskOptions = {}): Promise<ElicitResult> {
    return this.#ask().elicit(key, question, options)
  }

  /** Tells the client that what a user was asked to do at a page is done; false before 2025-11-25. */
  elicitationComplete(elicitationId: string): boolean {
    return this.#scope.tell('notifications/elicitation/complete', { elicitationId })
  }

  /** Has the client's model go on with a conversation, like `elicit`. */
  sample(key: string, question: Sampling, options: AskOptions = {}): Promise<CreateMessageResult> {
    return this.#ask().sample(key, question, options)
  }

  /** The places that the client lets its servers work in, like `elicit`. */
  async roots(key: string, options: AskOptions = {}): Promise<readonly Root[]> {
    return (await this.#ask().roots(key, options)).roots
  }

  /** Asks the client for a sign of life; rejects with AskError. */
  async ping(options: AskOptions = {}): Promise<void> {
    await this.#scope.ask('ping', {}, options)
  }

  /**
   * Ends the HTTP response early while the work goes on: a client of 2025-11-25 comes back for what follows, if the listener keeps
   * events (specification: transports, SEP-1699). False where that is not possible, and then nothing happens.
   */
  releaseStream(): boolean {
    return this.#scope.release?.() === true
  }

  /** A copy of what this session keeps under a key. */
  async get<Value = unknown>(key: string): Promise<Value | undefined> {
    const { value } = await this.#scope.read(checkKey(key))
    return copy(key, value) as Value | undefined
  }

  /**
   * Changes what this session keeps under a key, and resolves with the new value; `undefined` deletes it. `fn` is given a copy, runs in this
   * call, and runs again when another call of the session was quicker, so no change is lost. Sessions come back with their values
   * after a crash. Rejects with BAD_STATE for what cannot be copied (functions, sockets and the like).
   */
  update<Fn extends AnyFunction>(key: string, fn: Fn): Promise<Returned<Fn>>
  update<Value>(key: string, fn: (value: Value | undefined) => Value | Promise<Value>): Promise<Value>
  async update(key: string, fn: AnyFunction): Promise<unknown> {
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

function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new ServerError('BAD_STATE', `key: expected a non-empty string, got ${show(key)}`)
}

function copy(key: string, value: unknown): unknown {
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return value
  try {
    return structuredClone(value)
  } catch (cause) {
    const problem = `${show(key)}: session state takes values that can be copied (structuredClone), got ${show(value)}`
    throw new ServerError('BAD_STATE', problem, { cause, data: { key } })
  }
}
