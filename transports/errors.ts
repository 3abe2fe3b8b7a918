import { CaduceusError } from '../runtime/errors.js'

/** Every code a TransportError can have. */
export type TransportErrorCode =
  | 'BAD_OPTION'
  | 'COMMAND_NOT_FOUND'
  | 'SPAWN_FAILED'
  | 'PROCESS_EXITED'
  | 'CONNECT_FAILED'
  | 'CONNECTION_LOST'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_LIMIT'
  | 'REVISION_MISMATCH'
  | 'UNAUTHORIZED'
  | 'HTTP_STATUS'
  | 'BAD_RESPONSE'
  | 'MESSAGE_TOO_LONG'
  | 'SEND_FAILED'
  | 'NOT_OPEN'
  | 'LISTEN_FAILED'
  | 'CLOSED'

/** The error class of `caduceus/transports`. */
export class TransportError extends CaduceusError<TransportErrorCode> {}
