import type { Readable } from 'node:stream'
import type { ProtocolError } from '../../../protocol/wire/errors.js'
import type { InvalidMessage } from '../../../protocol/wire/jsonrpc.js'
import { lazy } from '../../../runtime/faults/load.js'
import { messageOf } from '../../../runtime/base/errors.js'
import type { LinkScope } from '../../contract/contract.js'
import { readRetryAfter } from '../../base/retry-after.js'
import { TransportError } from '../../base/errors.js'
import { isNobodyThere } from './errors.js'
import { discard, type HttpResponse } from '../outgoing/dispatcher.js'
import { createReconnect, pause, type StreamEnd } from './reconnect.js'
import { idleTimer } from '../../base/idle-timer.js'

/** Characters of an id that is sent back; servers refuse headers of 16 KiB. */
const longestId = 4_096

const loadDecoder = lazy('../../protocol/wire/sse.js', () => import('../../../protocol/wire/sse.js'))

/** What the reader of an event stream wants to know. */
export interface EventReader {
  /** One message of the server, still encoded. */
  message(text: string): void
  /** A message was too long, and skipped. */
  skipped(error: ProtocolError): void
  /** One that is too long is still coming: what it is, as far as its beginning says. */
  skipping?(message: InvalidMessage): void
  /**
   * The id of the last event, as a header has it, to go on from after a break; undefined: there is nothing to
   * go on from any more.
   */
  id?(id: string | undefined): void
  /** How many ms the server wants us to wait before we connect again. */
  retry?(ms: number): void
  /** Something arrived, be it only a comment. */
  alive?(): void
  /** Undefined, or what to wait for before more is read. */
  room?(): Promise<void> | undefined
}

/**
 * Reads a `text/event-stream` to its end. Comments and events without data are not messages (SEP-1699: a
 * stream may begin with an event that only has an id). Rejects when the stream breaks; an event beyond
 * `maxBytes` is skipped.
 */
export async function readEvents(body: Readable, maxBytes: number, reader: EventReader): Promise<void> {
  const { createEventDecoder } = await loadDecoder()
  const decoder = createEventDecoder({ maxMessageBytes: maxBytes })
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    reader.alive?.()
    for (const item of decoder.push(chunk)) {
      if (item.type === 'retry') reader.retry?.(item.ms)
      else if (item.type === 'event') {
        if (item.id !== undefined) reader.id?.(eventIdHeader(item.id))
        if (item.data !== '' && (item.event ?? 'message') === 'message') reader.message(item.data)
      } else {
        if (item.id !== undefined) reader.id?.(eventIdHeader(item.id))
        reader.skipped(item.error)
      }
    }
    if (decoder.skipping !== undefined) reader.skipping?.(decoder.skipping)
    await reader.room?.()
  }
}

/** What the stream for messages outside of any request needs from its connection. */
export interface StreamPort {
  /** Asks for the stream; `lastEventId` is where it goes on. */
  open(signal: AbortSignal, lastEventId: string | undefined): Promise<HttpResponse>
  /** The server refuses us or our session; true when the connection is over by that. */
  refused(response: HttpResponse): Promise<boolean>
  /** Aborted the next time that the server answers a request. */
  presence(): AbortSignal
  message(text: string): void
  skipped(error: ProtocolError): void
  room(): Promise<void> | undefined
  trouble(error: TransportError): void
}

/** Times of the stream, in ms. */
export interface StreamTimes {
  readonly idleTimeout: number
  readonly maxBytes: number
}

/** How one connection of the stream went. */
type Outcome = Omit<StreamEnd, 'good'> & { readonly brought: boolean }

/** A stream that lived this long was a good one: the next delay is short again. */
export const goodLife = 10_000
/** A pause, in ms, that nothing needs to shorten. */
const shortPause = 2_000
/** Statuses of a server that has no such stream. */
const absent: ReadonlySet<number> = new Set([405, 501])
/** Statuses of a server that does not go on from there. */
const refusesId: ReadonlySet<number> = new Set([400, 410, 413, 416, 422, 431])

/**
 * Keeps a GET stream open until `scope.signal` aborts: opened again after every end, at a pace that the
 * server may set and that failures slow down, never given up and never in a tight loop. A server without such
 * a stream (405) is left alone; one that says 404 the first time, too: many do that for what they do not
 * have, and a session that is gone is told by the next request.
 */
export async function followStream(
  port: StreamPort,
  scope: LinkScope,
  { idleTimeout, maxBytes }: StreamTimes,
): Promise<void> {
  const { clock, signal } = scope
  const reconnect = createReconnect()
  let lastEventId: string | undefined
  let everOpen = false
  while (!signal.aborted) {
    const began = clock.now()
    const outcome = await follow()
    if (outcome === 'stop' || signal.aborted) return
    const good = outcome.brought || clock.now() - began >= goodLife
    await rest({ ...outcome, good })
  }

  /**
   * A server that answers requests is back, so the stream is, too, before long; only the pause that the
   * server itself asked for is kept.
   */
  async function rest(end: StreamEnd): Promise<void> {
    const began = clock.now()
    const delay = reconnect.delayAfter(end)
    if (end.good || delay <= shortPause || end.away !== undefined) return pause(delay, scope, signal)
    const presence = port.presence()
    await pause(delay, scope, signal, presence)
    if (!presence.aborted) return
    const gone = clock.now() - began
    await pause(Math.min(delay, reconnect.soonAfter()) - gone, scope, signal)
  }

  async function follow(): Promise<'stop' | Outcome> {
    const controller = new AbortController()
    const idle = idleTimer(idleTimeout, clock, controller)
    const onAbort = (): void => controller.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    idle.restart()
    let brought = false
    try {
      const response = await port.open(controller.signal, lastEventId)
      if (!isEventStream(response)) return await decline(response)
      everOpen = true
      idle.restart()
      await readEvents(response.body, maxBytes, {
        alive: () => idle.restart(),
        room: () => port.room(),
        message(text) {
          brought = true
          port.message(text)
        },
        skipped: (error) => port.skipped(error),
        id(id) {
          brought = true
          lastEventId = id
        },
        retry: (ms) => reconnect.asked(ms),
      })
      return { brought, orderly: true }
    } catch (cause) {
      if (!controller.signal.aborted) port.trouble(broken(cause))
      return { brought, orderly: false, nobody: isNobodyThere(cause) }
    } finally {
      idle.stop()
      controller.abort()
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function decline(response: HttpResponse): Promise<'stop' | Outcome> {
    const { status } = response
    const unheardOf = absent.has(status) || (status === 404 && !everOpen)
    if (!unheardOf && (await port.refused(response))) return 'stop'
    discard(response, clock)
    if (unheardOf) return 'stop'
    // what came before is not kept there any more, most likely: from here on, then
    if (refusesId.has(status)) lastEventId = undefined
    const message = `the server refused the event stream with ${status}`
    port.trouble(new TransportError('HTTP_STATUS', message, { data: { status }, retryable: true }))
    return { brought: false, orderly: false, away: awayTime(response) }
  }
}

/** Whether a response is a good one that is an event stream. */
export function isEventStream({ status, headers }: HttpResponse): boolean {
  return status >= 200 && status < 300 && mediaType(headers) === 'text/event-stream'
}

/** How long a busy server (429, 503) wants to be left alone, in ms; undefined when it does not say. */
export function awayTime({ status, headers }: Pick<HttpResponse, 'status' | 'headers'>): number | undefined {
  return status === 429 || status === 503 ? readRetryAfter(headers['retry-after'], Date.now()) : undefined
}

/**
 * The media type without its parameters, in lower case; empty when there is none. A body that came
 * compressed, which nobody asked for, is of another type than it says.
 */
export function mediaType(headers: HttpResponse['headers']): string {
  const value = headers['content-type']
  const text = typeof value === 'string' ? value : (value?.[0] ?? '')
  const type = text.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const encoding = headers['content-encoding']
  return encoding === undefined || encoding === 'identity' ? type : `${type} in ${encoding}`
}

function broken(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  const why = messageOf(cause)
  return new TransportError('CONNECTION_LOST', `the event stream broke: ${why}`, { cause, retryable: true })
}

/**
 * An id of an event as `Last-Event-ID` has it: UTF-8 where it does not fit into a header as it is (HTML
 * standard, 9.2). Undefined for one that cannot be sent back: it is empty, which takes back the one before,
 * or endless, or has control characters in it.
 */
export function eventIdHeader(id: string): string | undefined {
  if (id === '' || id.length > longestId) return undefined
  const bytes = /[^\0-\xff]/.test(id) ? Buffer.from(id, 'utf8').toString('latin1') : id
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(bytes) ? bytes : undefined
}
