import { openBatch } from '../../protocol/dialects/batch.js'
import type { Dialect, Revision } from '../../protocol/dialects/dialect.js'
import type { FoundBy, HttpEra } from '../../protocol/stateless/era.js'
import { type Batch, decode } from '../../protocol/wire/codec.js'
import { errorCodes, McpError, ProtocolError, toJsonRpcError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  buildError,
  buildResult,
  isRequest,
  type JsonRpcRequest,
  type Message,
} from '../../protocol/wire/jsonrpc.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { MessageSink, Outcome, Peer, Response } from '../contract/contract.js'
import { type ExchangeAnswer, ExchangeCall } from './exchange-call.js'
import { BatchSink } from './batch-sink.js'
import type { Services } from './services.js'

/** One message that has come in, and what its connection, or its headers, say of it. */
export interface Arrival {
  readonly peer: Peer
  /** Whether headers mirror parameters (HTTP). */
  readonly mirrored: boolean
  /** Told its outcome. */
  readonly sink: MessageSink
  /** The era that the message is served in, or why it is not. Throws McpError. */
  eraOf(message: Message | Batch): HttpEra | Outcome
  /**
   * The session that a message is for, or a batch (undefined); undefined where there is none yet. Throws
   * McpError and ProtocolError.
   */
  sessionOf(message: Message | undefined): string | undefined
  /** The revision of the session, for a batch; rejects with what keeps it from being found out. */
  dialect(session: string | undefined): Dialect | undefined | Promise<Dialect | undefined>
  /** Whether it cancels a request of `era` that was received here: then nobody else need know. */
  cancels(message: Message, era: HttpEra['era']): boolean
  /** Has a request begun, now or later; or ends it. `begin` gets the sink of its answer. */
  enter(request: JsonRpcRequest, session: string | undefined, begin: (sink: MessageSink) => void): void
  /** One of `count` messages of a batch, with its own sink. */
  part(sink: MessageSink, count: number): Arrival
}

/** Who receives. */
export interface Reception {
  readonly services: Services
  /** The revisions that are spoken. */
  readonly revisions: readonly Revision[]
  isDraining(): boolean
}

/** Everything that comes in goes through here: decode, era, session, gate, work, sink. Never throws. */
export function receive(text: string, from: Arrival, { services }: Reception): void {
  let message: Message | Batch | undefined
  try {
    message = decode(text)
    const era = from.eraOf(message)
    if (!('era' in era)) from.sink.end(era)
    else if (!isBatch(message)) serve(message, era, from, services)
    else receiveBatch(message, from, services)
  } catch (error) {
    from.sink.end(outcomeOf(error, message))
  }
}

function serve(message: Message, era: HttpEra, from: Arrival, to: Services): void {
  const session = era.era === 'modern' ? undefined : from.sessionOf(message)
  if (!isRequest(message)) return serveNotification(message, era, session, from, to)
  // a pipe may be asked whether it is there before it has a session
  if (era.era === 'handshake' && session === undefined && message.method === 'ping')
    return from.sink.end({ type: 'answered', response: buildResult(message.id, {}) })
  from.enter(message, session, (sink) => {
    if (era.era === 'modern') exchange(message, era, sink, from, to)
    else if (session === undefined) open(message, sink, from, to)
    else deliver(message, session, sink, from, to)
  })
}

/** A notification, or the answer to a question: it is taken, and never answered. */
function serveNotification(
  message: Message,
  { era }: HttpEra,
  session: string | undefined,
  from: Arrival,
  to: Services,
): void {
  if (from.cancels(message, era) || session === undefined) return from.sink.end(accepted)
  deliver(message, session, from.sink, from, to)
}

/** In a revision without sessions. */
function exchange(
  request: JsonRpcRequest,
  era: HttpEra & { readonly era: 'modern' },
  sink: MessageSink,
  { peer, mirrored }: Arrival,
  to: Services,
): void {
  const { envelope } = era
  if (envelope === undefined || to.exchange === undefined) return sink.end(accepted)
  const call = new ExchangeCall({ request, envelope, sink, peer, mirrored })
  sink.onGone?.(() => call.abort())
  to.exchange(call).then(
    (answer) => {
      sink.onGone?.(undefined)
      sink.end(verdict(answer))
    },
    (error) => sink.end({ type: 'failed', error }),
  )
}

/** `initialize` outside of a session. */
function open(request: JsonRpcRequest, sink: MessageSink, { peer }: Arrival, to: Services): void {
  to.open(request, peer).then(
    ({ sessionId, response }) => sink.end({ type: 'answered', response, sessionId }),
    (error) => sink.end({ type: 'failed', error }),
  )
}

function deliver(
  message: Message,
  session: string,
  sink: MessageSink,
  { peer }: Arrival,
  to: Services,
): void {
  to.deliver(session, message, sink, peer).then(
    (response) => sink.end(response === undefined ? accepted : { type: 'answered', response }),
    (error) => sink.end({ type: 'failed', error }),
  )
}

/** Only 2025-03-26 has batches: they are for its sessions, and refused by all others. */
function receiveBatch(batch: Batch, from: Arrival, to: Services): void {
  const dialect = from.dialect(from.sessionOf(undefined))
  if (!isPromise(dialect)) return serveBatch(batch, dialect, from, to)
  dialect.then(
    (found) => {
      try {
        serveBatch(batch, found, from, to)
      } catch (error) {
        from.sink.end(outcomeOf(error, undefined))
      }
    },
    (error) => from.sink.end({ type: 'failed', error }),
  )
}

function serveBatch(batch: Batch, dialect: Dialect | undefined, from: Arrival, to: Services): void {
  const { messages, refusals } = openBatch(batch, dialect)
  // by HTTP it is answered once its notifications are taken, too: their failure is a status
  const gathers = from.sink.gather !== undefined
  const sink = gathers ? new BatchSink(from.sink, messages.length + refusals.length) : from.sink
  for (const response of refusals) sink.end({ type: 'answered', response })
  for (const message of messages) {
    try {
      serve(message, handshake, from.part(sink, messages.length), to)
    } catch (error) {
      sink.end(outcomeOf(error, message))
    }
  }
}

/** What a handler answers is an answer, but for a capability that the client lacks, which is found late. */
function verdict({ response, refused }: ExchangeAnswer): Outcome {
  if (response === undefined) return accepted
  const isRefused =
    refused || ('error' in response && response.error.code === errorCodes.missingClientCapability)
  return isRefused ? refusedWith(response, 'server') : { type: 'answered', response }
}

/** What becomes of a message that is the client's mistake; a fault of ours fails it. */
function outcomeOf(error: unknown, message: Message | Batch | undefined): Outcome {
  if (error instanceof ProtocolError)
    return { type: 'refused', response: answerInvalid(error), why: error.message, by: 'ladder' }
  if (!(error instanceof McpError)) return { type: 'failed', error }
  const id = message !== undefined && 'id' in message ? message.id : undefined
  return refusedWith(buildError(id, toJsonRpcError(error)), 'ladder')
}

function refusedWith(response: Response, by: FoundBy): Outcome {
  const why = 'error' in response ? response.error.message : 'refused'
  return { type: 'refused', response, why, by }
}

function isBatch(decoded: Message | Batch): decoded is Batch {
  return Array.isArray(decoded)
}

export const accepted: Outcome = Object.freeze({ type: 'accepted' })
const handshake: HttpEra = Object.freeze({ era: 'handshake' })
