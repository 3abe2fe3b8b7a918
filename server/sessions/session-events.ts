import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import {
  emitServer,
  type NotificationEvent,
  type RequestEvent,
  type RequestOrigin,
  type SessionEvent,
  type SessionOrigin,
} from '../base/events.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { Session } from './session.js'

/** Tells subscribers that a session came or went. */
export function noteSession({ origin, facts, self }: Session, type: SessionEvent['type']): void {
  emitServer('session', () => {
    const { reason } = processOf(self)
    const event = { ...origin, type, revision: facts.revision }
    return reason === null ? event : { ...event, reason: reason.type }
  })
}

/** Tells subscribers of a notification. */
export function noteNotification(
  origin: RequestOrigin,
  type: NotificationEvent['type'],
  method: string,
): void {
  emitServer('notification', () => ({ ...origin, type, method: method.slice(0, 100) }))
}

/** Which session it is, for events. */
export function originOf(self: ProcessRef, { settings }: Holdings): SessionOrigin {
  return Object.freeze({ server: settings.name, tree: processOf(self).tree.id, process: self.id })
}

/**
 * Notes that a request of a session is answered, tells subscribers how it came out, and passes its answer on.
 */
export function answered<Answer extends Response | undefined>(
  session: Session,
  message: JsonRpcRequest,
  response: Answer,
  started = session.lastActive,
): Answer {
  session.cancelledEarly.noteAnswered(message.id)
  noteAnswer(session, message, response, () => session.now() - started)
  return response
}

/** Tells subscribers how a request came out; `duration` is asked only when there are some. */
export function noteAnswer(
  from: { readonly origin: RequestOrigin },
  message: JsonRpcRequest,
  response: Response | undefined,
  duration: () => number,
): void {
  noteRequest(from, message, () => ({
    type: response !== undefined && 'error' in response ? 'error' : 'stop',
    duration: duration(),
    ...(response !== undefined && 'error' in response && { code: response.error.code }),
    ...(response === undefined && { cancelled: true }),
  }))
}

/** Tells subscribers of a request. */
export function noteRequest(
  { origin }: { readonly origin: RequestOrigin },
  { id, method }: JsonRpcRequest,
  outcome: () => Pick<RequestEvent, 'type' | 'duration' | 'code' | 'cancelled'>,
): void {
  emitServer('request', () => ({ ...origin, method: method.slice(0, 100), id, ...outcome() }))
}
