import type { Readable } from 'node:stream'
import type { RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { ProtocolError } from '../../../protocol/wire/errors.js'
import { pause } from '../../../runtime/time/wait.js'
import type { LinkScope } from '../../contract/contract.js'
import { answeredBy, longAnswer, tooLong } from '../../contract/message-sizes.js'
import { TransportError } from '../../base/errors.js'
import { discard, type HttpResponse, readText } from '../outgoing/dispatcher.js'
import type { AnswerBudget } from './answer-budget.js'
import { goneError, interruptedError, isNobodyThere, judge, lostError } from './errors.js'
import { awayTime, goodLife, idleTimer, isEventStream, readEvents } from './event-stream.js'
import type { HttpClientSettings } from './options.js'
import { type AnswerEnd, AnswerPace } from './pace.js'

/** Milliseconds for a stream to end after its answer. */
const lingerTime = 2_000
/** What a server or a proxy in trouble answers; any other status refuses the rest of a stream for good. */
const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** What the reader of an answer needs from its connection. */
export interface AnswerPort {
  /** Asks for the rest of the stream (GET with Last-Event-ID). */
  resume(lastEventId: string): Promise<HttpResponse>
  /** Aborted, with the error, when any request finds that nobody listens at the port any more. */
  absence(): AbortSignal
  /** The server refuses us or our session; true when that ends the connection. */
  refused(response: HttpResponse): Promise<boolean>
  message(text: string): void
  skipped(error: ProtocolError): void
  room(): Promise<void> | undefined
  /** What answers that are still coming hold. */
  readonly budget: AnswerBudget
}

interface AnswerRequest {
  readonly id: RequestId
  /** Aborted when nobody waits for the answer any more, and by the reader for a stream that outlives it. */
  readonly controller: AbortController
  /** Whether the rest may be asked for: in the revisions with sessions, where events have ids. */
  readonly resumable: boolean
  readonly maxBytes: number
  /** Milliseconds without a byte after which a stream counts as broken. */
  readonly idleTimeout: number
}

/**
 * Reads the event stream of one request until its answer. The rest is asked for while its events have ids and
 * something comes (specification 2025-11-25: transports, resumability; SEP-1699). Rejects when it cannot go
 * on: no ids, a network that stays cut, nobody at the port (whoever worked on it is gone).
 */
export async function readAnswer(
  first: HttpResponse,
  request: AnswerRequest,
  port: AnswerPort,
  scope: LinkScope,
): Promise<void> {
  const { id, controller, resumable, maxBytes } = request
  const { clock, world } = scope
  const pace = new AnswerPace(clock, world.random)
  const isAnswer = answerTo(id)
  let isAnswered = false
  let lastEventId: string | undefined
  let linger: unknown
  /** Why there is no stream, where something is wrong. */
  let problem: TransportError | undefined

  try {
    let end = await read(first)
    while (!isAnswered && resumable && lastEventId !== undefined) {
      const delay = pace.delayAfter(end)
      if (delay === undefined) return giveUp()
      if (await isOver(delay)) return
      const next = await ask(lastEventId)
      if (next === undefined) return giveUp()
      end = 'accepted' in next ? next : await read(next)
    }
  } finally {
    clock.clearTimeout(linger)
  }

  async function read(response: HttpResponse): Promise<AnswerEnd> {
    const idle = watchIdle(request.idleTimeout, response.body, scope)
    const began = clock.now()
    const share = port.budget.share()
    let brought = false
    let orderly = true
    problem = undefined
    try {
      await readEvents(response.body, maxBytes, {
        alive: () => idle.restart(),
        room: () => port.room(),
        held: (units) => share.hold(units),
        message(text) {
          brought = true
          port.message(text)
          isAnswered ||= isAnswer(text)
          // The server should end the stream now; if it does not, the connection is taken back.
          if (isAnswered) linger ??= clock.setTimeout(() => controller.abort(), lingerTime)
        },
        // what may be the answer is not waited for: it may have no end
        skipping({ about }) {
          if (about === 'response' || about === 'unknown') throw longAnswer(maxBytes)
        },
        skipped(error) {
          if (answeredBy(error) === id) throw tooLong(error)
          port.skipped(error)
        },
        id(eventId) {
          brought = true
          lastEventId = eventId
        },
        retry: (ms) => pace.asked(ms),
      })
    } catch (cause) {
      survive(cause)
      orderly = false
    } finally {
      share.release()
      idle.stop()
    }
    return { accepted: true, good: brought || clock.now() - began >= goodLife, orderly }
  }

  /** Waits for the time of the next attempt; true when nobody wants the answer any more. */
  async function isOver(delay: number): Promise<boolean> {
    const absence = port.absence()
    await pause(delay, clock, controller.signal, scope.signal, absence)
    if (controller.signal.aborted || scope.signal.aborted) return true
    if (absence.aborted) throw goneError(absence.reason)
    return false
  }

  /** The next stream, or how the attempt to get one ended; undefined: there is none. */
  async function ask(from: string): Promise<HttpResponse | AnswerEnd | undefined> {
    try {
      const response = await port.resume(from)
      if (isEventStream(response)) return response
      if (await port.refused(response)) return undefined
      discard(response, clock)
      const { status } = response
      const message = `the answer broke off, and the rest of it was refused with status ${status}`
      problem = lostError(message, undefined, { status })
      return passing.has(status) ? failed(awayTime(response, world)) : undefined
    } catch (cause) {
      if (isNobodyThere(cause)) throw goneError(cause)
      survive(cause)
      return failed()
    }
  }

  function survive(cause: unknown): void {
    const lasting = cause instanceof TransportError ? isLasting(cause) : judge(cause) === 'untrusted'
    if (lasting || !resumable || lastEventId === undefined || controller.signal.aborted || isAnswered)
      throw cause
    problem = interruptedError(cause)
  }

  function giveUp(): void {
    if (problem !== undefined) throw problem
  }
}

/** What has no room is not asked for again at once. */
function isLasting({ retryable, code }: TransportError): boolean {
  return !retryable || code === 'BYTES_LIMIT'
}

interface AnswerLimits extends Pick<HttpClientSettings, 'idleTimeout'> {
  readonly limits: Pick<HttpClientSettings['limits'], 'messageBytes'>
}

interface ReaderMeans {
  readonly scope: LinkScope
  readonly budget: AnswerBudget
  /** Waited for before a long body is made into text. */
  readonly turn: (bytes: number) => Promise<void>
}

/**
 * The body of an answer in JSON. Rejects with MESSAGE_TOO_LONG or BYTES_LIMIT, and when nothing comes for too
 * long.
 */
export async function readJson(
  response: HttpResponse,
  { limits, idleTimeout }: AnswerLimits,
  { scope, budget, turn }: ReaderMeans,
): Promise<string> {
  if (response.complete) return response.text(limits.messageBytes, { turn })
  const share = budget.share()
  const idle = Number.isFinite(idleTimeout) ? watchIdle(idleTimeout, response.body, scope) : undefined
  const came = (bytes: number): void => {
    idle?.restart()
    share.hold(bytes)
  }
  try {
    if (idle !== undefined) return await readText(response.body, limits.messageBytes, { came, turn })
    return await response.text(limits.messageBytes, { came, turn })
  } finally {
    share.release()
    idle?.stop()
  }
}

function failed(away?: number): AnswerEnd {
  return { accepted: false, good: false, orderly: false, away }
}

function watchIdle(ms: number, body: Readable, { clock }: LinkScope) {
  const timer = idleTimer(ms, clock, () => body.destroy(lostError(`nothing came for ${ms} ms`)))
  timer.restart()
  return timer
}

/** Whether a message is the answer to this request: known mostly without parsing it. */
function answerTo(id: RequestId): (text: string) => boolean {
  const marks = [`"id":${JSON.stringify(id)}`, `"id": ${JSON.stringify(id)}`]
  return (text) => {
    if (!marks.some((mark) => text.includes(mark))) return false
    // a result may well have a `method` in it
    return !text.includes('"method"') || hasAnswer(text, id)
  }
}

function hasAnswer(text: string, id: RequestId): boolean {
  try {
    const value: unknown = JSON.parse(text)
    const all = (Array.isArray(value) ? value : [value]) as { id?: unknown; method?: unknown }[]
    return all.some((one) => one.id === id && one.method === undefined)
  } catch {
    return false
  }
}
