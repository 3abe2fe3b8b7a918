import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { Ticket } from '../../transports/link/actor.js'
import { bad } from '../base/read-options.js'
import type { CallSettings } from '../options/call-options.js'

/** One request, or notification, of a user. It outlives the actor that has it in hand. */
export interface Job {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The JSON text of the params, made when the call was made. */
  readonly paramsText: string | undefined
  readonly wantsAnswer: boolean
  readonly call: CallSettings
  /** When its time is over, by the clock of the tree; progress may extend it, up to `lastDeadline`. */
  deadline: number
  readonly lastDeadline: number
  readonly progressToken: number | undefined
  readonly onProgress: CallSettings['onProgress']
  /** Of this attempt. The next attempt gets another one, so that this one cannot be sent any more. */
  ticket: Ticket
  /** Whether an earlier attempt, or round, was sent: the server may have acted on it. */
  left: boolean
  /** How often it was handed to an actor. */
  attempts: number
  /** What it was last sent in; undefined: it never was. */
  dialect: Dialect | undefined
  /** Whether it was repeated after a loss, which happens once. */
  repeated: boolean
  /** How often it was made, as its retry policy counts. */
  tries: number
  /** Whether the server has listed it as one that changes nothing, or nothing more. */
  harmless: boolean
  /** How often a server refused it because it did not know the session. */
  refusals: number
  /** Whether the caller has given it up. */
  abandoned: boolean
}

type JobInput = Pick<Job, 'method' | 'wantsAnswer' | 'call' | 'onProgress' | 'progressToken'> & {
  readonly params: object | undefined
  readonly now: number
}

/** Makes a job and encodes its params, in the caller. Throws BAD_OPTION when JSON cannot hold them. */
export function createJob(input: JobInput): Job {
  const { method, wantsAnswer, call, now, onProgress, progressToken } = input
  const params = withToken(input.params as JsonObject | undefined, progressToken)
  // field by field: a spread costs more than all the rest
  return {
    method,
    params,
    paramsText: params === undefined ? undefined : encodeParams(params),
    wantsAnswer,
    call,
    deadline: now + call.timeout,
    lastDeadline: now + call.totalTimeout,
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

/** The next round of a call: other params under the same deadline. It may be repeated once, too. */
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

/** Begins a new attempt: what is still on its way to the transport is revoked. */
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
