import { ProtocolError } from './errors.js'
import { describeLong, keptOfLong } from './long-message.js'

/** How a line decoder is made. */
export interface LineDecoderOptions {
  /** The longest line in bytes, its end not counted. Default 16 MiB. */
  readonly maxMessageBytes?: number
}

/**
 * What a chunk brought: a line, or one that was skipped as no UTF-8 or too long. The `data` of LINE_TOO_LONG
 * describes the message, as far as its first and last KiB do.
 */
export type LineItem =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'invalid'; readonly error: ProtocolError }
  | { readonly type: 'too_long'; readonly error: ProtocolError }

/** What went through a decoder so far. */
export interface LineStats {
  /** Bytes pushed, line ends included. */
  readonly bytes: number
  /** Lines given out; blank ones are not counted. */
  readonly lines: number
  /** Lines that were no UTF-8, or too long. */
  readonly errors: number
}

/** Cuts a byte stream into lines. Holds one unfinished line at most, and 2 KiB of one that is too long. */
export interface LineDecoder {
  /** The items that this chunk completes, in order. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): readonly LineItem[]
  /** The last line, when the stream ended without a line end. */
  end(): readonly LineItem[]
  readonly stats: LineStats
  /** Bytes that have come of the unfinished line. */
  readonly unfinished: number
}

const defaultMaxBytes = 16 * 1024 * 1024
const keptBytes = 64 * 1024
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20

/** A decoder of lines (specification: stdio): LF or CRLF, blank lines skipped, linear in the bytes. */
export function createLineDecoder(options: LineDecoderOptions = {}): LineDecoder {
  const { maxMessageBytes = defaultMaxBytes } = options
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const stats = { bytes: 0, lines: 0, errors: 0 }
  const rest = createRest(maxMessageBytes + 1) // one more for the CR of a CRLF
  /** The beginning and the end of a line that is too long, until its end. */
  let skipped: Pieces | undefined
  let ended = false

  function push(chunk: Uint8Array): readonly LineItem[] {
    const items: LineItem[] = []
    stats.bytes += chunk.length
    let start = 0
    while (!ended) {
      // blank lines are skipped at the speed of their bytes
      if (rest.length === 0 && skipped === undefined) while (chunk[start] === lineFeed) start += 1
      const end = chunk.indexOf(lineFeed, start)
      if (end === -1) break
      takeLine(items, chunk.subarray(start, end))
      start = end + 1
    }
    if (!ended && start < chunk.length) keep(chunk.subarray(start))
    return items
  }

  function end(): readonly LineItem[] {
    const items: LineItem[] = []
    if (!ended) takeLine(items, new Uint8Array(0))
    ended = true
    return items
  }

  function takeLine(items: LineItem[], tail: Uint8Array): void {
    if (rest.length === 0 && skipped === undefined) return readLine(items, tail)
    keep(tail)
    if (skipped !== undefined) return finishSkipped(items, skipped)
    readLine(items, rest.bytes())
    rest.clear()
  }

  function readLine(items: LineItem[], bytes: Uint8Array): void {
    const line = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes
    if (line.length > maxMessageBytes) return finishSkipped(items, createPieces(line))
    if (isBlank(line)) return
    try {
      items.push({ type: 'line', text: utf8.decode(line) })
      stats.lines += 1
    } catch (cause) {
      stats.errors += 1
      const error = new ProtocolError('INVALID_UTF8', `a line of ${line.length} bytes is not UTF-8`, {
        cause,
      })
      items.push({ type: 'invalid', error })
    }
  }

  function keep(piece: Uint8Array): void {
    if (skipped === undefined && rest.append(piece)) return
    skipped ??= createPieces(rest.bytes())
    skipped.add(piece)
    rest.clear()
  }

  function finishSkipped(items: LineItem[], { size, head, tail }: Pieces): void {
    skipped = undefined
    stats.errors += 1
    const message = `a message may have ${maxMessageBytes} bytes (limits.messageBytes), got ${size()}`
    const data = describeLong(lenient.decode(head), lenient.decode(tail()))
    items.push({ type: 'too_long', error: new ProtocolError('LINE_TOO_LONG', message, { data }) })
  }

  return {
    push,
    end,
    stats,
    get unfinished() {
      return skipped?.size() ?? rest.length
    },
  }
}

const lenient = new TextDecoder()

/** The size of what was skipped, its beginning and its end. */
interface Pieces {
  readonly head: Uint8Array
  size(): number
  tail(): Uint8Array
  add(piece: Uint8Array): void
}

function createPieces(start: Uint8Array): Pieces {
  const pieces = {
    head: new Uint8Array(0),
    size,
    tail: () => end.subarray(0, length).slice(-keptOfLong),
    add,
  }
  const end = new Uint8Array(4 * keptOfLong)
  let length = 0
  let bytes = 0

  function size(): number {
    return bytes
  }

  function add(piece: Uint8Array): void {
    bytes += piece.length
    if (pieces.head.length < keptOfLong)
      pieces.head = joined(pieces.head, piece.subarray(0, keptOfLong - pieces.head.length))
    const last = piece.subarray(-keptOfLong)
    if (length + last.length > end.length) {
      end.copyWithin(0, length - keptOfLong, length)
      length = keptOfLong
    }
    end.set(last, length)
    length += last.length
  }

  add(start)
  return pieces
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

/** Collects one line in a buffer that doubles, so that many small pieces cost no more than their bytes. */
function createRest(maxBytes: number) {
  let buffer = new Uint8Array(0)
  let length = 0

  function append(piece: Uint8Array): boolean {
    const needed = length + piece.length
    if (needed > maxBytes) return false
    if (needed > buffer.length) grow(needed)
    buffer.set(piece, length)
    length = needed
    return true
  }

  function grow(needed: number): void {
    const larger = new Uint8Array(Math.min(maxBytes, Math.max(needed, buffer.length * 2, 1024)))
    larger.set(buffer.subarray(0, length))
    buffer = larger
  }

  function clear(): void {
    length = 0
    if (buffer.length > keptBytes) buffer = new Uint8Array(0)
  }

  return {
    append,
    clear,
    bytes: () => buffer.subarray(0, length),
    get length() {
      return length
    },
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === space || byte === 0x09 || byte === carriageReturn)
}
