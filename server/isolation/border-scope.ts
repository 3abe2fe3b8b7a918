import type { Credentials, CredentialsVisit, WantedCredentials } from '../../transports/contract/principal.js'
import { AsyncLocalStorage } from 'node:async_hooks'
import { reachesClient } from '../../protocol/dialects/dialect.js'
import { dialectOf, modernDialectOf } from '../../protocol/dialects/versions.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { isLoggingLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import { messageOf, RuntimeError, show } from '../../runtime/base/errors.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Peer } from '../../transports/contract/contract.js'
import { AskError, optionError, ServerError } from '../base/errors.js'
import { jsonText } from '../base/json-text.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Changes } from '../context/changes.js'
import type { RequestScope, SessionFacts } from '../context/context.js'
import type { RequestFacts } from '../context/request-facts.js'
import type { StateValue } from '../context/session-state.js'
import { stepText } from '../context/steps.js'
import { needProblem } from '../definitions/session-needs.js'
import type { deskActor } from './desk.js'
import type { CallFacts } from './facts.js'

/** The step that the running code is part of. */
const steps = new AsyncLocalStorage<string>()

/** The request of a handler over here: its facts are copies, and what it does is done at its desk. */
export class BorderScope implements RequestScope {
  readonly work: string
  readonly task: TaskContext
  readonly isolation = undefined
  readonly #desk: RefOf<typeof deskActor>
  #facts: CallFacts
  #open = 0

  constructor(work: string, facts: CallFacts, desk: RefOf<typeof deskActor>, task: TaskContext) {
    this.work = work
    this.task = task
    this.#facts = facts
    this.#desk = desk
  }

  /** Whether it waits for an answer that may never come, as the handler runs again with it. */
  get isLeft(): boolean {
    return this.#open > 0 && this.session.id === undefined
  }

  /** Made when it is asked for: most handlers never do. */
  get signal(): AbortSignal {
    return this.task.signal
  }

  get #isOver(): boolean {
    return !this.task.self.alive
  }

  get session(): SessionFacts {
    return this.#facts.session
  }

  get requestId(): CallFacts['requestId'] {
    return this.#facts.requestId
  }

  get request(): RequestFacts {
    return this.#facts.request
  }

  get progressToken(): CallFacts['progressToken'] {
    return this.#facts.progressToken
  }

  get peer(): Peer {
    return this.#facts.peer
  }

  get assigned(): CallFacts['assigned'] {
    return this.#facts.assigned
  }

  assign(values: object): void {
    this.#checkOpen()
    this.#desk.cast('assign', values)
    const { id, revision } = this.session
    if (id === undefined) throw new ServerError('NO_SESSION', needProblem(this.work, revision))
    this.#facts = { ...this.#facts, assigned: Object.freeze({ ...this.assigned, ...values }) }
  }

  credentials(wanted: WantedCredentials | undefined): Promise<Credentials | CredentialsVisit> {
    this.#checkOpen()
    return this.#desk.call('credentials', wanted, forever)
  }

  get changes(): Changes {
    this.#checkOpen()
    return {
      resourceUpdated: (uri) => this.#desk.call('resourceUpdated', uri, forever),
      listChanged: (list) => this.#desk.call('listChanged', list, forever),
    }
  }

  /** True when it was passed on. */
  tell<N extends NotificationTo<'client'>>(method: N, params: NotificationParams<N>): boolean {
    const { revision } = this.session
    const dialect = dialectOf(revision) ?? modernDialectOf(revision)
    if (this.#isOver || dialect === undefined) return false
    if (!reachesClient(dialect, method)) return false
    return this.#desk.cast('tell', { method, params: plain(params) } as never)
  }

  wantsLog(level: LoggingLevel): boolean {
    if (!isLoggingLevel(level))
      throw optionError('level', `log: expected a level such as info, got ${show(level)}`)
    return this.#facts.levels.includes(level)
  }

  async ask<M extends AskMethod>(
    key: string,
    method: M,
    params: Params<M>,
    options: AskOptions,
  ): Promise<Result<M>> {
    this.#checkOpen()
    this.#open += 1
    try {
      const asked = { key, method, params: plain(params), options: { ...options }, within: steps.getStore() }
      const { result, facts } = await this.#desk.call('ask', asked, forever)
      if (facts !== undefined) this.#facts = facts
      return result as Result<M>
    } catch (error) {
      if (!this.#isOver && this.#desk.alive) throw error
      // as in place: the run ends at its question
      if (this.session.id === undefined) return await new Promise<never>(() => {})
      throw new AskError('CLIENT_GONE', `${method}: the request has ended`, { cause: error })
    } finally {
      this.#open -= 1
    }
  }

  async once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.#checkOpen()
    if (typeof key !== 'string' || key === '')
      throw new ServerError('BAD_STATE', `once: key: expected a non-empty string, got ${show(key)}`)
    if (typeof fn !== 'function')
      throw new ServerError('BAD_STATE', `once: expected a function, got ${show(fn)}`)
    const begun = await this.#desk.call('begin', { key, within: steps.getStore() }, forever)
    if (!begun.isNew) return begun.value as Value
    const text = await this.#run(key, fn)
    await this.#desk.call('finish', { key, text }, forever)
    return (text === undefined ? undefined : JSON.parse(text)) as Value
  }

  release(): boolean {
    return this.#facts.releases && !this.#isOver && this.#desk.cast('release')
  }

  read(key: string): Promise<StateValue> {
    this.#checkOpen()
    return this.#desk.call('read', key, forever)
  }

  swap(key: string, version: number, value: unknown): Promise<StateValue | undefined> {
    this.#checkOpen()
    return this.#desk.call('swap', { key, version, value }, forever)
  }

  async #run(key: string, fn: () => unknown): Promise<string | undefined> {
    try {
      const value = await steps.run(key, fn)
      return value === undefined ? undefined : stepText(key, value)
    } catch (error) {
      await this.#desk
        .call('finish', { key, error }, forever)
        .catch(() => this.#desk.call('finish', { key, error: new Error(messageOf(error)) }, forever))
      throw error
    }
  }

  #checkOpen(): void {
    if (this.#isOver)
      throw new RuntimeError('ACTOR_DEAD', `${this.work} has ended: what it still does has no effect`)
  }
}

/** What its JSON says: an author's objects may hold what cannot be copied. */
function plain<Value>(value: Value): Value {
  const text = jsonText(value, (cause) => {
    const problem = `the message has no JSON text: ${(cause as Error)?.message ?? 'it is undefined'}`
    return new ProtocolError('NOT_SERIALISABLE', problem, { cause })
  })
  return JSON.parse(text) as Value
}
