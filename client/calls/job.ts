import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { Ticket } from '../../transports/link/actor.js'
import { bad } from '../base/read-options.js'
import type { CallSettings } from '../options/call-options.js'

/** A user's request or notification; outlives the actor that has it. */
export interface Job {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Made in the caller. */
  readonly paramsText: string | undefined
  readonly wantsAnswer: boolean
  readonly call: CallSettings
  /** By the tree's clock; progress may extend it, up to `lastDeadline`. */
  deadline: number
  readonly lastDeadline: number
  readonly progressToken: number | undefined
  readonly onProgress: CallSettings['onProgress']
  /** Token of this attempt; takeBack replaces it, so that this attempt cannot be sent any more. */
  ticket: Ticket
  /** An earlier attempt or round was sent: the server may have acted. */
  left: boolean
  /** Times it was handed to an actor. */
  attempts: number
  /** The dialect of the connection that it was last sent on. */
  dialect: Dialect | undefined
  /** After a loss, which happens once. */
  repeated: boolean
  /** As its retry policy counts. */
  tries: number
  /** Listed as one that changes nothing, or nothing more. */
  harmless: boolean
  /** Refusals because the server did not know the session. */
  refusals: number
  /** By its caller. */
  abandoned: boolean
}

type JobInput = Pick<Job, 'method' | 'wantsAnswer' | 'call' | 'onProgress' | 'progressToken'> & {
  readonly params: object | undefined
  readonly now: number
}

/** Encodes params in the caller. Throws BAD_OPTION when JSON cannot hold them. */
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

/** Other params under the same deadline; it may be repeated once, too. */
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

/** Whether the server may have seen any of its attempts. */
export function isSent({ left, ticket }: Job): boolean {
  return left || ticket.sent
}

/** Revokes what is still on its way to the transport. */
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
