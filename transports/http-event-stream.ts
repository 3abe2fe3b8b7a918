import { messageOf } from '../runtime/errors.js'
import type { Readable } from 'node:stream'
import { createEventDecoder } from '../protocol/sse.js'
import type { LinkScope } from './contract.js'
import { TransportError } from './errors.js'
import { discard, type HttpResponse } from './http-dispatcher.js'

/** What the reader of an event stream wants to know. */
export interface EventReader {
  /** One message of the server, still encoded. */
  message(text: string): void
  /** The id of the last event, to go on from after a break. */
  id?(id: string): void
  /** How many ms the server wants us to wait before we connect again. */
  retry?(ms: number): void
  /** Something arrived, be it only a comment. */
  alive?(): void
}

/**
 * Reads a `text/event-stream` to its end. Comments and events without data are not messages (SEP-1699: a stream may begin with an
 * event that only has an id). Rejects when the stream breaks, and with MESSAGE_TOO_LONG for an event beyond `maxBytes`.
 */
export async function readEvents(body: Readable, maxBytes: number, reader: EventReader): Promise<void> {
  const decoder = createEventDecoder({ maxBytes })
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    reader.alive?.()
    for (const item of decoder.push(chunk)) {
      if (item.type === 'retry') reader.retry?.(item.ms)
      else if (item.type === 'event') {
        if (item.id !== undefined) reader.id?.(item.id)
        if (item.data !== '' && (item.event ?? 'message') === 'message') reader.message(item.data)
      } else {
        body.destroy()
        throw new TransportError('MESSAGE_TOO_LONG', item.error.message, { cause: item.error })
      }
    }
  }
}

/** What the stream for messages outside of any request needs from its connection. */
export interface StreamPort {
  /** Asks for the stream; `lastEventId` is where it goes on. */
  open(signal: AbortSignal, lastEventId: string | undefined): Promise<HttpResponse>
  /** The server refuses us or our session; true when the connection is over by that. */
  refused(response: HttpResponse): boolean
  message(text: string): void
  trouble(error: TransportError): void
}

/** Times of the stream, in ms. */
export interface StreamTimes {
  readonly idleTimeout: number
  readonly maxBytes: number
}

const firstDelay = 1_000
const longestDelay = 30_000
/** A stream that lived this long was a good one: the next delay is short again. */
const goodLife = 10_000

/**
 * Keeps a GET stream open until `scope.signal` aborts: opened again after every end, with a growing delay and jitter, never given up
 * and never in a tight loop. A server without such a stream (405) is left alone.
 */
export async function followStream(
  port: StreamPort,
  scope: LinkScope,
  { idleTimeout, maxBytes }: StreamTimes,
): Promise<void> {
  const { clock, signal } = scope
  let lastEventId: string | undefined
  let asked = 0
  let failures = 0
  while (!signal.aborted) {
    const began = clock.now()
    const outcome = await follow()
    if (outcome === 'stop' || signal.aborted) return
    failures = clock.now() - began >= goodLife ? 0 : failures + 1
    const ceiling = Math.min(longestDelay, firstDelay * 2 ** failures)
    await pause(Math.max(asked, (ceiling / 2) * (1 + Math.random())), scope)
  }

  async function follow(): Promise<'stop' | 'again'> {
    const controller = new AbortController()
    const idle = createIdleTimer(() => controller.abort())
    const onAbort = (): void => controller.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    idle.restart()
    try {
      const response = await port.open(controller.signal, lastEventId)
      if (!isEventStream(response)) return decline(response)
      idle.restart()
      await readEvents(response.body, maxBytes, {
        alive: () => idle.restart(),
        message: (text) => port.message(text),
        id: (id) => {
          lastEventId = id
        },
        retry: (ms) => {
          asked = ms
        },
      })
    } catch (cause) {
      if (!controller.signal.aborted) port.trouble(broken(cause))
    } finally {
      idle.stop()
      controller.abort()
      signal.removeEventListener('abort', onAbort)
    }
    return 'again'
  }

  function decline(response: HttpResponse): 'stop' | 'again' {
    if (port.refused(response)) return 'stop'
    discard(response.body)
    const { status } = response
    if (status === 405) return 'stop'
    port.trouble(
      new TransportError('HTTP_STATUS', `the server refused the event stream with ${status}`, {
        data: { status },
      }),
    )
    return status >= 500 || status === 408 || status === 429 ? 'again' : 'stop'
  }

  function createIdleTimer(fire: () => void) {
    let timer: unknown
    const stop = (): void => clock.clearTimeout(timer)
    const restart = (): void => {
      stop()
      if (Number.isFinite(idleTimeout)) timer = clock.setTimeout(fire, idleTimeout)
    }
    return { restart, stop }
  }
}

/** Whether a response is a good one that is an event stream. */
export function isEventStream({ status, headers }: HttpResponse): boolean {
  return status >= 200 && status < 300 && mediaType(headers) === 'text/event-stream'
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaType(headers: HttpResponse['headers']): string {
  const value = headers['content-type']
  const text = typeof value === 'string' ? value : (value?.[0] ?? '')
  return text.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function pause(ms: number, { clock, signal }: LinkScope): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}

function broken(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  const why = messageOf(cause)
  return new TransportError('CONNECTION_LOST', `the event stream broke: ${why}`, { cause, retryable: true })
}
