import type { Credentials, CredentialsVisit, WantedCredentials } from '../../transports/contract/principal.js'
import { type Dialect, reachesClient } from '../../protocol/dialects/dialect.js'
import { fitNotification } from '../../protocol/dialects/fit.js'
import { buildNotification, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import type { ProgressToken } from '../../protocol/messages/base.js'
import { RuntimeError, show } from '../../runtime/base/errors.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TaskRef, TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { World } from '../../runtime/time/world.js'
import type { Sink, Peer, Response } from '../../transports/contract/contract.js'
import { optionError, type ServerError, ToolError } from '../base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { emitServer, noteNotification, type RequestOrigin } from '../base/events.js'
import { workFacts } from '../base/work-facts.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Changes } from '../context/changes.js'
import { type RequestScope, type SessionFacts, ToolContext } from '../context/context.js'
import type { Isolation } from '../context/isolated.js'
import { factsOf, type RequestFacts } from '../context/request-facts.js'
import type { SessionUse, StateValue } from '../context/session-state.js'
import type { AuditedCall } from '../holdings/auditor.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { tryAgain } from '../requests/answer.js'

export interface RequestDelivery {
  readonly request: JsonRpcRequest
  readonly sink: Sink
  readonly peer: Peer
}

/** Why an answer could not be kept, for its client. */
export interface UnkeptAnswer {
  readonly message: string
  readonly retryable: boolean
}

/** What all runs of one place share. */
export interface RunHost {
  readonly holdings: Holdings
  readonly tasks: TaskSupervisor
  readonly world: World
  readonly origin: RequestOrigin
}

/**
 * Where a run sits: in a session, in an exchange, or in a task. It says what the run works for, is what its
 * handler reaches through `ctx`, and keeps its time.
 */
export abstract class RunSeat implements RequestScope {
  readonly host: RunHost
  readonly work: string
  /** Milliseconds of a run. */
  readonly timeout: number
  /** Whether its time was over. */
  isLate = false
  /** Whether the answer is not wanted any more. */
  cancelled = false
  /** When it began, by the clock of the tree. */
  startedAt = 0
  /** Whether its audit entry was made. */
  isAudited = false
  /** What is told where the answer could not be kept, if more than that. */
  unkept: UnkeptAnswer | undefined
  /** The server behind this one that was asked last. */
  upstream: AuditedCall['upstream']
  #task: TaskContext | undefined
  #running: TaskRef<void> | undefined
  #timer: unknown

  constructor(
    host: RunHost,
    { name, timeout }: { readonly name: string; readonly timeout?: number | undefined },
  ) {
    this.host = host
    this.work = name
    this.timeout = timeout ?? host.holdings.settings.timeouts.request
  }

  /** What is worked for now: in 2026-07-28 each round of questions brings another request. */
  abstract get delivery(): RequestDelivery
  abstract get dialect(): Dialect
  abstract get session(): SessionFacts
  abstract readonly assigned: Readonly<Record<string, unknown>> | undefined
  abstract assign(values: object): void
  abstract read(key: string): Promise<StateValue>
  abstract swap(key: string, version: number, value: unknown): Promise<StateValue | undefined>
  abstract ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    options: AskOptions,
  ): Promise<Result<M>>
  abstract once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value>
  protected abstract wants(level: LoggingLevel): boolean

  async credentials(wanted: WantedCredentials | undefined): Promise<Credentials | CredentialsVisit> {
    const { peer } = this.delivery
    const { binding } = this.host.holdings
    if (binding.credentials === undefined || peer.principal === undefined)
      throw new ToolError('There are no credentials: the caller has not signed in here.')
    try {
      return await binding.credentials(peer.principal, wanted, this.task.signal)
    } catch (cause) {
      if (!(cause instanceof TransportError)) throw cause
      const { message, retryable } = cause
      throw new ToolError(`There are no credentials: ${message}.`, { cause, retryable })
    }
  }

  /** The process whose fate the run shares. */
  get link(): ProcessRef | undefined {
    return undefined
  }

  /** Whether the run counts among those of its caller (`limits.rate`). */
  get isCounted(): boolean {
    return this.delivery.request.method === 'tools/call'
  }

  /** Does what must be done before an answer is sent, such as saving. A crash in it is the server's own. */
  keep(response: Response): Response | Promise<Response> {
    return response
  }

  /** What the report of a crash tells of the work. */
  about(): WorkFacts {
    return workFacts(this.delivery.request, this.delivery.peer)
  }

  /** The answer when all runs were ended at once; undefined: there is none. */
  interrupted(): Response | undefined {
    return tryAgain(this.requestId, 'The request was interrupted')
  }

  /** The task of the run has begun; its handler gets this context. */
  enter(task: TaskContext): ToolContext {
    this.#task = task
    return new ToolContext(this)
  }

  /** The run takes a while: it can be cancelled, and its time runs `since` then. */
  wait(running: TaskRef<void>, since: number): void {
    this.#running = running
    this.startClock(since)
  }

  startClock(since = this.host.world.now()): void {
    const { timeout, host } = this
    if (this.#timer !== undefined || !Number.isFinite(timeout)) return
    const left = Math.max(0, since + timeout - host.world.now())
    // the clock may say that there is time left: timers go by when their turn of the event loop began
    const late = (): void => {
      this.isLate = true
      this.#running?.ref.kill()
    }
    this.#timer = host.world.setTimeout(late, left)
  }

  stopClock(): void {
    if (this.#timer !== undefined) this.host.world.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Aborts the run: what it still does has no effect, and its request gets no answer. */
  cancel(): void {
    this.cancelled = true
    this.#running?.cancel()
  }

  get task(): TaskContext {
    if (this.#task === undefined) throw new RuntimeError('NOPROC', `${this.work} has not begun`)
    return this.#task
  }

  get isOver(): boolean {
    return this.cancelled || this.#task?.self.alive === false
  }

  /** Whether there is a request whose client still gets messages. */
  get isActive(): boolean {
    return !this.isOver
  }

  get isolation(): Isolation | undefined {
    return this.host.holdings.isolation
  }

  get changes(): Changes {
    this.checkOpen()
    return this.host.holdings.changes
  }

  get requestId(): RequestId {
    return this.delivery.request.id
  }

  get request(): RequestFacts {
    return factsOf(this.delivery.request)
  }

  get progressToken(): ProgressToken | undefined {
    const { _meta: meta } = (this.delivery.request.params ?? {}) as {
      _meta?: { progressToken?: ProgressToken }
    }
    return meta?.progressToken
  }

  get peer(): Peer {
    return this.delivery.peer
  }

  /** The id of the task that it runs in; undefined outside of one. */
  get taskId(): string | undefined {
    return undefined
  }

  noteUpstream(server: string, name: string, isTheirs: boolean): void {
    this.upstream = { server, name, isTheirs }
  }

  get signal(): AbortSignal {
    return this.task.signal
  }

  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const { dialect } = this
    if (!this.isActive || !reachesClient(dialect, method)) return false
    const fitted = fitNotification(dialect, method, params as never)
    const sent = this.delivery.sink.send(buildNotification(method, fitted))
    if (sent) noteNotification(this.host.origin, 'sent', method)
    return sent
  }

  wantsLog(level: LoggingLevel, isLogged = false): boolean {
    if (!isLoggingLevel(level))
      throw optionError('level', `log: expected a level such as info, got ${show(level)}`)
    if (this.host.holdings.catalog.capabilities.logging !== undefined) return this.wants(level)
    if (isLogged) noteNoLogging(this.host, this.work)
    return false
  }

  /** Throws RuntimeError ACTOR_DEAD: code that hears of the end through the signal comes too late, too. */
  protected checkOpen(): void {
    if (this.isOver)
      throw new RuntimeError('ACTOR_DEAD', `${this.work} has ended: what it still does has no effect`)
  }
}

/** A seat where there is no session to read or change. */
export abstract class SeatWithoutSession extends RunSeat {
  readonly assigned = undefined

  /** The error for code that wants one. */
  protected abstract noSession(use?: SessionUse): ServerError

  unassigned(): ServerError | undefined {
    const { session } = this.host.holdings.settings.definition
    return session?.init === undefined ? undefined : this.noSession('assigns')
  }

  assign(): never {
    throw this.noSession()
  }

  async read(): Promise<never> {
    throw this.noSession()
  }

  async swap(): Promise<never> {
    throw this.noSession()
  }
}

/** Says once that what is logged goes nowhere. */
function noteNoLogging({ holdings, origin }: RunHost, work: string): void {
  if (holdings.told.has('logging_not_declared')) return
  holdings.told.add('logging_not_declared')
  const problem = `${work}: ctx.log reaches no client, as it is not declared: give defineServer logging: true`
  emitServer('notice', () => ({ ...origin, type: 'logging_not_declared', level: 'warn', problem }))
}

/** The sink of what has no stream. */
export const nowhere: Sink = Object.freeze({ send: () => false })
