import type { Readable } from 'node:stream'
import type { ProtocolError } from '../../../protocol/wire/errors.js'
import type { InvalidMessage } from '../../../protocol/wire/jsonrpc.js'
import { lazy } from '../../../runtime/faults/load.js'
import type { Clock } from '../../../runtime/time/clock.js'
import type { World } from '../../../runtime/time/world.js'
import { pause } from '../../../runtime/time/wait.js'
import type { LinkScope } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import { readRetryAfter } from '../../base/retry-after.js'
import { discard, type HttpResponse } from '../outgoing/dispatcher.js'
import type { AnswerBudget } from './answer-budget.js'
import { brokenError, isNobodyThere } from './errors.js'
import { type StreamEnd, StreamPace } from './pace.js'

const loadDecoder = /* @__PURE__ */ lazy(
  '../../protocol/wire/sse.js',
  () => import('../../../protocol/wire/sse.js'),
)

export interface StreamPort {
  open(signal: AbortSignal, lastEventId: string | undefined): Promise<HttpResponse>
  /** The server refuses us or our session; true when that ends the connection. */
  refused(response: HttpResponse): Promise<boolean>
  /** Aborted the next time that the server answers a request. */
  presence(): AbortSignal
  message(text: string): void
  skipped(error: ProtocolError): void
  room(): Promise<void> | undefined
  trouble(error: TransportError): void
  /** The stream is back, and has nothing of what was sent meanwhile. */
  missed(): void
  /** What the messages of the stream that are still coming hold. */
  readonly budget: AnswerBudget
}

type StreamOutcome = Omit<StreamEnd, 'good'> & { readonly brought: boolean }

/** A stream that lived for so many ms counts as good: the next delay is short again. */
export const goodLife = 10_000
/** A pause, in ms, that nothing needs to shorten. */
const shortPause = 2_000
/** Statuses of a server that has no such stream. */
const absent: ReadonlySet<number> = new Set([405, 501])
/** Statuses of a server that does not go on from there. */
const refusesId: ReadonlySet<number> = new Set([400, 410, 413, 416, 422, 431])

/**
 * Keeps a GET stream open until `scope.signal` aborts, at a pace that the server sets and failures slow down.
 * A server without one (405, or 404 the first time) is left alone; the next request tells if the session is
 * gone.
 */
export async function followStream(
  port: StreamPort,
  scope: LinkScope,
  { idleTimeout, maxBytes }: { readonly idleTimeout: number; readonly maxBytes: number },
): Promise<void> {
  const { clock, signal, world } = scope
  const pace = new StreamPace(world.random)
  let lastEventId: string | undefined
  let everOpen = false
  while (!signal.aborted) {
    const began = clock.now()
    const outcome = await follow()
    if (outcome === 'stop' || signal.aborted) return
    await rest({ ...outcome, good: outcome.brought || clock.now() - began >= goodLife })
  }

  /** A server that answers requests is back: the stream returns soon, unless it asked for a pause. */
  async function rest(end: StreamEnd): Promise<void> {
    const began = clock.now()
    const delay = pace.delayAfter(end)
    if (end.good || delay <= shortPause || end.away !== undefined) return pause(delay, clock, signal)
    const presence = port.presence()
    await pause(delay, clock, signal, presence)
    if (!presence.aborted) return
    const gone = clock.now() - began
    await pause(Math.min(delay, pace.soonAfter()) - gone, clock, signal)
  }

  async function follow(): Promise<'stop' | StreamOutcome> {
    const controller = new AbortController()
    const abort = (): void => controller.abort()
    const idle = idleTimer(idleTimeout, clock, abort)
    signal.addEventListener('abort', abort, { once: true })
    idle.restart()
    let brought = false
    const share = port.budget.share()
    try {
      const response = await port.open(controller.signal, lastEventId)
      if (!isEventStream(response)) return await decline(response)
      if (everOpen && lastEventId === undefined) port.missed()
      everOpen = true
      idle.restart()
      await readEvents(response.body, maxBytes, {
        alive: () => idle.restart(),
        room: () => port.room(),
        held: (units) => share.hold(units),
        message(text) {
          brought = true
          port.message(text)
        },
        skipped: (error) => port.skipped(error),
        id(id) {
          brought = true
          lastEventId = id
        },
        retry: (ms) => pace.asked(ms),
      })
      return { brought, orderly: true }
    } catch (cause) {
      if (!controller.signal.aborted) port.trouble(brokenError(cause, 'the event stream'))
      // each attempt would ask somebody to sign in
      if (cause instanceof TransportError && cause.code === 'INSUFFICIENT_SCOPE') return 'stop'
      return { brought, orderly: false, nobody: isNobodyThere(cause) }
    } finally {
      share.release()
      idle.stop()
      controller.abort()
      signal.removeEventListener('abort', abort)
    }
  }

  async function decline(response: HttpResponse): Promise<'stop' | StreamOutcome> {
    const { status } = response
    const unheardOf = absent.has(status) || (status === 404 && !everOpen)
    if (!unheardOf && (await port.refused(response))) return 'stop'
    discard(response, clock)
    if (unheardOf) return 'stop'
    // the server most likely no longer keeps earlier events: the next stream starts from now
    if (refusesId.has(status)) lastEventId = undefined
    const message = `the server refused the event stream with ${status}`
    port.trouble(new TransportError('HTTP_STATUS', message, { data: { status }, retryable: true }))
    return { brought: false, orderly: false, away: awayTime(response, world) }
  }
}

interface EventReader {
  message(text: string): void
  /** A message was too long, and skipped. */
  skipped(error: ProtocolError): void
  /** A message that is too long is still coming: what it is, as far as its beginning says. */
  skipping?(message: InvalidMessage): void
  /** An event of another type than `message`. */
  other?(event: string, data: string): void
  /** The id of the last event, as a header has it; undefined: there is none to go on from any more. */
  id?(id: string | undefined): void
  /** How many ms the server wants us to wait before we connect again. */
  retry?(ms: number): void
  alive?(): void
  /** UTF-16 units are kept of an event that is still coming. What it throws ends the reading. */
  held?(units: number): void
  /** Undefined, or what to wait for before more is read. */
  room?(): Promise<void> | undefined
}

/**
 * Reads a `text/event-stream` to its end; events without data are no messages (SEP-1699). Rejects when it
 * breaks; an event beyond `maxBytes` is skipped.
 */
export async function readEvents(body: Readable, maxBytes: number, reader: EventReader): Promise<void> {
  const { createEventDecoder } = await loadDecoder()
  const decoder = createEventDecoder({ maxMessageBytes: maxBytes })
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    reader.alive?.()
    for (const item of decoder.push(chunk)) {
      if (item.type === 'retry') {
        reader.retry?.(item.ms)
        continue
      }
      if (item.id !== undefined) reader.id?.(eventIdHeader(item.id))
      if (item.type === 'too_long') reader.skipped(item.error)
      else if ((item.event ?? 'message') !== 'message') reader.other?.(item.event ?? '', item.data)
      else if (item.data !== '') reader.message(item.data)
    }
    reader.held?.(decoder.held)
    if (decoder.skipping !== undefined) reader.skipping?.(decoder.skipping)
    await reader.room?.()
  }
}

/** Calls `idle` once `restart` was not called for `ms`; Infinity: never. It first runs after a `restart`. */
export function idleTimer(ms: number, clock: Clock, idle: () => void) {
  let timer: unknown
  const stop = (): void => clock.clearTimeout(timer)
  const restart = (): void => {
    stop()
    if (Number.isFinite(ms)) timer = clock.setTimeout(idle, ms)
  }
  return { restart, stop }
}

export function isEventStream({ status, headers }: HttpResponse): boolean {
  return status >= 200 && status < 300 && mediaType(headers) === 'text/event-stream'
}

/** How many ms a busy server (429, 503) asks us to stay away; undefined when it does not say. */
export function awayTime(
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  { date }: Pick<World, 'date'>,
): number | undefined {
  return status === 429 || status === 503 ? readRetryAfter(headers['retry-after'], date()) : undefined
}

/** The media type without parameters, in lower case. A compressed body, never asked for, has another. */
export function mediaType(headers: HttpResponse['headers']): string {
  const value = headers['content-type']
  const text = typeof value === 'string' ? value : (value?.[0] ?? '')
  const type = text.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const encoding = headers['content-encoding']
  return encoding === undefined || encoding === 'identity' ? type : `${type} in ${encoding}`
}

/** Characters of an id that is sent back; servers refuse headers of 16 KiB. */
const longestId = 4_096

/**
 * An event id for `Last-Event-ID`, as UTF-8 where needed (HTML standard, 9.2). Undefined if it is too long or
 * has control characters, or is empty, which revokes the one before.
 */
export function eventIdHeader(id: string): string | undefined {
  if (id === '' || id.length > longestId) return undefined
  const bytes = /[^\0-\xff]/.test(id) ? Buffer.from(id, 'utf8').toString('latin1') : id
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(bytes) ? bytes : undefined
}
