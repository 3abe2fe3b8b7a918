import { getHeapStatistics } from 'node:v8'
import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError, isRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { textOf } from '../base/encoded.js'

const MiB = 1024 * 1024
/** Answers that are not worth counting: there are only so many requests. */
export const uncounted = 16 * 1024

/** Who knows whether there is room for so many bytes; answers why not. */
export interface ByteRoom {
  add(bytes: number): Error | undefined
}

/**
 * Bytes a message may have unless an option says otherwise: 16 MiB, and less where the heap of this process
 * is small (`--max-old-space-size`).
 */
export function usualMessageBytes(): number {
  return Math.min(16 * MiB, Math.floor(getHeapStatistics().heap_size_limit / 16))
}

/** Bytes of messages that may wait to be sent unless an option says otherwise: four of the longest. */
export function usualQueuedBytes(): number {
  return 4 * usualMessageBytes()
}

/** Whether a text has at most so many bytes; one that is short is not counted. */
export function isWithin(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}

/**
 * What is written for a text. Node sets aside three times the length of a long string, and keeps the string
 * as well.
 */
export function bytesOf(text: string): string | Buffer {
  return text.length > uncounted ? Buffer.from(text) : text
}

/**
 * The text of a message, as far as it has at most so many bytes. In place of an answer that has more there is
 * an error, for that request alone; undefined for a request or a notification, which is not sent. `bytes`
 * says whether there is room for one that is not short.
 */
export function textWithin(message: Message, maxBytes: number, bytes?: ByteRoom): string | undefined {
  const text = textOf(message)
  const isShort = isWithin(text, maxBytes)
  const refused = isShort && text.length > uncounted ? bytes?.add(Buffer.byteLength(text)) : undefined
  if (isShort && refused === undefined) return text
  if (isRequest(message) || !('id' in message)) return undefined
  if (refused !== undefined) {
    const data = { retryable: true }
    return textOf(buildError(message.id, { code: errorCodes.internalError, message: refused.message, data }))
  }
  const problem = `the answer has ${Buffer.byteLength(text)} bytes, a message may have ${maxBytes} (maxMessageBytes)`
  return textOf(buildError(message.id, { code: errorCodes.internalError, message: problem }))
}
