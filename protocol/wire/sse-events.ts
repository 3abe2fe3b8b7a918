import { ProtocolError } from './errors.js'

/** One event of a `text/event-stream`. */
export interface SseEvent {
  /** The type; without one the reader takes it for `message`. */
  readonly event?: string
  /** What a reader sends as `Last-Event-ID` after a break. */
  readonly id?: string
  /** Any text, also an empty one: an event with empty data only carries its id (2025-11-25 priming event). */
  readonly data: string
}

/** An event to write; `retry` in ms tells the reader how long to wait before it connects again. */
export interface OutgoingSseEvent extends SseEvent {
  readonly retry?: number
}

const lineEnd = /\r\n|\r|\n/

/**
 * The text of one event, its data split into lines. Throws BAD_EVENT for an id or type with a line end or
 * NUL.
 */
export function encodeEvent({ event, id, data, retry }: OutgoingSseEvent): string {
  let text = ''
  if (event !== undefined) text += `event: ${oneLine('event', event)}\n`
  if (id !== undefined) text += `id: ${oneLine('id', id)}\n`
  if (retry !== undefined) text += `retry: ${milliseconds(retry)}\n`
  for (const line of data.split(lineEnd)) text += `data: ${line}\n`
  return `${text}\n`
}

/** A comment, which readers ignore: keeps an idle stream open. */
export function comment(text = ''): string {
  return `${text
    .split(lineEnd)
    .map((line) => (line === '' ? ':' : `: ${line}`))
    .join('\n')}\n\n`
}

function oneLine(field: 'event' | 'id', value: string): string {
  // readers ignore an id with NUL, so it could never be resumed from
  if (!/[\r\n\0]/.test(value)) return value
  throw new ProtocolError('BAD_EVENT', `${field}: expected one line without NUL`)
}

function milliseconds(retry: number): number {
  if (Number.isSafeInteger(retry) && retry >= 0) return retry
  throw new ProtocolError('BAD_EVENT', `retry: expected a whole number of ms, got ${retry}`)
}
