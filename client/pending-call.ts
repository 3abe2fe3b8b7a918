import { type JsonRpcError, McpError } from '../protocol/errors.js'
import { isObject, type JsonObject } from '../protocol/json.js'
import type { ProgressParams } from '../protocol/types/notifications.js'
import { modernDialects } from '../protocol/versions.js'
import type { Deferred } from '../runtime/behaviour.js'
import { Deadline } from '../runtime/deadlines.js'
import { callError, type ClientError } from './errors.js'
import type { TransportError } from '../transports/errors.js'
import type { Job } from './job.js'
import { toldCause } from './told-cause.js'

/** How a connection ended: whether the server has forgotten the session, and whether trying again is of no use. */
export interface LinkLoss {
  readonly sessionGone: boolean
  readonly fatal: boolean
}

/** One call of one incarnation: it waits for a connection, and then for its answer. */
export class Pending extends Deadline {
  readonly job: Job
  readonly reply: Deferred<JsonObject>
  readonly #onExpire: (pending: Pending) => void
  id: number | undefined
  progress = Number.NEGATIVE_INFINITY

  constructor(job: Job, reply: Deferred<JsonObject>, onExpire: (pending: Pending) => void) {
    super()
    this.job = job
    this.reply = reply
    this.#onExpire = onExpire
  }

  expire(): void {
    this.#onExpire(this)
  }
}

/** Whether a request was lost with its server, which ended: whatever else it had begun is gone, too. */
export function isGone({ data }: TransportError): boolean {
  return isObject(data) && data.gone === true
}

/** The error for who waits for an answer that will not come, on a connection that goes on. */
export function lossError({ method }: Job, error: TransportError): ClientError {
  const { code, message, retryable } = error
  const broke = code === 'CONNECTION_LOST' || code === 'PROCESS_EXITED'
  const details = { sent: code !== 'SEND_FAILED', retryable, cause: error }
  return callError(broke ? 'CONNECTION_LOST' : 'REQUEST_FAILED', `${method}: ${message}`, details)
}

/** What the server answered; some servers say in `data` that trying again can help, or what crashed. */
export function serverError({ code, message, data }: JsonRpcError): McpError {
  const details = { data, retryable: isObject(data) && data.retryable === true }
  const cause = toldCause(data)
  return new McpError(code, message, cause === undefined ? details : { ...details, cause })
}

/** Whether the refusal of a revision names one of 2026-07-28 or later that we speak. */
export function modernRevisionIn({ data }: JsonRpcError): boolean {
  const supported = isObject(data) ? data.supported : undefined
  return Array.isArray(supported) && modernDialects.some(({ revision }) => supported.includes(revision))
}

/** What the caller hears of the progress that the server reports. */
export function progressOf({
  progress,
  total,
  message,
}: ProgressParams): Parameters<NonNullable<Job['onProgress']>>[0] {
  return {
    progress,
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message }),
  }
}
