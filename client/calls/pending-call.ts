import { type JsonRpcError, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { ProgressParams } from '../../protocol/messages/types/notifications.js'
import { modernDialects } from '../../protocol/dialects/versions.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import { Deadline } from '../../runtime/time/deadlines.js'
import { callError, type ClientError, type ClientErrorCode } from '../base/errors.js'
import type { TransportError, TransportErrorCode } from '../../transports/base/errors.js'
import { isSent, type Job } from './job.js'
import { toldCause } from '../base/told-cause.js'

/**
 * How a connection ended: whether the server has forgotten the session, and whether trying again is of no
 * use.
 */
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

/** Whether a request that is lost may have reached the server: its transport says so, or the code does. */
export function hasLeft({ code, data }: TransportError): boolean {
  if (isObject(data) && typeof data.sent === 'boolean') return data.sent
  return code !== 'CONNECT_FAILED' && code !== 'NOT_OPEN' && code !== 'SEND_FAILED'
}

/** The error for who waits for an answer that will not come, on a connection that goes on. */
export function lossError(job: Job, error: TransportError): ClientError {
  const { code, message, retryable } = error
  const details = { sent: isSent(job), retryable, cause: error }
  return callError(lossCodes[code] ?? 'REQUEST_FAILED', `${job.method}: ${message}`, details)
}

const lossCodes: Partial<Record<TransportErrorCode, ClientErrorCode>> = {
  CONNECTION_LOST: 'CONNECTION_LOST',
  PROCESS_EXITED: 'CONNECTION_LOST',
  SESSION_NOT_FOUND: 'SESSION_NOT_FOUND',
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
