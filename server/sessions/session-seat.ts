import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { Params, Result } from '../../protocol/messages/methods.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import type { OpenSessionFacts } from '../context/context.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import { AskError, ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { workFacts } from '../base/work-facts.js'
import { boundOf, isRefusal } from '../engine/refusal.js'
import { refusal, tryAgain } from '../requests/answer.js'
import { noRoom } from '../requests/session-wishes.js'
import { readQuestion } from '../requests/question.js'
import { type RequestDelivery, RunSeat, type UnkeptAnswer } from '../runs/seat.js'
import { adoptConfirmation, mustRollBack, renew, saveSeen } from './saving.js'
import type { Session } from './session.js'
import type { StateValue } from '../context/session-state.js'
import { Steps } from '../context/steps.js'

interface SeatOptions {
  readonly name: string
  readonly timeout?: number | undefined
  /** Why it cannot ask the client; undefined for a request, which can. */
  readonly silent?: string
}

/** A run in a session: it ends with it, and what its answer may tell of is saved before. */
export class SessionSeat extends RunSeat {
  readonly delivery: RequestDelivery
  /** What the session had changed when this run last looked. */
  saw = 0
  /** What the session had changed when this run last changed something itself. */
  changed = 0
  /** Whether it has its session want something that it has not wanted before. */
  isWish = false
  /** Whether the session ends with the run, to come back as it was saved last. */
  rollsBack = false
  /** Whether the store has refused what others have changed, and nothing of this run. */
  isBlameless = false
  readonly #session: Session
  readonly #silent: string | undefined
  /** Whether the session is saved also without a change, so that the store sees that it is in use. */
  readonly #renews: boolean
  #steps: Steps | undefined

  constructor(session: Session, delivery: RequestDelivery, options: SeatOptions) {
    super(session, options)
    this.delivery = delivery
    this.#session = session
    this.#silent = options.silent
    const { idle } = session.holdings.settings.timeouts
    this.#renews = session.lastActive - session.lastSaved > idle / 10
  }

  override get link(): ProcessRef {
    return this.#session.self
  }

  /** Nothing is lost that a client knows of, also no change of another request. */
  override keep(response: Response): Response | Promise<Response> {
    return this.saw > this.#session.saved || this.#renews ? this.#save(response) : response
  }

  /**
   * Saves what this run has seen. Answers whether there was anything, and rejects like `saveSession`; `rollsBack`
   * says what has to become of the session.
   */
  async save(): Promise<boolean> {
    const session = this.#session
    // until it is known: a run that ends meanwhile does not hear how its save comes out
    this.rollsBack = session.holdings.store.shared === true && this.saw > session.saved
    try {
      const wasSaved = await saveSeen(session, this.saw)
      this.rollsBack = false
      return wasSaved
    } catch (error) {
      this.rollsBack = mustRollBack(session, error)
      if (isRefusal(error)) this.#blame(error)
      throw error
    }
  }

  /** The store refuses what the session has become: whoever has changed it should not try that again. */
  #blame(problem: ServerError): void {
    const session = this.#session
    const isStuck = !this.rollsBack
    this.isBlameless = !isStuck && this.changed <= session.saved
    this.unkept = this.isBlameless ? interrupted : isStuck ? stuck(problem) : refused(problem)
  }

  async #save(response: Response): Promise<Response> {
    const session = this.#session
    const wasSaved = await this.save().catch((error) => {
      if (isRefusal(error) && this.isWish) return refusal(this.requestId, noRoom(error), this.dialect)
      if (!isAway(error)) throw error
      return undefined
    })
    if (typeof wasSaved === 'object') return wasSaved
    if (wasSaved === undefined) return tryAgain(this.requestId, 'The change could not be saved yet')
    // without a change nothing is lost: the next time is soon enough
    if (!wasSaved && this.#renews) await renew(session).catch(() => {})
    return response
  }

  override about(): WorkFacts {
    return workFacts(this.delivery.request, this.peer, this.session.id)
  }

  get session(): OpenSessionFacts {
    return this.#session.facts
  }

  /** What ends with the session would end with its process: from now on it does not hibernate. */
  hold(): ProcessRef {
    this.#session.isHeld = true
    return this.#session.self
  }

  get assigned(): Readonly<Record<string, unknown>> {
    return this.#session.frame.assigns
  }

  assign(values: object): void {
    this.checkOpen()
    this.#session.frame.assign(values)
  }

  release(): boolean {
    return this.isActive && this.delivery.sink.release?.() === true
  }

  async ask<M extends AskMethod>(
    _key: string,
    method: M,
    params: Params<M>,
    { timeout = this.#session.holdings.settings.timeouts.question }: AskOptions,
  ): Promise<Result<M>> {
    if (this.#silent !== undefined) throw new AskError('NOT_INITIALIZED', this.#silent)
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
    this.saw = this.#session.changes
    return value
  }

  async swap(key: string, version: number, value: unknown): Promise<StateValue | undefined> {
    this.checkOpen()
    const other = await this.#session.self.call('swap', { key, version, value })
    if (other instanceof ServerError) throw other
    if (other === undefined) this.changed = this.#session.changes += 1
    this.saw = this.#session.changes
    return other
  }

  get dialect(): Dialect {
    return this.#session.dialect
  }

  protected wants(level: LoggingLevel): boolean {
    return this.#session.wishes.wantsLog(level)
  }
}

/** The engine of the cluster is: who sees the change later is answered once it is saved. */
function isAway(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE'
}

/** What is wrong is nothing of this request. */
const interrupted: UnkeptAnswer = Object.freeze({
  message: 'The session was interrupted: try once more',
  retryable: true,
})

/** Who tries it again ends the session again. */
export function refused(problem?: ServerError): UnkeptAnswer {
  const message = `What this request, or another one at the same time, has changed is nothing that the record of the session${boundOf(problem)} can hold: all is as it was saved last`
  return { message, retryable: false }
}

/** What was saved once is refused now: nothing can be saved until it fits again. */
function stuck(problem: ServerError): UnkeptAnswer {
  const message = `The record of the session${boundOf(problem)} has no room for what the session is now: remove more of it, as what was removed so far counts`
  return { message, retryable: false }
}

const { readMs } = readersOf()
/** The session watches the time. */
const forever = Object.freeze({ timeout: Number.POSITIVE_INFINITY })
