import type { Readable } from 'node:stream'
import type { RequestId } from '../protocol/jsonrpc.js'
import type { LinkScope } from './contract.js'
import { TransportError } from './errors.js'
import { discard, type HttpResponse } from './http-dispatcher.js'
import { isEventStream, readEvents } from './http-event-stream.js'
import { createReconnect, pause } from './http-reconnect.js'
import { idleTimer } from './idle-timer.js'

/** Milliseconds for a stream to end after its answer. */
const lingerTime = 2_000
/** Attempts in a row that bring nothing before the answer counts as lost. */
const maxFailures = 8

/** What the reader of an answer needs from its connection. */
export interface AnswerPort {
  /** Asks for the rest of the stream (GET with Last-Event-ID). */
  resume(lastEventId: string): Promise<HttpResponse>
  /** The server refuses us or our session; true when the connection is over by that. */
  refused(response: HttpResponse): Promise<boolean>
  message(text: string): void
  room(): Promise<void> | undefined
}

/** One request, and how its answer is read. */
export interface AnswerRequest {
  readonly id: RequestId
  /** Aborted when nobody waits for the answer any more; the reader aborts it when a stream is left open after it. */
  readonly controller: AbortController
  /** Whether the rest may be asked for when the stream ends early: the revisions with sessions, where events have ids. */
  readonly resumable: boolean
  readonly maxBytes: number
  /** Milliseconds without a byte after which a stream counts as broken. */
  readonly idleTimeout: number
}

/**
 * Reads the event stream of one request until its answer is there. Where it ends, or breaks, before and its events had ids, the rest is asked for
 * (specification 2025-11-25: transports, resumability; SEP-1699), as often as it takes while something comes. Rejects when the stream breaks and
 * there is nothing to go on from; resolves when nothing more will come.
 */
export async function readAnswer(
  first: HttpResponse,
  request: AnswerRequest,
  port: AnswerPort,
  scope: LinkScope,
): Promise<void> {
  const { controller, resumable, maxBytes } = request
  const { clock } = scope
  const reconnect = createReconnect()
  const answer = createAnswerWatch(request.id)
  let lastEventId: string | undefined
  let linger: unknown
  let good = false
  let orderly = true

  async function read(response: HttpResponse): Promise<void> {
    const idle = watchIdle(request.idleTimeout, response.body, scope)
    try {
      await readEvents(response.body, maxBytes, {
        alive: () => idle.restart(),
        room: () => port.room(),
        message(text) {
          good = true
          port.message(text)
          // The server should end the stream now; if it does not, the connection is taken back.
          if (answer.sees(text)) linger ??= clock.setTimeout(() => controller.abort(), lingerTime)
        },
        id(id) {
          good = true
          lastEventId = id
        },
        retry: (ms) => reconnect.asked(ms),
      })
    } finally {
      idle.stop()
    }
  }

  /** Whether there is something to go on from after this error, which is thrown otherwise. */
  function survives(cause: unknown): void {
    orderly = false
    const lasting = cause instanceof TransportError && cause.code === 'MESSAGE_TOO_LONG'
    if (lasting || !resumable || lastEventId === undefined || controller.signal.aborted || answer.seen)
      throw cause
  }

  try {
    let response: HttpResponse | undefined = first
    while (true) {
      if (response !== undefined) await read(response).catch(survives)
      if (answer.seen || !resumable || lastEventId === undefined) return
      const delay = reconnect.delayAfter({ good, orderly })
      if (reconnect.failures >= maxFailures) return
      good = false
      orderly = true
      await pause(delay, scope, controller.signal, scope.signal)
      if (controller.signal.aborted || scope.signal.aborted) return
      response = await port.resume(lastEventId).catch((cause: unknown) => {
        survives(cause)
        return undefined
      })
      if (response === undefined || isEventStream(response)) continue
      if (await port.refused(response)) return
      discard(response.body)
      if (!mayPass(response.status)) return
      orderly = false
      response = undefined
    }
  } finally {
    clock.clearTimeout(linger)
  }
}

/** What a server in trouble answers; anything else is its last word on the rest of this stream. */
function mayPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

function watchIdle(ms: number, body: Readable, { clock }: LinkScope) {
  const controller = new AbortController()
  if (Number.isFinite(ms)) {
    const error = new TransportError('CONNECTION_LOST', `nothing came for ${ms} ms`, { retryable: true })
    controller.signal.addEventListener('abort', () => body.destroy(error), { once: true })
  }
  const timer = idleTimer(ms, clock, controller)
  timer.restart()
  return timer
}

/** Knows the answer to one request among the messages of its stream, mostly without parsing them. */
function createAnswerWatch(id: RequestId) {
  const marks = [`"id":${JSON.stringify(id)}`, `"id": ${JSON.stringify(id)}`]
  let seen = false
  return {
    get seen() {
      return seen
    },
    sees(text: string): boolean {
      const may = marks.some((mark) => text.includes(mark))
      seen ||= may && (!text.includes('"method"') || isAnswer(text, id))
      return seen
    },
  }
}

/** A result may well have a `method` in it. */
function isAnswer(text: string, id: RequestId): boolean {
  try {
    const value: unknown = JSON.parse(text)
    const all = (Array.isArray(value) ? value : [value]) as { id?: unknown; method?: unknown }[]
    return all.some((one) => one.id === id && one.method === undefined)
  } catch {
    return false
  }
}
