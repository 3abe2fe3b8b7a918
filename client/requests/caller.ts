import type { Dialect } from '../../protocol/dialects/dialect.js'
import { retryParams } from '../../protocol/stateless/input-required.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { InputResponses } from '../../protocol/messages/base.js'
import type { InputRequiredResult } from '../../protocol/messages/input-required.js'
import type { Clock } from '../../runtime/time/clock.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import type { ActorRef, RefOf } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { clientActor } from '../connection/client-actor.js'
import { callError, ClientError, failedError, unsentError } from '../base/errors.js'
import { codeOf, emitClient, isHeard } from '../base/events.js'
import type { Holdings } from '../holdings/holdings.js'
import { createJob, isSent, type Job, nextJob, takeBack } from '../calls/job.js'
import { clientActorName } from '../base/names.js'
import type { ClientSettings } from '../options/options.js'
import { goneError } from '../holdings/gone.js'
import { isRepeatable, retryDelay } from '../calls/repeat.js'
import { SharedSignals } from '../base/shared-signals.js'
import { answerRound, hasRounds, maxRounds, readRound, statePause, tooManyRounds } from '../answers/rounds.js'
import { bad, readText } from '../base/read-options.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'

/** The job has a deadline of its own. */
const unlimited = { timeout: Number.POSITIVE_INFINITY }

/** What a call asks for. */
export interface CallInput {
  readonly method: string
  readonly params?: object | undefined
  readonly wantsAnswer: boolean
  readonly options?: CallOptions | undefined
}

/** What came of a call. */
export interface CallOutcome {
  readonly result: JsonObject
  /** What it was said in. */
  readonly dialect: Dialect | undefined
  /** How often the server asked before it answered. */
  readonly rounds: number
}

/**
 * Makes calls to whoever is the client now: a call that never left when an actor died is handed to the next
 * one, under the same deadline. Every promise it answers settles; whoever asks waits for it at once, so that
 * none is left to nobody.
 */
export class Caller {
  readonly #name: string
  readonly #registry: Registry
  readonly #settings: ClientSettings
  readonly #holdings: Holdings
  readonly #gate: AbortSignal | undefined
  readonly #signals = new SharedSignals()
  #lastCall = 0

  /** `gate`: calls are refused once it aborts, and those under way given up. */
  constructor(
    registry: Registry,
    settings: ClientSettings,
    { holdings, gate }: { readonly holdings: Holdings; readonly gate?: AbortSignal | undefined },
  ) {
    this.#name = clientActorName(settings.name)
    this.#registry = registry
    this.#settings = settings
    this.#holdings = holdings
    this.#gate = gate
  }

  /** What ends a call besides its own signal; undefined: neither is there. */
  stops(given: AbortSignal | undefined): AbortSignal | undefined {
    const gate = this.#gate
    return gate !== undefined && given !== undefined ? AbortSignal.any([gate, given]) : (gate ?? given)
  }

  /** Makes one call; rejects with BAD_OPTION, naming the field, before anything is done. */
  call(input: CallInput): Promise<CallOutcome> {
    return isHeard('request') ? this.#tell(input) : this.#make(input)
  }

  #make(input: CallInput): Promise<CallOutcome> {
    return this.#gate === undefined ? this.#call(input) : this.#callUntil(this.#gate, input)
  }

  /**
   * Makes a call: hands it to one actor after the other, until one has dealt with it, and again with answers
   * as long as the server asks for them (2026-07-28, MRTR).
   */
  async #call(input: CallInput): Promise<CallOutcome> {
    let job = this.#begin(input)
    const signal = input.options?.signal
    let round = 0
    for (;;) {
      let result: JsonObject
      try {
        result = await (signal === undefined ? this.#issue(job) : this.#issueUntil(job, signal))
      } catch (error) {
        const gone = this.#judge(job, error)
        if (gone !== undefined && !(await this.#waitsToRetry(job, gone, signal))) throw gone
        takeBack(job)
        continue
      }
      const { dialect, method } = job
      const asked = hasRounds(dialect) ? readRound(method, result, input.options?.resultTypes) : undefined
      if (asked === undefined || dialect === undefined) return { result, dialect, rounds: round }
      if (round === maxRounds) throw tooManyRounds(method)
      const answers = await this.#answers(job, asked, dialect, signal)
      job = nextJob(job, retryParams(job.params ?? {}, answers, asked.requestState))
      round += 1
    }
  }

  /** Waits for the next attempt where the policy of the call has one. */
  async #waitsToRetry(job: Job, error: unknown, signal: AbortSignal | undefined): Promise<boolean> {
    if (typeof job.call.retry !== 'object') return false
    const { tools, counts, budget } = this.#holdings
    const clock = this.#clock()
    const { backoff } = this.#settings
    const wait = retryDelay(job, error, { tools, budget, backoff, now: clock.now() })
    if (wait === undefined) return false
    job.tries += 1
    counts.repeated += 1
    if (wait > 0) await this.#rest(wait, clock, signal)
    return true
  }

  /** A client that has ended meanwhile says so at once. */
  async #rest(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
    const ended = new AbortController()
    const unwatch = this.#holdings.watch(({ phase }) => {
      if (phase === 'closed' || phase === 'failed') ended.abort()
    })
    await pause(ms, clock, signal, ended.signal)
    unwatch()
  }

  /** For whoever measures calls. */
  async #tell(input: CallInput): Promise<CallOutcome> {
    const { name: client, tree } = this.#holdings
    this.#lastCall += 1
    const facts = { client, tree, call: this.#lastCall, method: String(input.method).slice(0, 100) }
    const began = performance.now()
    const end = (type: 'stop' | 'error', error?: unknown): void =>
      emitClient('request', () => ({ ...facts, type, duration: performance.now() - began, ...codeOf(error) }))
    emitClient('request', () => ({ ...facts, type: 'start' }))
    try {
      const outcome = await this.#make(input)
      end('stop')
      return outcome
    } catch (error) {
      end('error', error)
      throw error
    }
  }

  async #callUntil(gate: AbortSignal, input: CallInput): Promise<CallOutcome> {
    const { signal } = readCallOptions(input.options, this.#settings.timeout)
    const either = this.stops(signal)
    try {
      return await this.#call({ ...input, options: { ...input.options, signal: either ?? gate } })
    } catch (error) {
      const isOurs = error instanceof ClientError && error.cause === gate.reason
      throw isOurs && gate.reason instanceof ClientError ? shutOut(input.method, error, gate.reason) : error
    }
  }

  #begin({ method, params, wantsAnswer, options }: CallInput): Job {
    const call = readCallOptions(options, this.#settings.timeout)
    readText(method, 'method')
    if (params !== undefined && (typeof params !== 'object' || params === null))
      throw bad('params', 'an object', params)
    const { onProgress, resetOnProgress } = call
    const wantsProgress = onProgress !== undefined || resetOnProgress
    return createJob({
      call: call.retry === undefined ? { ...call, retry: this.#settings.retry } : call,
      method,
      params,
      wantsAnswer,
      now: this.#clock().now(),
      onProgress: onProgress === undefined ? undefined : this.#holdings.outside(onProgress),
      progressToken: wantsProgress ? this.#holdings.nextToken() : undefined,
    })
  }

  async #answers(
    { method, deadline }: Job,
    asked: InputRequiredResult,
    dialect: Dialect,
    given: AbortSignal | undefined,
  ): Promise<InputResponses | undefined> {
    const clock = this.#clock()
    const settings = this.#settings
    const signal = given ?? new AbortController().signal
    const left = deadline - clock.now()
    const timeout = Math.min(settings.questionTimeout, left)
    const desk = { settings, holdings: this.#holdings, clock, dialect, signal, timeout }
    const answers = await answerRound(method, asked, desk)
    if (answers === undefined) await pause(Math.max(0, Math.min(statePause, left)), clock, signal)
    return answers
  }

  #clock(): Clock {
    return this.#registry.clockOf(this.#name)
  }

  /** Hands the job to the actor that takes calls now, or to the next one. */
  #issue(job: Job): Promise<JsonObject> {
    const known = this.#registry.state(this.#name)
    const hand = (actor: RefOf<typeof clientActor>): Promise<JsonObject> => {
      job.attempts += 1
      return actor.call('request', job, unlimited)
    }
    return known.state === 'up'
      ? hand(known.ref as RefOf<typeof clientActor>)
      : this.#nextActor(job).then(hand)
  }

  async #issueUntil(job: Job, signal: AbortSignal): Promise<JsonObject> {
    let unlisten = (): void => {}
    const aborted = new Promise<never>((_, reject) => {
      const onAbort = (): void => this.#abandon(job, signal.reason, reject)
      if (signal.aborted) onAbort()
      else unlisten = this.#signals.listen(signal, onAbort)
    })
    try {
      return await Promise.race([aborted, ...(signal.aborted ? [] : [this.#issue(job)])])
    } finally {
      unlisten()
    }
  }

  #abandon(job: Job, cause: unknown, reject: (error: ClientError) => void): void {
    const { ticket, method } = job
    const reason = `${method}: the caller gave it up (${messageOf(cause)})`
    reject(callError('CANCELLED', reason, { sent: isSent(job), retryable: false, cause }))
    job.abandoned = true
    if (!ticket.sent) ticket.revoked = true
    this.#registry
      .named<typeof clientActor>(this.#name)
      .cast('cancel', { job, reason: 'the caller gave it up' })
  }

  /** The next actor that takes calls, if it comes in time. */
  async #nextActor(job: Job): Promise<RefOf<typeof clientActor>> {
    const clock = this.#clock()
    const done = this.#holdings.demand.begin()
    try {
      const next = await this.#registry.whenUp(this.#name, Math.max(0, job.deadline - clock.now()))
      return next as ActorRef as RefOf<typeof clientActor>
    } catch (error) {
      throw this.#unavailable(job, error)
    } finally {
      done()
    }
  }

  /** The error to give the caller, or undefined when the call never left and can be made again. */
  #judge(job: Job, error: unknown): unknown {
    if (!(error instanceof RuntimeError)) return error
    if (error.code === 'MAILBOX_FULL')
      return callError('QUEUE_FULL', `${job.method}: ${error.message}`, { sent: isSent(job), cause: error })
    if (error.code !== 'EXITED' && error.code !== 'NOPROC') return error
    if (!job.abandoned && this.#isMadeAgain(job)) return undefined
    const message = `${job.method}: the client was restarted while it waited for the answer`
    return callError('CONNECTION_LOST', message, { sent: isSent(job), cause: error })
  }

  /** A new actor means a new connection, as after any other loss. */
  #isMadeAgain(job: Job): boolean {
    if (!job.ticket.sent) return true
    const { tools, counts } = this.#holdings
    if (!job.wantsAnswer || !isRepeatable(job, tools)) return false
    job.repeated = true
    counts.repeated += 1
    return true
  }

  #unavailable(job: Job, error: unknown): ClientError {
    const { name } = this.#settings
    const { method } = job
    const { over, state } = this.#holdings
    if (error instanceof RuntimeError && error.code === 'TIMEOUT')
      return unsentError(job, { phase: state.phase, reason: state.reason ?? error }, isSent(job))
    if (over && state.phase === 'failed') return failedError(method, state.reason, isSent(job))
    return goneError(`${method}: client ${name}`, this.#holdings, this.#registry, {
      sent: isSent(job),
      cause: error,
    })
  }
}

function shutOut(method: string, { data }: ClientError, cause: ClientError): ClientError {
  const { sent } = data as { readonly sent: boolean }
  return callError(cause.code, `${method}: ${cause.message}`, { sent, retryable: false, cause })
}

/** Resolves after `ms`, or as soon as one of the signals aborts. */
function pause(ms: number, clock: Clock, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimeout(timer)
      for (const signal of signals) signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimeout(end, ms)
    for (const signal of signals) signal?.addEventListener('abort', end, { once: true })
    if (signals.some((signal) => signal?.aborted)) end()
  })
}
