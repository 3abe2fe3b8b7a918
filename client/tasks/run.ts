import { hasCapability } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { latestHandshake } from '../../protocol/dialects/versions.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { Desk } from '../answers/answering.js'
import { callError, ClientError } from '../base/errors.js'
import type { Undo } from '../base/state.js'
import { serverError } from '../calls/errors.js'
import { mayPass } from '../connection/handshake.js'
import type { Holdings } from '../holdings/holdings.js'
import { invitationIn } from '../holdings/retry-budget.js'
import type { CallOptions, CallSettings } from '../options/call-options.js'
import type { ClientSettings } from '../options/options.js'
import { cancelledTask, isUnknown, lostTask, withTask } from './errors.js'
import { TaskQuestions } from './questions.js'
import { readTold, type TaskAnswer, type Told } from './told.js'

/** Between two looks at a task whose server does not say, in ms. */
const usualPause = 1_000
/** Whatever the server says: it must not be asked without a pause, nor be forgotten. */
const shortestPause = 50
const longestPause = 60_000
/** Errors of the server in a row that are taken for a passing trouble. */
const maxFailures = 10
/** Ms in which a task that nobody waits for any more is cancelled. */
const cancelTimeout = 10_000

/** What a run needs of the client. */
export interface TaskDesk {
  readonly settings: ClientSettings
  readonly holdings: Holdings
  /** A request about the task. */
  ask(method: string, params: JsonObject, options: CallOptions): Promise<TaskAnswer>
  /** The same, also when the handle of the caller is of no use any more (a lease that has ended). */
  tell(method: string, params: JsonObject, options: CallOptions): Promise<TaskAnswer>
  /** Ends the run with its reason; undefined: nothing but the caller does. */
  readonly gate: AbortSignal | undefined
}

/** The call that the task belongs to, and how long to wait for it. */
interface TaskTerms {
  /** For errors: the method that became the task, or waits for it. */
  readonly what: string
  /** Options of the call, counted from now on. */
  readonly call: CallSettings
  /** Whether who gives the wait up gives the task up. */
  readonly owns: boolean
  /** Whether it is the call that made the task: the error of a lost one is that of the call. */
  readonly isCall: boolean
}

/**
 * Waits until a task is over, in the context of its caller: looks at it, answers its questions, goes on after
 * lost connections and new sessions. It has no state elsewhere; its end leaves no timer.
 */
export class TaskRun {
  readonly #desk: TaskDesk
  readonly #terms: TaskTerms
  /** Aborts when nobody waits any more. */
  readonly #over = new AbortController()
  readonly #lastDeadline: number
  readonly #questions: TaskQuestions
  #deadline: number
  #timer: unknown
  #untrack: Undo = () => {}
  #tracks = false
  #taskId = ''
  /** Nothing is left to cancel. */
  #isDone = false
  #last: Told | undefined
  #hasNews = false
  #wake: Undo = () => {}
  #fail: (error: unknown) => void = () => {}

  constructor(desk: TaskDesk, terms: TaskTerms) {
    const { timeout, totalTimeout } = terms.call
    const now = desk.holdings.world.now()
    this.#desk = desk
    this.#terms = terms
    this.#deadline = now + timeout
    this.#lastDeadline = now + totalTimeout
    this.#questions = new TaskQuestions({
      what: terms.what,
      desk: (dialect) => this.#questionDesk(dialect),
      update: (inputResponses) => this.#update(inputResponses),
      fail: (error) => this.#fail(error),
    })
  }

  /** The token under which progress is told all through the task (2025-11-25); undefined: none is wanted. */
  track(): number | undefined {
    const { holdings } = this.#desk
    const { onProgress, resetOnProgress, signal } = this.#terms.call
    if (onProgress === undefined && !resetOnProgress) return undefined
    const token = holdings.nextToken()
    const tell = onProgress && holdings.outside(onProgress)
    let last = Number.NEGATIVE_INFINITY
    this.#tracks = true
    this.#untrack = holdings.taskNews.track(token, ({ progress, total, message }) => {
      if (progress <= last || signal?.aborted === true) return
      last = progress
      if (resetOnProgress) this.#prolong()
      tell?.({ progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) })
    })
    return token
  }

  /** Resolves with the result of the request that became the task. `first`: as it was told when it was made. */
  async finish(taskId: string, first?: Told): Promise<JsonObject> {
    const { call, owns, isCall } = this.#terms
    this.#taskId = taskId
    try {
      return await this.#wait(first)
    } catch (error) {
      if (owns && !this.#isDone) this.#cancel(call)
      throw withTask(error, taskId, isCall)
    } finally {
      this.end()
    }
  }

  /** The task was not made. */
  end(): void {
    this.#untrack()
  }

  #wait(first: Told | undefined): Promise<JsonObject> {
    const { holdings, gate } = this.#desk
    const { call } = this.#terms
    const { signal } = call
    const signals = [signal, gate].filter((one) => one !== undefined)
    const limits = {
      clock: holdings.world,
      ms: Number.POSITIVE_INFINITY, // progress moves the deadline
      late: (): never => this.#timedOut(),
      signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
      aborted: (cause: unknown): never => this.#givenUp(cause),
    }
    return waitWithin<JsonObject>(limits, (resolve, reject) => {
      this.#fail = reject
      this.#arm()
      const unwatch = holdings.taskNews.watch(this.#taskId, ({ status, lastUpdatedAt }) => {
        // a stream begins with what each task is: most of that is known
        const { task } = this.#last ?? {}
        if (status === task?.status && lastUpdatedAt === task?.lastUpdatedAt) return
        this.#hasNews = true
        this.#wake()
      })
      this.#follow(first).then(resolve, reject)
      return () => {
        unwatch()
        holdings.world.clearTimeout(this.#timer)
        this.#over.abort()
      }
    })
  }

  async #follow(first: Told | undefined): Promise<JsonObject> {
    const { taskNews } = this.#desk.holdings
    let told = first
    let failures = 0
    for (;;) {
      let pause: number | undefined
      let outcome: (() => JsonObject) | undefined
      try {
        const isAgain = this.#last !== undefined
        told ??= await this.#look()
        this.#last = told
        outcome = await this.#take(told)
        failures = 0
        pause = told.task.pollInterval
        const isLong = outcome === undefined && (isAgain || (pause ?? 0) > usualPause)
        if (isLong && told.modern !== undefined) taskNews.lasts(this.#taskId)
      } catch (error) {
        failures += 1
        pause = this.#pauseAfter(error, failures)
      }
      // an error of the task itself is none of the look
      if (outcome !== undefined) return outcome()
      told = undefined
      await this.#pause(pause ?? usualPause)
    }
  }

  async #look(): Promise<Told> {
    this.#hasNews = false
    const answer = await this.#ask('tasks/get')
    return readTold('tasks/get', answer)
  }

  /** Undefined: it goes on. The function answers its result, or throws its error. */
  async #take(told: Told): Promise<(() => JsonObject) | undefined> {
    const { what } = this.#terms
    const { task, result, error, inputRequests, modern } = told
    switch (task.status) {
      case 'working':
        // servers may send progress beside `tasks/result` only
        return modern === undefined && this.#tracks ? await this.#payload(false) : undefined
      case 'input_required':
        if (modern === undefined) return await this.#payload(false)
        this.#questions.take(inputRequests ?? {}, modern)
        return undefined
      case 'cancelled':
        return this.#outcome(() => {
          throw cancelledTask(what, task.statusMessage)
        })
      case 'completed':
      case 'failed':
        if (modern === undefined) return await this.#payload(true)
        return this.#outcome(() => {
          if (error !== undefined) throw serverError(error)
          return result ?? {}
        })
      default:
        return task.status satisfies never
    }
  }

  /**
   * `tasks/result` blocks until the task is over; while it needs input, it is what the server asks beside
   * (2025-11-25, tasks).
   */
  async #payload(isKnownOver: boolean): Promise<(() => JsonObject) | undefined> {
    try {
      const { result } = await this.#ask('tasks/result')
      return this.#outcome(() => result)
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      // the error of the request itself; before its end it may as well be one of this request: a look tells
      if (!isKnownOver) return undefined
      return this.#outcome(() => {
        throw error
      })
    }
  }

  #outcome<T>(outcome: () => T): () => T {
    this.#isDone = true
    return outcome
  }

  #ask(method: string, more: JsonObject = {}): Promise<TaskAnswer> {
    const { settings, holdings, ask } = this.#desk
    const { headers } = this.#terms.call
    // one answer that got lost must not take all of the time; `tasks/result` is answered at the end, and
    // progress may put that off
    const rest = method === 'tasks/result' ? this.#lastDeadline : this.#deadline
    const most = method === 'tasks/result' ? Number.POSITIVE_INFINITY : settings.timeout
    const timeout = Math.min(Math.max(1, rest - holdings.world.now()), most)
    const options = { timeout, signal: this.#over.signal, ...(headers !== undefined && { headers }) }
    return ask(method, { taskId: this.#taskId, ...more }, options)
  }

  /** Throws what no further look can change. */
  #pauseAfter(error: unknown, failures: number): number {
    if (this.#over.signal.aborted) throw error
    const { holdings, settings } = this.#desk
    const { what, isCall } = this.#terms
    if (isUnknown(error)) {
      this.#isDone = true
      throw lostTask(what, error, isCall)
    }
    if (error instanceof McpError && (!mayPass(error) || failures >= maxFailures)) throw error
    if (!(error instanceof McpError) && !(error instanceof ClientError && error.retryable)) throw error
    const invited = invitationIn((error as Error).cause, holdings.world.date()) ?? 0
    return Math.max(usualPause, Math.min(invited, settings.backoff.cap))
  }

  /** As long as the server says; news of the task, and the end of the client, make it shorter. */
  async #pause(ms: number): Promise<void> {
    await this.#sleep(shortestPause, false)
    const rest = Math.min(ms, longestPause) - shortestPause
    if (rest > 0 && !this.#hasNews) await this.#sleep(rest, true)
    this.#over.signal.throwIfAborted()
  }

  #sleep(ms: number, hearsNews: boolean): Promise<void> {
    const { holdings } = this.#desk
    const wake = (): void => {}
    const limits = { clock: holdings.world, ms, late: wake, signal: this.#over.signal, aborted: wake }
    return waitWithin<void>(limits, (resolve) => {
      if (hearsNews) this.#wake = resolve
      const unwatch = holdings.watch(({ phase }) => {
        // a new session has told nothing of what was before
        if (phase === 'closed' || phase === 'failed' || (hearsNews && phase === 'ready')) resolve()
      })
      return () => {
        this.#wake = () => {}
        unwatch()
      }
    })
  }

  /** Goes on until the server has the answers, or nobody waits any more. */
  async #update(inputResponses: JsonObject): Promise<void> {
    for (let failures = 1; !this.#over.signal.aborted; failures++) {
      try {
        await this.#ask('tasks/update', { inputResponses })
        return
      } catch (error) {
        // a task that is gone or over needs no answers: the next look tells
        if (error instanceof McpError && error.code === errorCodes.invalidParams) return
        await this.#sleep(this.#pauseAfter(error, failures), false)
      }
    }
  }

  #questionDesk(dialect: Dialect): Desk {
    const { settings, holdings } = this.#desk
    const timeout = Math.min(settings.questionTimeout, this.#left())
    const { signal } = this.#over
    const { signal: callSignal } = this.#terms.call
    return { settings, holdings, clock: holdings.world, dialect, signal, callSignal, timeout }
  }

  /** Tells the server, and waits for nothing. */
  #cancel({ headers }: CallSettings): void {
    const { holdings, tell } = this.#desk
    const { capabilities = {}, revision } = holdings.server ?? {}
    const isRefused = revision === latestHandshake.revision && !hasCapability(capabilities, 'tasks.cancel')
    if (isRefused || holdings.closing || holdings.over) return
    const options = { timeout: cancelTimeout, ...(headers !== undefined && { headers }) }
    // whoever gave it up may have ended, and could ask for nothing any more
    void outside(() => tell('tasks/cancel', { taskId: this.#taskId }, options).catch(() => {}))
  }

  #left(): number {
    return Math.max(1, this.#deadline - this.#desk.holdings.world.now())
  }

  #arm(): void {
    const { world } = this.#desk.holdings
    world.clearTimeout(this.#timer)
    this.#timer = undefined
    if (!Number.isFinite(this.#deadline)) return
    this.#timer = world.setTimeout(() => {
      try {
        this.#timedOut()
      } catch (error) {
        this.#fail(error)
      }
    }, this.#left())
  }

  #prolong(): void {
    const { timeout } = this.#terms.call
    this.#deadline = Math.min(this.#desk.holdings.world.now() + timeout, this.#lastDeadline)
    if (this.#timer !== undefined) this.#arm()
  }

  #timedOut(): never {
    throw callError('TIMEOUT', `${this.#terms.what}: the task was not over within the time of the call`, {
      sent: true,
    })
  }

  #givenUp(cause: unknown): never {
    const { what } = this.#terms
    const details = { sent: true, retryable: false, cause }
    if (cause instanceof ClientError && cause === this.#desk.gate?.reason)
      throw callError(cause.code, `${what}: ${cause.message}`, details)
    throw callError('CANCELLED', `${what}: the caller gave it up (${messageOf(cause)})`, details)
  }
}
