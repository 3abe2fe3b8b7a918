import { ProtocolError } from './errors.js'
import { describeLong, keptOfLong } from './long-message.js'
import { describeInvalid, type Message, readMessage } from './jsonrpc.js'

/** Limits of a text, checked before it is parsed or read as messages. */
export interface DecodeLimits {
  /** Nesting of arrays and objects, the message itself included. Default 64. */
  readonly maxDepth?: number
  /** Messages in one batch. Default 100. */
  readonly maxBatch?: number
}

/** A batch: messages, and INVALID_MESSAGE errors in place of elements that are none. */
export type Batch = readonly (Message | ProtocolError)[]

const defaultLimits: Required<DecodeLimits> = Object.freeze({ maxDepth: 64, maxBatch: 100 })
const quote = 0x22
const backslash = 0x5c
const caseBit = 0x20 // makes [ and { one code, and ] and }
const opener = 0x7b
const closer = 0x7d
const readableLength = 65_536

/**
 * Reads one JSON text; an array is a batch, in any revision. Throws PARSE_FAILED, TOO_DEEP or
 * INVALID_MESSAGE. A key `__proto__` becomes a plain own property.
 */
export function decode(text: string, limits: DecodeLimits = defaultLimits): Message | Batch {
  const { maxDepth = defaultLimits.maxDepth, maxBatch = defaultLimits.maxBatch } = limits
  if (isTooDeep(text, maxDepth)) throw tooDeep(text, maxDepth)
  const value = parse(text)
  return Array.isArray(value) ? readBatch(value, maxBatch) : readMessage(value)
}

/** The JSON text of a message, one line. Throws NOT_SERIALISABLE for a BigInt, a cycle or endless nesting. */
export function encode(message: Message): string {
  try {
    return JSON.stringify(message)
  } catch (cause) {
    throw new ProtocolError('NOT_SERIALISABLE', `the message has no JSON text: ${(cause as Error).message}`, {
      cause,
    })
  }
}

/** The JSON text of a batch, one line. Throws NOT_SERIALISABLE, also for an empty batch. */
export function encodeBatch(messages: readonly Message[]): string {
  if (messages.length === 0) throw new ProtocolError('NOT_SERIALISABLE', 'a batch must not be empty')
  return `[${messages.map(encode).join(',')}]`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // the cause is left out: V8 quotes the text in it, and that may be secret
    throw new ProtocolError('PARSE_FAILED', `not valid JSON: a text of ${text.length} characters`)
  }
}

function readBatch(values: readonly unknown[], maxBatch: number): Batch {
  if (values.length === 0 || values.length > maxBatch) {
    const problem =
      values.length === 0 ? 'must not be empty' : `may have ${maxBatch} messages, got ${values.length}`
    throw new ProtocolError('INVALID_MESSAGE', `a batch ${problem}`, { data: { about: 'unknown' } })
  }
  return values.map(readElement)
}

function readElement(value: unknown): Message | ProtocolError {
  try {
    return readMessage(value)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

/** JSON.parse does not recurse: the id for the answer can be read. Of a long text its two ends have to tell. */
function tooDeep(text: string, maxDepth: number): ProtocolError {
  const data =
    text.length <= readableLength
      ? describeInvalid(parse(text))
      : describeLong(text.slice(0, keptOfLong), text.slice(-keptOfLong))
  return new ProtocolError('TOO_DEEP', `arrays and objects may be nested ${maxDepth} deep`, { data })
}

function isTooDeep(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth) return false
  return hasMoreThan(text, maxDepth) && depthExceeds(text, maxDepth)
}

/** Counts brackets, also those in strings: a cheap upper bound of the depth, which most texts pass. */
function hasMoreThan(text: string, count: number): boolean {
  let left = count
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (--left < 0) return true
    }
  }
  return false
}

function depthExceeds(text: string, maxDepth: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if ((code | caseBit) === closer) depth--
    else if ((code | caseBit) === opener && ++depth > maxDepth) return true
  }
  return false
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end, start)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number, start: number): boolean {
  let before = at - 1
  while (before > start && text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}
