import { ProtocolError } from './errors.js'
import { describeLong, keptOfLong } from './long-message.js'
import { describeInvalid, type Message, readMessage } from './jsonrpc.js'

/** Limits of a text, checked before it is parsed or read as messages. */
export interface DecodeLimits {
  /** Nesting of arrays and objects, the message itself included. Default 64. */
  readonly maxDepth?: number
  /** Messages in one batch. Default 100. */
  readonly maxBatch?: number
  /** Arrays, objects and what is in them. Default 250,000: a few tenths of a second to read. */
  readonly maxValues?: number
  /** Names in objects, which cost more than other values. Default 50,000. */
  readonly maxNames?: number
}

/** A batch: messages, and INVALID_MESSAGE errors in place of elements that are none. */
export type Batch = readonly (Message | ProtocolError)[]

const defaultLimits: Required<DecodeLimits> = Object.freeze({
  maxDepth: 64,
  maxBatch: 100,
  maxValues: 250_000,
  maxNames: 50_000,
})
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const caseBit = 0x20 // makes [ and { one code, and ] and }
const opener = 0x7b
const closer = 0x7d
const readableLength = 65_536

/**
 * Reads one JSON text; an array is a batch, in any revision. Throws PARSE_FAILED, TOO_DEEP, TOO_MANY_VALUES or
 * INVALID_MESSAGE. A key `__proto__` becomes a plain own property.
 */
export function decode(text: string, limits: DecodeLimits = defaultLimits): Message | Batch {
  const { maxBatch = defaultLimits.maxBatch } = limits
  const known = limits === defaultLimits ? defaultLimits : { ...defaultLimits, ...limits }
  const excess = excessOf(text, known)
  if (excess !== undefined) throw refusal(text, excess)
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

interface Excess {
  readonly code: 'TOO_DEEP' | 'TOO_MANY_VALUES'
  readonly message: string
}

/** The id for the answer can be read, as JSON.parse does not recurse. Of a long text its two ends have to tell. */
function refusal(text: string, { code, message }: Excess): ProtocolError {
  const data =
    text.length <= readableLength
      ? describeInvalid(parse(text))
      : describeLong(text.slice(0, keptOfLong), text.slice(-keptOfLong))
  return new ProtocolError(code, message, { data })
}

/** What a text has too much of: to parse it would take too long, or too much memory. */
function excessOf(text: string, limits: Required<DecodeLimits>): Excess | undefined {
  const { maxDepth, maxValues, maxNames } = limits
  if (text.length <= 2 * maxDepth) return undefined
  const mayBeDeep = hasMoreThan(text, ['{', '['], maxDepth)
  // without brackets there is no value but one for each comma
  const mayBeMany =
    (text.length > maxValues && hasMoreThan(text, [',', '{', '['], maxValues)) ||
    (text.length > maxNames && hasMoreThan(text, [':'], maxNames))
  return mayBeDeep || mayBeMany ? measure(text, limits) : undefined
}

/** Counts characters, also those in strings: a cheap upper bound, which most texts pass. */
function hasMoreThan(text: string, characters: readonly string[], count: number): boolean {
  let left = count
  for (const character of characters) {
    for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
      if (--left < 0) return true
    }
  }
  return false
}

function measure(
  text: string,
  { maxDepth, maxValues, maxNames }: Required<DecodeLimits>,
): Excess | undefined {
  let depth = 0
  let values = 0
  let names = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === comma) values++
    else if (code === colon) names++
    else if ((code | caseBit) === closer) depth--
    else if ((code | caseBit) === opener) {
      values++
      if (++depth > maxDepth)
        return { code: 'TOO_DEEP', message: `arrays and objects may be nested ${maxDepth} deep` }
    } else continue
    if (values > maxValues) return tooMany(`${maxValues} values`)
    if (names > maxNames) return tooMany(`${maxNames} names in objects`)
  }
  return undefined
}

/** How many values and names of objects a JSON text has, as `DecodeLimits` counts them. */
export function partsOf(text: string): { readonly values: number; readonly names: number } {
  let values = 0
  let names = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === colon) names++
    else if (code === comma || (code | caseBit) === opener) values++
  }
  return { values, names }
}

function tooMany(what: string): Excess {
  const message = `a message may have ${what}: send less at a time, or as one text`
  return { code: 'TOO_MANY_VALUES', message }
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
