import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { Ticket } from '../../transports/link/actor.js'
import { bad } from '../base/read-options.js'
import type { CallOptions, CallSettings } from '../options/call-options.js'

/** One request, or notification, of a user on its way: it survives the actor that has it in hand. */
export interface Job {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The JSON text of the params as they were when the call was made. */
  readonly paramsText: string | undefined
  readonly wantsAnswer: boolean
  /** Milliseconds the call may take in all. */
  readonly timeout: number
  /** When that time is over, by the clock of the tree; progress may put it off. */
  deadline: number
  /** What no progress puts off. */
  readonly lastDeadline: number
  readonly resetOnProgress: boolean
  readonly retry: CallOptions['retry']
  /** Whether it waits while there is no connection. */
  readonly wait: boolean
  /** For the request itself, where it has any. */
  readonly headers: CallOptions['headers']
  readonly progressToken: number | undefined
  readonly onProgress: CallOptions['onProgress']
  /**
   * Of this attempt: replaced when the job is put back into the queue, so that the old one cannot be sent any
   * more.
   */
  ticket: Ticket
  /**
   * Whether an earlier attempt, or round, has left: the server may have acted on it, whatever becomes of the
   * next.
   */
  left: boolean
  /** How often it was handed to an actor. */
  attempts: number
  /** What it was said in last; undefined: it never was. */
  dialect: Dialect | undefined
  /** Whether it was made again already, which happens once. */
  repeated: boolean
  /** How often it was made, as far as its policy counts. */
  tries: number
  /** Whether it is known to change nothing, or nothing more. */
  harmless: boolean
  /** How often servers refused it because they did not know the session. */
  refusals: number
  /** Whether the caller does not wait any more. */
  abandoned: boolean
}

/** What is needed to make a job: what is asked, and the checked options of the call. */
export interface JobInput {
  readonly method: string
  readonly params: object | undefined
  readonly wantsAnswer: boolean
  readonly call: CallSettings
  readonly now: number
  readonly onProgress: CallOptions['onProgress']
  readonly progressToken: number | undefined
}

/**
 * Makes a job; the params are encoded at once, in the caller. Throws BAD_OPTION when JSON cannot hold them.
 */
export function createJob(input: JobInput): Job {
  const { method, wantsAnswer, call, now, onProgress, progressToken } = input
  const { timeout, totalTimeout, resetOnProgress, retry, wait, headers } = call
  const params = withToken(input.params as JsonObject | undefined, progressToken)
  // field by field: a spread costs more than all the rest
  return {
    method,
    params,
    paramsText: params === undefined ? undefined : encodeParams(params),
    wantsAnswer,
    timeout,
    deadline: now + timeout,
    lastDeadline: now + totalTimeout,
    resetOnProgress,
    retry,
    wait,
    headers,
    progressToken,
    onProgress,
    ticket: freshTicket(),
    left: false,
    attempts: 0,
    dialect: undefined,
    repeated: false,
    tries: 1,
    harmless: false,
    refusals: 0,
    abandoned: false,
  }
}

/**
 * The same call with other params, within what is left of its time: another round of it, which may get lost
 * once, too.
 */
export function nextJob(job: Job, params: JsonObject): Job {
  return {
    ...job,
    params,
    paramsText: encodeParams(params),
    ticket: freshTicket(),
    left: true,
    attempts: 1,
    repeated: false,
    refusals: 0,
  }
}

/** Whether the server may have seen the call, in any of its attempts. */
export function isSent({ left, ticket }: Job): boolean {
  return left || ticket.sent
}

/**
 * The job goes back into the queue: what is still on its way to the transport stays here, and what left has
 * left.
 */
export function takeBack(job: Job): void {
  job.left = isSent(job)
  job.ticket.revoked = true
  job.ticket = freshTicket()
}

function freshTicket(): Ticket {
  return { sent: false, revoked: false }
}

function withToken(params: JsonObject | undefined, token: number | undefined): JsonObject | undefined {
  if (token === undefined) return params
  const meta = params?._meta
  return { ...params, _meta: { ...(typeof meta === 'object' ? meta : {}), progressToken: token } }
}

function encodeParams(params: JsonObject): string {
  let text: string | undefined
  try {
    text = JSON.stringify(params)
  } catch (cause) {
    throw bad('params', `a value that JSON can hold (${messageOf(cause)})`, params)
  }
  if (text?.startsWith('{') === true) return text
  throw bad('params', 'an object', params)
}
