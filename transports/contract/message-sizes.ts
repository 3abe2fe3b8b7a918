import { encode } from '../../protocol/wire/codec.js'
import { heapLimit } from '../../runtime/base/heap.js'
import { errorCodes, type ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  buildError,
  type InvalidMessage,
  isRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { textOf } from '../base/encoded.js'
import { TransportError } from '../base/errors.js'
import type { LinkEvents } from './contract.js'

const MiB = 1024 * 1024
/** Characters up to which answers are not counted: the number of requests is limited, too. */
export const uncounted = 16 * 1024

/** A budget of bytes: `add` takes so many of it, or says why it has not as many. */
interface ByteRoom {
  add(bytes: number): Error | undefined
}

/** The callbacks of a link for messages that were not sent. */
type Told = Pick<LinkEvents, 'lost' | 'trouble'>

/** The default of `limits.messageBytes`: 16 MiB, and less in a small heap (`--max-old-space-size`). */
export function usualMessageBytes(): number {
  return Math.min(16 * MiB, Math.floor(heapLimit() / 16))
}

/** An eighth of the heap: texts and values that are made of bytes take several times as much. */
export function usualPendingBytes(): number {
  return Math.floor(heapLimit() / 8)
}

/** The default of `limits.queuedBytes`: four of the longest messages. */
export function usualQueuedBytes(): number {
  return 4 * usualMessageBytes()
}

/** Whether a text has at most so many bytes; the bytes of a short one are not counted. */
function isWithin(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}

/** What to write for a text: for a long string Node would allocate three times its length besides it. */
export function bytesOf(text: string): string | Buffer {
  return text.length > uncounted ? Buffer.from(text) : text
}

/**
 * The text of a message of at most `maxBytes`. A longer answer is replaced by an error for its request.
 * Undefined for a longer request or notification: it is not sent. `bytes` has to have room for a long answer.
 */
export function textWithin(message: Message, maxBytes: number, bytes?: ByteRoom): string | undefined {
  const text = textOf(message)
  const isLong = text.length > uncounted
  const size = isLong || text.length * 3 > maxBytes ? Buffer.byteLength(text) : 0
  const isShort = size <= maxBytes
  const refused = isShort && isLong ? bytes?.add(size) : undefined
  if (isShort && refused === undefined) return text
  if (isRequest(message) || !('id' in message)) return undefined
  if (refused !== undefined) {
    const problem = `the request was carried out, but its answer finds no room: ${refused.message}`
    const error = { code: errorCodes.internalError, message: problem, data: { retryable: true } }
    return textOf(buildError(message.id, error))
  }
  const problem = `the answer has ${size} bytes, a message may have ${maxBytes} (limits.messageBytes)`
  return textOf(buildError(message.id, { code: errorCodes.internalError, message: problem }))
}

/** The text to send. A message too long is not: a request is lost, an answer becomes an error. */
export function sendable(text: string, message: Message, maxBytes: number, events: Told): string | undefined {
  if (isWithin(text, maxBytes)) return text
  const instead = textWithin(message, maxBytes)
  if (instead !== undefined) return instead
  const size = Buffer.byteLength(text)
  const problem = `the message has ${size} bytes, a message may have ${maxBytes} (limits.messageBytes)`
  notSent(message, new TransportError('SEND_FAILED', problem), events)
  return undefined
}

/** Reports an unsent message: `lost` for requests, else `trouble`. */
export function notSent(message: Message, error: TransportError, events: Told): void {
  if (isRequest(message)) events.lost(message.id, error)
  else events.trouble(error)
}

/** A message was skipped: fails the call it answers, refuses the request it is, else reports trouble. */
export function tellSkipped(
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

/** The id of the request whose answer was skipped, if it was an answer. */
export function answeredBy(cause: ProtocolError): RequestId | undefined {
  const { about, id } = cause.data as InvalidMessage
  return about === 'response' ? id : undefined
}

/** The error for a message of the far side that was too long: the next one would be, too. */
export function tooLong(cause: ProtocolError): TransportError {
  return new TransportError('MESSAGE_TOO_LONG', cause.message, { cause })
}

/** The error for an answer that is not read to its end, since it is too long already. */
export function longAnswer(maxBytes: number): TransportError {
  const message = `a message may have ${maxBytes} bytes (limits.messageBytes), the response has more`
  return new TransportError('MESSAGE_TOO_LONG', message)
}
