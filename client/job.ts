import type { JsonObject } from '../protocol/json.js'
import { messageOf } from '../runtime/errors.js'
import type { Ticket } from '../transports/link-actor.js'
import { bad, type CallOptions } from './options.js'

/** One request, or notification, of a user on its way: it survives the actor that has it in hand. */
export interface Job {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The JSON text of the params as they were when the call was made. */
  readonly paramsText: string | undefined
  readonly wantsAnswer: boolean
  /** Milliseconds the call may take in all. */
  readonly timeout: number
  /** When that time is over, by the clock of the tree. */
  readonly deadline: number
  readonly progressToken: number | undefined
  readonly onProgress: CallOptions['onProgress']
  /** Of this attempt: replaced when the job is put back into the queue, so that the old one cannot be sent any more. */
  ticket: Ticket
  /** How often it was handed to an actor. */
  attempts: number
  /** Whether it was made again in a new session already, which happens once. */
  repeated: boolean
  /** Whether the caller does not wait any more. */
  abandoned: boolean
}

/** What is needed to make a job. */
export interface JobInput {
  readonly method: string
  readonly params: object | undefined
  readonly wantsAnswer: boolean
  readonly timeout: number
  readonly now: number
  readonly onProgress: CallOptions['onProgress']
  readonly progressToken: number | undefined
}

/** Makes a job; the params are encoded at once, in the caller. Throws BAD_OPTION when JSON cannot hold them. */
export function createJob({ now, params: given, ...input }: JobInput): Job {
  const params = withToken(given as JsonObject | undefined, input.progressToken)
  return {
    ...input,
    params,
    paramsText: params === undefined ? undefined : encodeParams(params),
    deadline: now + input.timeout,
    ticket: freshTicket(),
    attempts: 0,
    repeated: false,
    abandoned: false,
  }
}

/** The job goes back into the queue: what is still on its way to the transport stays here. */
export function takeBack(job: Job): void {
  job.ticket.revoked = true
  job.ticket = freshTicket()
}

/** Methods that change nothing: after a session was lost they are made again by themselves. */
export function isRepeatable({ method, repeated }: Job): boolean {
  return !repeated && (method === 'ping' || method === 'tools/list')
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
