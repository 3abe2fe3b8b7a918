import type { Dialect } from '../../protocol/dialects/dialect.js'
import { retryParams } from '../../protocol/stateless/input-required.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { InputResponses } from '../../protocol/messages/base.js'
import type { InputRequiredResult } from '../../protocol/messages/input-required.js'
import { cut } from '../../runtime/base/cut.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import { type ActorRef, forever, type RefOf } from '../../runtime/process/ref.js'
import type { clientActor } from '../connection/client-actor.js'
import { callError, ClientError, failedError, unsentError } from '../base/errors.js'
import { type AroundEvent, type CallEvent, codeOf, emitClient, isHeard } from '../base/events.js'
import { createJob, isSent, type Job, nextJob, takeBack } from '../calls/job.js'
import { clientActorName } from '../base/names.js'
import { isRepeatable, retryDelay } from '../calls/repeat.js'
import { SharedSignals } from '../base/shared-signals.js'
import { answerRound, hasRounds, maxRounds, readRound, statePause, tooManyRounds } from '../answers/rounds.js'
import { bad, readText } from '../base/read-options.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import { actorOf, type ClientParts } from './parts.js'
import type { World } from '../../runtime/time/world.js'
import { waitWithin } from '../../runtime/time/wait.js'

const firstFrame = '\n    at '

export interface CallInput {
  readonly method: string
  readonly params?: object | undefined
  readonly wantsAnswer: boolean
  readonly options?: CallOptions | undefined
  /** What the caller gave as `signal`, or null, where the one in `options` is another. */
  readonly given?: AbortSignal | null | undefined
}

export interface CallOutcome {
  readonly result: JsonObject
  readonly dialect: Dialect | undefined
  /** Rounds of questions before the answer. */
  readonly rounds: number
}

/** Calls the current actor; an unsent call moves to the next, in its deadline. All promises settle. */
export class Caller {
  readonly #parts: ClientParts
  readonly #name: string
  readonly #signals = new SharedSignals()
  /** Errors that have the frames of a caller. */
  readonly #seen = new WeakSet<Error>()
  #lastCall = 0

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#name = clientActorName(parts.settings.name)
  }

  /** The caller's signal, the gate of this handle, or both. */
  stops(given: AbortSignal | undefined): AbortSignal | undefined {
    const { gate } = this.#parts
    return gate !== undefined && given !== undefined ? AbortSignal.any([gate, given]) : (gate ?? given)
  }

  get #world(): World {
    return this.#parts.holdings.world
  }

  /** Rejects with BAD_OPTION before anything is done. */
  call(input: CallInput): Promise<CallOutcome> {
    return isHeard('call') ? this.#within(input) : this.#told(input)
  }

  #told(input: CallInput): Promise<CallOutcome> {
    return isHeard('request') ? this.#tell(input) : this.#make(input)
  }

  /** Within what subscribers put around it, and with what they add to `_meta`. */
  #within(input: CallInput): Promise<CallOutcome> {
    const { name: client, tree, server } = this.#parts.holdings
    const params = isObject(input.params) ? input.params : {}
    const target = params.name ?? params.uri
    const event: AroundEvent = {
      ...{ client, tree, method: cut(String(input.method), 100), meta: {} },
      transport: this.#parts.settings.transport.name,
      ...(typeof target === 'string' && { target: cut(target, 200) }),
      ...(server !== undefined && { revision: server.revision }),
    }
    emitClient('call', () => event)
    const { around, meta } = event
    const own = isObject(params._meta) ? params._meta : {}
    const more =
      Object.keys(meta).length === 0 ? input : { ...input, params: { ...params, _meta: { ...own, ...meta } } }
    return around === undefined ? this.#told(more) : around(() => this.#told(more))
  }

  #make(input: CallInput): Promise<CallOutcome> {
    const { gate } = this.#parts
    return gate === undefined ? this.#call(input) : this.#callUntil(gate, input)
  }

  /** Tries actor after actor until the call is settled, and once per round of questions (MRTR). */
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
        if (gone !== undefined && !(await this.#waitsToRetry(job, gone, signal))) throw this.#placed(gone)
        takeBack(job)
        continue
      }
      const { dialect, method } = job
      const asked = hasRounds(dialect) ? readRound(method, result, input.options?.resultTypes) : undefined
      if (asked === undefined || dialect === undefined) return { result, dialect, rounds: round }
      if (round === maxRounds) throw tooManyRounds(method)
      const answers = await this.#answers(job, asked, { dialect, ...input })
      job = nextJob(job, retryParams(job.params ?? {}, answers, asked.requestState))
      round += 1
    }
  }

  async #waitsToRetry(job: Job, error: unknown, signal: AbortSignal | undefined): Promise<boolean> {
    if (typeof job.call.retry !== 'object') return false
    const { holdings, settings } = this.#parts
    const { tools, counts, budget } = holdings
    const { backoff } = settings
    const wait = retryDelay(job, error, { tools, budget, backoff, world: this.#world })
    if (wait === undefined) return false
    job.tries += 1
    counts.repeated += 1
    if (wait > 0) await this.#pause(wait, signal)
    return true
  }

  /** Ends sooner when the caller gives up or the client has ended. */
  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const wake = (): void => {}
    const limits = { clock: this.#world, ms, late: wake, signal, aborted: wake }
    return waitWithin(limits, (resolve) =>
      this.#parts.holdings.watch(({ phase }) => {
        if (phase === 'closed' || phase === 'failed') resolve()
      }),
    )
  }

  /** With events of its begin and end. */
  async #tell(input: CallInput): Promise<CallOutcome> {
    const { name: client, tree } = this.#parts.holdings
    this.#lastCall += 1
    const facts = { client, tree, call: this.#lastCall, method: String(input.method).slice(0, 100) }
    const world = this.#world
    const began = world.now()
    const end = (type: 'stop' | 'error', why?: Pick<CallEvent, 'code' | 'isError'>): void =>
      emitClient('request', () => ({ ...facts, type, duration: world.now() - began, ...why }))
    emitClient('request', () => ({ ...facts, type: 'start' }))
    try {
      const outcome = await this.#make(input)
      const isError = input.method === 'tools/call' && outcome.result.isError === true
      if (isError) end('error', { isError })
      else end('stop')
      return outcome
    } catch (error) {
      end('error', codeOf(error))
      throw error
    }
  }

  async #callUntil(gate: AbortSignal, input: CallInput): Promise<CallOutcome> {
    const { signal: given } = readCallOptions(input.options, this.#parts.settings.timeout)
    try {
      const options = { ...input.options, signal: this.stops(given) ?? gate }
      return await this.#call({ ...input, options, given: given ?? null })
    } catch (error) {
      const isOurs = error instanceof ClientError && error.cause === gate.reason
      throw isOurs && gate.reason instanceof ClientError ? gateError(input.method, error, gate.reason) : error
    }
  }

  #begin({ method, params, wantsAnswer, options }: CallInput): Job {
    const { settings, holdings } = this.#parts
    const call = readCallOptions(options, settings.timeout)
    readText(method, 'method')
    if (params !== undefined && (typeof params !== 'object' || params === null))
      throw bad('params', 'an object', params)
    const { onProgress, resetOnProgress } = call
    const wantsProgress = onProgress !== undefined || resetOnProgress
    return createJob({
      call: call.retry === undefined ? { ...call, retry: settings.retry } : call,
      method,
      params,
      wantsAnswer,
      now: this.#world.now(),
      onProgress:
        onProgress === undefined ? undefined : holdings.outside(whileWanted(onProgress, call.signal)),
      progressToken: wantsProgress ? holdings.nextToken() : undefined,
    })
  }

  async #answers(
    { method, deadline }: Job,
    asked: InputRequiredResult,
    { dialect, options, given = options?.signal }: CallInput & { readonly dialect: Dialect },
  ): Promise<InputResponses | undefined> {
    const { settings, holdings } = this.#parts
    const clock = this.#world
    const signal = options?.signal ?? new AbortController().signal
    const left = deadline - clock.now()
    const timeout = Math.min(settings.questionTimeout, left)
    const desk = { settings, holdings, clock, dialect, signal, callSignal: given ?? undefined, timeout }
    const answers = await answerRound(method, asked, desk)
    if (answers === undefined) await this.#pause(Math.max(0, Math.min(statePause, left)), signal)
    return answers
  }

  #issue(job: Job): Promise<JsonObject> {
    const known = this.#parts.registry.state(this.#name)
    const hand = (actor: RefOf<typeof clientActor>): Promise<JsonObject> => {
      job.attempts += 1
      return actor.call('request', job, forever) // the job has its own deadline
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
    actorOf(this.#parts).cast('cancel', { job, reason: 'the caller gave it up' })
  }

  async #nextActor(job: Job): Promise<RefOf<typeof clientActor>> {
    const { registry, holdings } = this.#parts
    const left = Math.max(0, job.deadline - this.#world.now())
    const done = holdings.demand.begin()
    try {
      const next = await registry.whenUp(this.#name, left)
      return next as ActorRef as RefOf<typeof clientActor>
    } catch (error) {
      throw this.#unavailable(job, error)
    } finally {
      done()
    }
  }

  /**
   * The error with the frames of whoever awaits it, in place of those of the actor that had the answer. Looked for
   * here, where nothing but awaits is between; one that is told to several has those of the first.
   */
  #placed(error: unknown): unknown {
    if (!(error instanceof Error) || error.stack === undefined || this.#seen.has(error)) return error
    this.#seen.add(error)
    const place: { stack?: string } = {}
    Error.captureStackTrace(place, this.#placed)
    const frames = place.stack?.slice(place.stack.indexOf(firstFrame)) ?? ''
    if (!frames.includes('\n    at async ')) return error
    const own = error.stack.indexOf(firstFrame)
    error.stack = (own < 0 ? error.stack : error.stack.slice(0, own)) + frames
    return error
  }

  /** The error for the caller; undefined when the call can be made again. */
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
    const { tools, counts } = this.#parts.holdings
    if (!job.wantsAnswer || !isRepeatable(job, tools)) return false
    job.repeated = true
    counts.repeated += 1
    return true
  }

  #unavailable(job: Job, error: unknown): ClientError {
    const { registry, holdings } = this.#parts
    const { method } = job
    const { name, over, state } = holdings
    if (error instanceof RuntimeError && error.code === 'TIMEOUT')
      return unsentError(job, { phase: state.phase, reason: state.reason ?? error }, isSent(job))
    if (over && state.phase === 'failed') return failedError(method, state.reason, isSent(job))
    const details = { sent: isSent(job), cause: error }
    return holdings.goneError(`${method}: client ${name}`, registry, details)
  }
}

/** The error of a call that the gate of its handle has ended, such as LEASE_EXPIRED. */
function gateError(method: string, { data }: ClientError, cause: ClientError): ClientError {
  const { sent } = data as { readonly sent: boolean }
  return callError(cause.code, `${method}: ${cause.message}`, { sent, retryable: false, cause })
}

/** A caller that gave up gets no more events, though the actor may not know yet. */
function whileWanted<T>(fn: (value: T) => void, signal: AbortSignal | undefined): (value: T) => void {
  return (value) => {
    if (signal?.aborted !== true) fn(value)
  }
}
