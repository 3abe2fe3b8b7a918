import { createParser } from 'eventsource-parser'
import { ProtocolError } from './errors.js'
import type { InvalidMessage } from './jsonrpc.js'
import { describeLong, keptOfLong } from './long-message.js'
import type { SseEvent } from './sse-events.js'

/**
 * What a chunk of a stream brought. An event that is too long is skipped: the `data` of its error describes
 * the message, as far as its first and last KiB do; `id` is the event's.
 */
export type SseItem =
  | ({ readonly type: 'event' } & SseEvent)
  | { readonly type: 'retry'; readonly ms: number }
  | { readonly type: 'too_long'; readonly error: ProtocolError; readonly id?: string }

/** How an event decoder is made. */
export interface EventDecoderOptions {
  /** The longest event with its field names, in UTF-16 units (never more than its bytes). Default 16 Mi. */
  readonly maxMessageBytes?: number
}

/** Reads a `text/event-stream` in chunks; an event that the stream cuts off is dropped with its id. */
export interface EventDecoder {
  /** The items that this chunk completes, in order. */
  push(chunk: Uint8Array): readonly SseItem[]
  /** UTF-16 units that are kept of an event which is still coming. */
  readonly held: number
  /** What is known of an event that is too long, while it is being skipped. */
  readonly skipping: InvalidMessage | undefined
}

const defaultMaxBytes = 16 * 1024 * 1024

/** A decoder of one stream (HTML standard, section 9.2.6), linear in the bytes. */
export function createEventDecoder(options: EventDecoderOptions = {}): EventDecoder {
  const { maxMessageBytes = defaultMaxBytes } = options
  const utf8 = new TextDecoder('utf-8')
  const toLineFeeds = createLineFeeds()
  let items: SseItem[] = []
  /** The beginning of the unfinished event; how much of it there is. */
  let head = ''
  let size = 0
  /** The end of an event that is too long, while it is skipped. */
  let skippedTail: string | undefined
  let afterLineFeed = true
  const parser = createParser({
    onEvent: ({ event, id, data }) => {
      // the parser bounds unfinished events: this one came whole, in one chunk
      if (data.length > maxMessageBytes)
        return void items.push(tooLong(data.slice(0, keptOfLong), data.slice(-keptOfLong), data.length, id))
      items.push({
        type: 'event',
        data,
        ...(event !== undefined && { event }),
        ...(id !== undefined && { id }),
      })
    },
    onRetry: (ms) => items.push({ type: 'retry', ms }),
  })

  function push(chunk: Uint8Array): readonly SseItem[] {
    let text = toLineFeeds(utf8.decode(chunk, { stream: true }))
    while (skippedTail !== undefined && text !== '') text = skip(text, skippedTail)
    if (text !== '') take(text)
    const found = items
    items = []
    return found
  }

  function take(text: string): void {
    parser.feed(text)
    const rest = afterBlank(text)
    if (rest !== undefined) size = 0
    const piece = rest ?? text
    if (size < keptOfLong) head = (size === 0 ? '' : head) + piece.slice(0, keptOfLong - size)
    size += piece.length
    afterLineFeed = text.endsWith('\n')
    if (size <= maxMessageBytes) return
    parser.reset()
    skippedTail = piece.slice(-keptOfLong)
  }

  /** Skips on in an event that is too long; returns the text after it. */
  function skip(text: string, tail: string): string {
    const rest = afterBlank(text, 'first')
    const piece = rest === undefined ? text : text.slice(0, text.length - rest.length)
    size += piece.length
    skippedTail = (tail + piece.slice(-keptOfLong)).slice(-keptOfLong)
    afterLineFeed = text.endsWith('\n')
    if (rest === undefined) return ''
    const id = /^id: ?(.*)$/m.exec(head)?.[1]
    items.push(tooLong(dataOf(head), dataOf(skippedTail.trimEnd()), size, id))
    skippedTail = undefined
    afterLineFeed = true
    size = 0
    return rest
  }

  function tooLong(start: string, end: string, length: number, id: string | undefined): SseItem {
    const message = `a message may have ${maxMessageBytes} bytes (limits.messageBytes), the event has ${length} characters`
    const error = new ProtocolError('EVENT_TOO_LONG', message, { data: describeLong(start, end) })
    return { type: 'too_long', error, ...(id !== undefined && { id }) }
  }

  /** What stands after the last blank line, or the first one; undefined where there is none. */
  function afterBlank(text: string, which: 'first' | 'last' = 'last'): string | undefined {
    const isAtStart = afterLineFeed && text.startsWith('\n')
    if (isAtStart && which === 'first') return text.slice(1)
    const blank = which === 'first' ? text.indexOf('\n\n') : text.lastIndexOf('\n\n')
    if (blank !== -1) return text.slice(blank + 2)
    return isAtStart ? text.slice(1) : undefined
  }

  return {
    push,
    get held() {
      return skippedTail === undefined ? size : Math.min(size, 2 * keptOfLong)
    },
    get skipping() {
      return skippedTail === undefined ? undefined : describeLong(dataOf(head), '')
    },
  }
}

/** The data of an event, or of a piece of one. */
function dataOf(text: string): string {
  return text.replace(/^(?:event|id|retry):.*$\n?/gm, '').replace(/^data: ?/gm, '')
}

/** Makes CR and CRLF to LF across chunks: the parser is linear, and quick, on LF alone. */
function createLineFeeds(): (text: string) => string {
  let afterReturn = false
  return (text) => {
    if (text === '') return text
    const fresh = afterReturn && text.startsWith('\n') ? text.slice(1) : text
    afterReturn = text.endsWith('\r')
    return fresh.includes('\r') ? fresh.replace(/\r\n?/g, '\n') : fresh
  }
}
