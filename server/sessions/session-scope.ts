import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef } from '../../runtime/tasks/supervisor.js'
import type { OpenSessionFacts, RequestScope } from '../context/context.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { Changes } from '../context/changes.js'
import type { Isolation } from '../context/isolated.js'
import { AskError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { readQuestion } from '../requests/question.js'
import { type RequestDelivery, Scope } from '../requests/scope.js'
import { adoptConfirmation } from './saving.js'
import type { Session } from './session.js'
import type { StateValue } from '../context/session-state.js'
import { Steps } from '../context/steps.js'

export interface SessionRun extends RequestDelivery {
  readonly work: { readonly name: string }
  /** Why it cannot ask the client; undefined for a request, which can. */
  readonly silent?: string
  /** Undefined while the first step of the work runs. */
  readonly task: TaskRef<void> | undefined
  readonly cancelled: boolean
  /** What the session had changed when this run last looked: it is saved before its answer goes out. */
  saw: number
}

/** The outlet of what has no stream. */
export const nowhere = Object.freeze({ send: () => false })

export class SessionScope extends Scope implements RequestScope {
  readonly #session: Session
  readonly #run: SessionRun
  #steps: Steps | undefined

  constructor(session: Session, run: SessionRun, task: TaskContext) {
    super(task, session.holdings.catalog, session.origin)
    this.#session = session
    this.#run = run
  }

  get session(): OpenSessionFacts {
    return this.#session.facts
  }

  get holder(): ProcessRef {
    return this.#session.self
  }

  get assigned(): Readonly<Record<string, unknown>> {
    return this.#session.frame.assigns
  }

  assign(values: object): void {
    this.checkOpen()
    this.#session.frame.assign(values)
  }

  get changes(): Changes {
    this.checkOpen()
    return this.#session.frame.changes
  }

  release(): boolean {
    return this.isActive && this.#run.outlet.release?.() === true
  }

  async ask<M extends AskMethod>(
    _key: string,
    method: M,
    params: Params<M>,
    { timeout = this.#session.holdings.settings.askTimeout }: AskOptions,
  ): Promise<Result<M>> {
    const { silent } = this.#run
    if (silent !== undefined) throw new AskError('NOT_INITIALIZED', silent)
    this.checkOpen()
    readMs(timeout, 'timeout')
    const { dialect, facts, self } = this.#session
    const question = readQuestion(method, params, { dialect, capabilities: facts.capabilities })
    const asking = { of: this.requestId, method, params: question, timeout }
    try {
      return (await self.call('ask', asking, forever)) as Result<M>
    } catch (error) {
      // the client may have told another program that it is ready
      const isEarly = error instanceof AskError && error.code === 'NOT_INITIALIZED'
      if (!isEarly || !(await adoptConfirmation(this.#session))) throw error
      return (await self.call('ask', asking, forever)) as Result<M>
    }
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    this.#steps ??= new Steps()
    return this.#steps.once(key, fn)
  }

  async read(key: string): Promise<StateValue> {
    this.checkOpen()
    const value = await this.#session.self.call('read', key)
    this.#run.saw = this.#session.changes
    return value
  }

  async swap(key: string, version: number, value: unknown): Promise<StateValue | undefined> {
    this.checkOpen()
    const other = await this.#session.self.call('swap', { key, version, value })
    if (other === undefined) this.#session.changes += 1
    this.#run.saw = this.#session.changes
    return other
  }

  protected get delivery(): RequestDelivery {
    return this.#run
  }

  protected get dialect(): Dialect {
    return this.#session.dialect
  }

  get isolation(): Isolation | undefined {
    return this.#session.holdings.isolation
  }

  get work(): string {
    return this.#run.work.name
  }

  protected get isActive(): boolean {
    return !this.isOver
  }

  protected get isOver(): boolean {
    const { task, cancelled } = this.#run
    return cancelled || task?.ref.alive === false
  }

  protected wants(level: LoggingLevel): boolean {
    return this.#session.wishes.wantsLog(level)
  }
}

const { readMs } = readersOf()
/** The session watches the time. */
const forever = Object.freeze({ timeout: Number.POSITIVE_INFINITY })
