import { createParser } from 'eventsource-parser'
import { ProtocolError } from './errors.js'
import type { SseEvent } from './sse-events.js'

/** What a chunk of a stream brought; `too_long` ends the decoder. */
export type SseItem =
  | ({ readonly type: 'event' } & SseEvent)
  | { readonly type: 'retry'; readonly ms: number }
  | { readonly type: 'too_long'; readonly error: ProtocolError }

/** How an event decoder is made. */
export interface EventDecoderOptions {
  /** The longest unfinished event, field names counted, in UTF-16 units (never more than its bytes). Default 4 Mi. */
  readonly maxMessageBytes?: number
}

/** Reads a `text/event-stream`, however it was chunked; an event that the stream cuts off is dropped with its id. */
export interface EventDecoder {
  /** The items that this chunk completes, in order; nothing after `too_long`. */
  push(chunk: Uint8Array): readonly SseItem[]
}

const defaultMaxBytes = 4 * 1024 * 1024

/** A decoder of one stream, as the HTML standard reads it (section 9.2.6); its time is linear in the bytes. */
export function createEventDecoder(options: EventDecoderOptions = {}): EventDecoder {
  const { maxMessageBytes: maxBytes = defaultMaxBytes } = options
  const utf8 = new TextDecoder('utf-8')
  const toLineFeeds = createLineFeeds()
  const measure = createMeasure()
  let items: SseItem[] = []
  let ended = false
  const parser = createParser({
    onEvent: ({ event, id, data }) => {
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
    if (ended) return []
    const text = toLineFeeds(utf8.decode(chunk, { stream: true }))
    if (text !== '') parser.feed(text)
    if (measure(text) > maxBytes) fail()
    const found = items
    items = []
    return found
  }

  function fail(): void {
    ended = true
    parser.reset()
    const error = new ProtocolError('EVENT_TOO_LONG', `an event may have ${maxBytes} characters, got more`)
    items.push({ type: 'too_long', error })
  }

  return { push }
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

/** Tells how much of the stream lies behind its last blank line, that is in the unfinished event. */
function createMeasure(): (text: string) => number {
  let size = 0
  let afterLineFeed = true
  return (text) => {
    const blank = text.lastIndexOf('\n\n')
    if (blank !== -1) size = text.length - blank - 2
    else if (afterLineFeed && text.startsWith('\n')) size = text.length - 1
    else size += text.length
    if (text !== '') afterLineFeed = text.endsWith('\n')
    return size
  }
}
