import { encode } from '../../protocol/wire/codec.js'
import type { ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  type InvalidMessage,
  isRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { LinkEvents } from './contract.js'
import { TransportError } from '../base/errors.js'
import { isWithin, textWithin } from './message-sizes.js'

/** What a client is told of a message that was too long. */
type Told = Pick<LinkEvents, 'lost' | 'trouble'>

/** The error for a message of the far side that was too long: the next one would be, too. */
export function tooLong(cause: ProtocolError): TransportError {
  return new TransportError('MESSAGE_TOO_LONG', cause.message, { cause })
}

/** The error for an answer that was not read to its end, since it was too long by then. */
export function longAnswer(maxBytes: number): TransportError {
  const message = `a message may have ${maxBytes} bytes (maxMessageBytes), the response has more`
  return new TransportError('MESSAGE_TOO_LONG', message)
}

/**
 * A message of the server was skipped: fails the call that it answers, refuses the request that it is, and
 * tells of anything else.
 */
export function heedSkipped(
  cause: ProtocolError,
  events: Told,
  reply: (text: string, message: Message) => void,
): void {
  const { about, id } = cause.data as InvalidMessage
  if (about === 'response' && id !== undefined) return events.lost(id, tooLong(cause))
  const refusal = about === 'request' ? answerInvalid(cause) : undefined
  if (refusal === undefined) events.trouble(tooLong(cause))
  else reply(encode(refusal), refusal)
}

/** What is told of the messages in a stream. */
export interface StreamNews extends Pick<LinkEvents, 'message' | 'room'> {
  skipped(error: ProtocolError): void
}

/** Passes on what comes in a stream; `reply` sends what a message that was skipped is answered with. */
export function streamNews(events: LinkEvents, reply: (text: string, message: Message) => void): StreamNews {
  return {
    message: (text) => events.message(text),
    skipped: (error) => heedSkipped(error, events, reply),
    room: () => events.room(),
  }
}

/**
 * The text that may be sent of a message of ours, which has `text`. One that is too long is not sent, and
 * told of: a request is lost; in place of an answer there is an error.
 */
export function sendable(text: string, message: Message, maxBytes: number, events: Told): string | undefined {
  if (isWithin(text, maxBytes)) return text
  const instead = textWithin(message, maxBytes)
  if (instead !== undefined) return instead
  const size = Buffer.byteLength(text)
  const problem = `the message has ${size} bytes, a message may have ${maxBytes} (maxMessageBytes)`
  const error = new TransportError('SEND_FAILED', problem)
  if (isRequest(message)) events.lost(message.id, error)
  else events.trouble(error)
  return undefined
}

/** The id of the request whose answer was skipped, if it was one. */
export function answeredBy(cause: ProtocolError): RequestId | undefined {
  const { about, id } = cause.data as InvalidMessage
  return about === 'response' ? id : undefined
}
