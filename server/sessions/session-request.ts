import { acceptsNotification, type Dialect } from '../../protocol/dialects/dialect.js'
import { fitNotification } from '../../protocol/dialects/fit.js'
import { buildNotification, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { isLoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import type { ProgressToken } from '../../protocol/messages/types/base.js'
import type { LoggingLevel } from '../../protocol/messages/types/notifications.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { RuntimeError, show } from '../../runtime/base/errors.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef, TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Outlet, Peer, Response } from '../../transports/contract/contract.js'
import { answer, type InProgress } from '../requests/answer.js'
import { type OpenSessionFacts, type RequestScope, ToolContext } from '../context/context.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import { AskError, optionError } from '../base/errors.js'
import { factsOf, type RequestFacts } from '../context/request-facts.js'
import { emitServer, type SessionOrigin } from '../base/events.js'
import type { sessionActor } from './session-actor.js'
import { readQuestion } from '../requests/question.js'
import type { StateValue } from '../context/session-state.js'
import { saveInTime } from './saving.js'
import type { SessionRecord, SessionStore } from '../stores/session-store.js'
import type { SessionFrame } from '../context/session-frame.js'
import type { Changes } from '../context/changes.js'
import { Steps } from '../context/steps.js'
import type { SessionWishes } from '../requests/session-wishes.js'

/** One request of a session, from its start to its answer. */
export interface SessionRequest extends InProgress {
  readonly outlet: Outlet
  readonly peer: Peer
  readonly reply: Deferred<Response | undefined>
  /** When its time is up; infinite as long as it waits for its turn. */
  deadline: number
  readonly arrivedAt: number
  task: TaskRef<void> | undefined
  /** Whether the session has to be saved before the answer. */
  unsaved: boolean
  /** Whether it is time to save the session without a change, so that a store can tell what is in use. */
  readonly renews: boolean
}

/** What the requests of a session share. */
export interface SessionLink {
  readonly facts: OpenSessionFacts
  readonly self: RefOf<typeof sessionActor>
  readonly store: SessionStore
  readonly tasks: TaskSupervisor
  readonly dialect: Dialect
  readonly origin: SessionOrigin
  readonly wishes: SessionWishes
  readonly askTimeout: number
  readonly frame: SessionFrame
  /** What is known elsewhere of a session that its client has not confirmed here. */
  confirmedElsewhere(): Promise<SessionRecord | undefined>
  /** Whether the server has declared that it logs. */
  canLog(): boolean
}

/**
 * Runs a request as a task that shares the session's fate. Throws RuntimeError NOPROC when there is no task
 * supervisor.
 */
export function startRequest(request: SessionRequest, link: SessionLink, tasks: TaskSupervisor): ProcessRef {
  const { work, timeout } = request
  request.task = tasks.start((task) => perform(request, link, task), {
    name: work.name,
    link: link.self,
    timeout,
  })
  return request.task.ref
}

/**
 * What the session keeps is saved before the answer goes out, so that nothing is lost that a client knows of.
 */
function perform(request: SessionRequest, link: SessionLink, task: TaskContext): void | Promise<void> {
  const response = answer(request, link.dialect, new ToolContext(new TaskScope(request, link, task)))
  if (request.unsaved || request.renews || isPromise(response)) return conclude(request, link, response)
  request.response = response
}

async function conclude(
  request: SessionRequest,
  link: SessionLink,
  answering: Response | Promise<Response>,
): Promise<void> {
  const response = await answering
  if (request.unsaved || request.renews) {
    const saved = saveInTime(link, await link.self.call('record'))
    // without a change nothing is lost: the next time is soon enough
    await (request.unsaved ? saved : saved.catch(() => {}))
  }
  request.response = response
}

class TaskScope implements RequestScope {
  readonly #request: SessionRequest
  readonly #link: SessionLink
  readonly #task: TaskContext
  #steps: Steps | undefined

  constructor(request: SessionRequest, link: SessionLink, task: TaskContext) {
    this.#request = request
    this.#link = link
    this.#task = task
  }

  get session(): OpenSessionFacts {
    return this.#link.facts
  }

  get requestId(): RequestId {
    return this.#request.request.id
  }

  get request(): RequestFacts {
    return factsOf(this.#request.request)
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

  get assigned(): Readonly<Record<string, unknown>> {
    return this.#link.frame.assigns
  }

  assign(values: object): void {
    this.#checkOpen()
    this.#link.frame.assign(values)
  }

  get changes(): Changes {
    this.#checkOpen()
    return this.#link.frame.changes
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
      throw optionError('level', `log: expected a level such as info, got ${show(level)}`)
    return this.#link.canLog() && this.#link.wishes.wantsLog(level)
  }

  async ask<M extends AskMethod>(
    _key: string,
    method: M,
    params: Params<M>,
    { timeout = this.#link.askTimeout }: AskOptions,
  ): Promise<Result<M>> {
    this.#checkOpen()
    if (!(typeof timeout === 'number' && timeout > 0))
      throw optionError('timeout', `timeout: expected milliseconds above 0, got ${show(timeout)}`)
    const { dialect, facts } = this.#link
    const question = readQuestion(method, params, { dialect, capabilities: facts.capabilities })
    const asking = { of: this.requestId, method, params: question, timeout }
    try {
      return (await this.#link.self.call('ask', asking, forever)) as Result<M>
    } catch (error) {
      if (!(await this.#isConfirmedElsewhere(error))) throw error
      return (await this.#link.self.call('ask', asking, forever)) as Result<M>
    }
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.#steps ??= new Steps()
    return this.#steps.once(key, fn)
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

  /** The client may have told another program that it is ready. */
  async #isConfirmedElsewhere(error: unknown): Promise<boolean> {
    if (!(error instanceof AskError && error.code === 'NOT_INITIALIZED')) return false
    const record = await this.#link.confirmedElsewhere()
    if (record?.initialized !== true) return false
    await this.#link.self.call('adopt', record)
    return true
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
