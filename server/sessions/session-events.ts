import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { processOf } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import { emitServer, noteAnswer, type SessionEvent } from '../base/events.js'
import type { Session } from './session.js'

/** Tells subscribers that a session came or went. */
export function noteSession({ origin, facts, self }: Session, type: SessionEvent['type']): void {
  emitServer('session', () => {
    const { reason } = processOf(self)
    const event = { ...origin, type, revision: facts.revision }
    return reason === null ? event : { ...event, reason: reason.type }
  })
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
