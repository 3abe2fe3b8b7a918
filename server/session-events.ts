import type { JsonRpcRequest } from '../protocol/jsonrpc.js'
import { type ProcessRef, processOf } from '../runtime/ref.js'
import type { Response } from '../transports/contract.js'
import {
  emitServer,
  type NotificationEvent,
  type RequestEvent,
  type SessionEvent,
  type SessionOrigin,
} from './events.js'
import type { Holdings } from './holdings-actor.js'
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
  origin: SessionOrigin,
  type: NotificationEvent['type'],
  method: string,
): void {
  emitServer('notification', () => ({ ...origin, type, method: method.slice(0, 100) }))
}

/** Which session it is, for events. */
export function originOf(self: ProcessRef, { settings }: Holdings): SessionOrigin {
  return Object.freeze({ server: settings.name, tree: processOf(self).tree.id, process: self.id })
}

/** Tells subscribers how a request came out, and passes its answer on. */
export function answered<Answer extends Response | undefined>(
  session: Session,
  message: JsonRpcRequest,
  response: Answer,
  started = session.lastActive,
): Answer {
  noteRequest(session, message, () => ({
    type: response !== undefined && 'error' in response ? 'error' : 'stop',
    duration: session.now() - started,
    ...(response !== undefined && 'error' in response && { code: response.error.code }),
    ...(response === undefined && { cancelled: true }),
  }))
  return response
}

/** Tells subscribers of a request. */
export function noteRequest(
  { origin }: Session,
  { id, method }: JsonRpcRequest,
  outcome: () => Pick<RequestEvent, 'type' | 'duration' | 'code' | 'cancelled'>,
): void {
  emitServer('request', () => ({ ...origin, method: method.slice(0, 100), id, ...outcome() }))
}
