import { encode } from '../protocol/codec.js'
import { acceptsNotification, type Dialect } from '../protocol/dialect.js'
import { errorCodes, McpError, toJsonRpcError } from '../protocol/errors.js'
import { fitError, fitNotification } from '../protocol/fit.js'
import type { JsonObject } from '../protocol/json.js'
import {
  buildError,
  buildNotification,
  buildResult,
  type JsonRpcRequest,
  type RequestId,
} from '../protocol/jsonrpc.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../protocol/methods.js'
import type { ProgressToken } from '../protocol/types/base.js'
import type { LoggingLevel } from '../protocol/types/notifications.js'
import type { Deferred } from '../runtime/behaviour.js'
import { messageOf, RuntimeError, show } from '../runtime/errors.js'
import type { ExitReason } from '../runtime/exit.js'
import { type ProcessRef, processOf, type RefOf } from '../runtime/ref.js'
import type { TaskContext } from '../runtime/task.js'
import type { TaskRef, TaskSupervisor } from '../runtime/task-supervisor.js'
import type { Outlet, Peer, Response } from '../transports/contract.js'
import { type EncodedResult, encodedText } from '../transports/encoded.js'
import { type RequestScope, type SessionFacts, ToolContext } from './context.js'
import type { AskMethod, AskOptions } from './ask.js'
import { AskError, ServerError } from './errors.js'
import { emitServer, type SessionOrigin } from './events.js'
import type { sessionActor } from './session-actor.js'
import { readQuestion } from './session-questions.js'
import type { StateValue } from './session-state.js'
import type { SessionStore } from './session-store.js'
import { isLoggingLevel, type SessionWishes } from './session-wishes.js'
import type { Work } from './work.js'

/** One request of a session, from its start to its answer. */
export interface SessionRequest {
  readonly request: JsonRpcRequest
  readonly work: Work
  readonly outlet: Outlet
  readonly peer: Peer
  readonly reply: Deferred<Response | undefined>
  /** Milliseconds, and when that time is up. */
  readonly timeout: number
  readonly deadline: number
  task: TaskRef<void> | undefined
  /** Whether the session has to be saved before the answer. */
  unsaved: boolean
  cancelled: boolean
  response: Response | undefined
}

/** What the requests of a session share. */
export interface SessionLink {
  readonly facts: SessionFacts
  readonly self: RefOf<typeof sessionActor>
  readonly store: SessionStore
  readonly dialect: Dialect
  readonly origin: SessionOrigin
  readonly wishes: SessionWishes
  readonly askTimeout: number
  /** Whether the server has declared that it logs. */
  canLog(): boolean
}

/** Runs a request as a task that shares the session's fate. Throws RuntimeError NOPROC when there is no task supervisor. */
export function startRequest(request: SessionRequest, link: SessionLink, tasks: TaskSupervisor): ProcessRef {
  const { work, timeout } = request
  request.task = tasks.start((task) => perform(request, link, task), {
    name: work.name,
    link: link.self,
    timeout,
  })
  return request.task.ref
}

/** The answer to a request whose task has ended; undefined for a cancelled one, which is not answered. */
export function responseAfter(
  request: SessionRequest,
  task: ProcessRef,
  reason: ExitReason,
  { exposeErrors, now }: { readonly exposeErrors: boolean; readonly now: number },
): Response | undefined {
  const { id } = request.request
  if (request.cancelled) return undefined
  if (request.response !== undefined) return request.response
  // a timer may fire a little early
  if (reason.type === 'killed' && now >= request.deadline - 1) {
    const outcome = request.work.timedOut(request.timeout)
    return outcome instanceof McpError ? buildError(id, toJsonRpcError(outcome)) : encodedResult(id, outcome)
  }
  const report = `${processOf(task).tree.id}.${task.id}`
  const told = exposeErrors && reason.type === 'crash' ? `: ${messageOf(reason.error)}` : ''
  const message = `Internal error${told} (report ${report})`
  return buildError(id, { code: errorCodes.internalError, message, data: { report } })
}

/** A good answer that carries its JSON text. Throws ProtocolError NOT_SERIALISABLE. */
export function encodedResult(id: RequestId, result: object, text?: string): EncodedResult {
  const whole =
    text === undefined
      ? encode(buildResult(id, result))
      : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
  return { jsonrpc: '2.0', id, result: result as JsonObject, [encodedText]: whole }
}

/** What the session keeps is saved before the answer goes out, so that nothing is lost that a client knows of. */
async function perform(request: SessionRequest, link: SessionLink, task: TaskContext): Promise<void> {
  const response = await answer(request, link, new ToolContext(new TaskScope(request, link, task)))
  if (request.unsaved) await link.store.save(await link.self.call('record'))
  request.response = response
}

async function answer(
  { request, work }: SessionRequest,
  { dialect }: SessionLink,
  ctx: ToolContext,
): Promise<Response> {
  try {
    return encodedResult(request.id, await work.run(ctx))
  } catch (error) {
    if (error instanceof McpError) return buildError(request.id, fitError(dialect, toJsonRpcError(error)))
    if (!(error instanceof AskError)) throw error
    const { code, message } = error
    return buildError(request.id, { code: errorCodes.internalError, message, data: { code } })
  }
}

class TaskScope implements RequestScope {
  readonly #request: SessionRequest
  readonly #link: SessionLink
  readonly #task: TaskContext

  constructor(request: SessionRequest, link: SessionLink, task: TaskContext) {
    this.#request = request
    this.#link = link
    this.#task = task
  }

  get session(): SessionFacts {
    return this.#link.facts
  }

  get requestId(): RequestId {
    return this.#request.request.id
  }

  get progressToken(): ProgressToken | undefined {
    const { _meta: meta } = (this.#request.request.params ?? {}) as {
      _meta?: { progressToken?: ProgressToken }
    }
    return meta?.progressToken
  }

  get peer(): Peer {
    return this.#request.peer
  }

  get signal(): AbortSignal {
    return this.#task.signal
  }

  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const { dialect, origin } = this.#link
    if (!this.#isOpen || !acceptsNotification(dialect, 'client', method)) return false
    const sent = this.#request.outlet.send(
      buildNotification(method, fitNotification(dialect, method, params as never)),
    )
    if (sent) emitServer('notification', () => ({ ...origin, type: 'sent', method }))
    return sent
  }

  release(): boolean {
    return this.#isOpen && this.#request.outlet.release?.() === true
  }

  wantsLog(level: LoggingLevel): boolean {
    if (!isLoggingLevel(level))
      throw new ServerError('BAD_OPTION', `log: expected a level such as info, got ${show(level)}`)
    return this.#link.canLog() && this.#link.wishes.wantsLog(level)
  }

  async ask<M extends AskMethod>(
    method: M,
    params: Params<M>,
    { timeout = this.#link.askTimeout }: AskOptions,
  ): Promise<Result<M>> {
    this.#checkOpen()
    if (!(typeof timeout === 'number' && timeout > 0))
      throw new ServerError('BAD_OPTION', `timeout: expected milliseconds above 0, got ${show(timeout)}`)
    const { dialect, facts } = this.#link
    const question = readQuestion(method, params, { dialect, capabilities: facts.capabilities })
    const asking = { of: this.requestId, method, params: question, timeout }
    return (await this.#link.self.call('ask', asking, forever)) as Result<M>
  }

  async read(key: string): Promise<StateValue> {
    this.#checkOpen()
    return this.#link.self.call('read', key)
  }

  async swap(key: string, version: number, value: unknown): Promise<StateValue | undefined> {
    this.#checkOpen()
    const other = await this.#link.self.call('swap', { key, version, value })
    if (other === undefined) this.#request.unsaved = true
    return other
  }

  /** The task is not known yet while the first step of the work runs. */
  get #isOpen(): boolean {
    const { task, cancelled } = this.#request
    return !cancelled && task?.ref.alive !== false
  }

  /** Also code that hears of the end through the signal comes too late. */
  #checkOpen(): void {
    if (!this.#isOpen)
      throw new RuntimeError(
        'ACTOR_DEAD',
        `${this.#request.work.name} has ended: what it still does has no effect`,
      )
  }
}

/** The session watches the time. */
const forever = Object.freeze({ timeout: Number.POSITIVE_INFINITY })
