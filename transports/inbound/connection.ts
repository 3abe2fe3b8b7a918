import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf } from '../../protocol/dialects/versions.js'
import { type HttpEra, pin } from '../../protocol/stateless/era.js'
import type { Batch } from '../../protocol/wire/codec.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import {
  buildError,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { notNow, TransportError } from '../base/errors.js'
import type {
  ConnectionPort,
  MessageSink,
  Outcome,
  Peer,
  ServedConnection,
  Sink,
} from '../contract/contract.js'
import { ConnectionRequest } from './connection-request.js'
import { accepted, type Arrival, receive, type Reception } from './receive.js'
import { OpenRequests } from './requests.js'

/** What the server makes of one connection, as long as one listener serves it. */
export class InboundConnection implements ConnectionPort {
  readonly #connection: ServedConnection
  readonly #to: Reception
  readonly #requests: OpenRequests<ConnectionRequest>
  /** For what belongs to no request; told when the actor of the session ends. */
  readonly #reader: Sink
  /** The request that opens a session; what follows waits for it. */
  #opening: ConnectionRequest | undefined
  #isAttached = false
  /** Whether the connection is closed, or another listener serves it. */
  #isOver = false

  constructor(connection: ServedConnection, to: Reception) {
    this.#connection = connection
    this.#to = to
    this.#requests = new OpenRequests(() => !connection.isStalled)
    this.#reader = { send: (message) => connection.send(message), end: () => this.#detached() }
  }

  get unanswered(): number {
    return this.#requests.size
  }

  get isReady(): boolean {
    return this.#opening === undefined
  }

  get isFull(): boolean {
    return this.#requests.isFull
  }

  receive(text: string, peer: Peer): void {
    receive(text, new ConnectionMessage(this, peer, text.length), this.#to)
  }

  /** Settles the era of the connection, and says that of a message. */
  pin(message: Message | Batch): HttpEra | Outcome {
    const { state } = this.#connection
    const pinning = pin(state.pinned, message, this.#to.revisions)
    state.pinned = pinning.pinned
    if (pinning.route === 'modern') return { era: 'modern', envelope: pinning.envelope }
    if (pinning.route === 'handshake') return handshake
    const { error } = pinning
    if (error === undefined) return accepted
    const id = 'id' in message ? message.id : undefined
    return { type: 'refused', response: buildError(id, error), why: error.message, by: 'ladder' }
  }

  sessionOf(message: Message | undefined): string | undefined {
    const { sessionId } = this.#connection.state
    if (sessionId !== undefined) {
      this.subscribe()
      return sessionId
    }
    if (message === undefined || !isRequest(message) || early.has(message.method)) return undefined
    throw new McpError(errorCodes.invalidRequest, 'expected initialize first')
  }

  get dialect(): Dialect | undefined {
    return this.#connection.state.dialect
  }

  enter(
    request: JsonRpcRequest,
    session: string | undefined,
    { size, sink }: ConnectionMessage,
    begin: (sink: MessageSink) => void,
  ): void {
    const { id, method } = request
    if (this.#requests.has(id)) return sink.end(refusal(id))
    if (this.#to.isDraining()) return sink.end(unserved(id, 'The server is being stopped'))
    const { state, isPipe } = this.#connection
    const lasts = session === undefined && method === 'subscriptions/listen'
    const entered = new ConnectionRequest(this, { id, size, answer: sink, begin, lasts })
    if (state.pinned !== 'handshake') this.#connection.begun()
    else if (state.sessionId === undefined) this.#opening = entered
    const isHeld = isPipe && this.isReady
    this.#requests.enter(entered, isHeld ? (this.#to.services.maxOpen ?? Infinity) : undefined)
  }

  /** One that is held back, or one without a session: what a session was given it cancels itself. */
  cancels(message: Message, era: HttpEra['era']): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false
    const id = message.params?.requestId as RequestId
    const begun = era === 'modern' ? this.#requests.get(id) : undefined
    const request = begun ?? this.#requests.takeHeld(id)
    if (request === undefined) return false
    this.#requests.leave(request)
    request.settle(accepted)
    request.drop()
    this.#goOn()
    return true
  }

  /** A request has its outcome: it is told unless that came before. */
  answer(request: ConnectionRequest, outcome: Outcome): void {
    const sessionId = outcome.type === 'answered' ? outcome.sessionId : undefined
    if (outcome.type === 'failed') this.#note(outcome.error)
    if (!this.#requests.leave(request)) {
      // the connection has gone, or its client was told that it failed
      if (sessionId !== undefined) this.#closeQuietly(sessionId)
      return
    }
    const opens = request === this.#opening
    if (opens) this.#opened(outcome)
    request.settle(outcome.type === 'failed' ? failed(outcome.error, request.id) : outcome)
    if (opens) this.subscribe()
    this.#goOn()
    if (outcome.type === 'failed' && !opens) this.#ifLost(outcome.error)
  }

  /** What becomes of a message that is no request to be answered later. */
  write(outcome: Outcome): void {
    if (outcome.type === 'failed') {
      this.#note(outcome.error)
      this.#ifLost(outcome.error)
    } else if ('response' in outcome && outcome.response !== undefined) {
      this.#connection.write(outcome.response)
    }
  }

  send(message: Message): boolean {
    return this.#connection.send(message)
  }

  subscribe(): void {
    const { state, peer } = this.#connection
    if (state.sessionId === undefined || this.#isAttached || this.#isOver) return
    this.#isAttached = true
    this.#to.services.attach(state.sessionId, this.#reader, peer).catch((error) => {
      this.#isAttached = false
      if (!this.#isOver && !this.#ifLost(error)) this.#connection.report(error)
    })
  }

  caughtUp(): void {
    this.#requests.beginHeld()
  }

  interrupt(why: string): void {
    this.#opening = undefined
    for (const request of this.#requests.takeAll()) request.interrupt(unserved(request.id, why))
    this.#connection.onProgress()
  }

  close(): void {
    this.#isOver = true
    for (const request of this.#requests.takeAll()) request.drop()
  }

  #goOn(): void {
    this.#requests.beginHeld()
    this.#connection.onProgress()
  }

  #opened(outcome: Outcome): void {
    const { state } = this.#connection
    this.#opening = undefined
    if (outcome.type !== 'answered') return
    const { response, sessionId } = outcome
    state.sessionId = sessionId
    const revision = 'result' in response ? response.result.protocolVersion : undefined
    state.dialect = typeof revision === 'string' ? dialectOf(revision) : undefined
    if (sessionId !== undefined) this.#connection.begun()
  }

  /** Not before the next turn: only then is it decided whether a session that crashed may come back. */
  #detached(): void {
    this.#isAttached = false
    if (!this.#isOver) this.#connection.nextTurn(() => this.subscribe())
  }

  /** The session may have ended already, and if the store does not answer it ends by itself one day. */
  #closeQuietly(sessionId: string): void {
    this.#to.services.close(sessionId, this.#connection.peer).catch(() => {})
  }

  /** A connection has one session: when that has ended for good, so has the connection. */
  #ifLost(error: unknown): boolean {
    if (this.#isOver || !isSessionGone(error)) return false
    this.#connection.sessionEnded()
    return true
  }

  /** A fault of ours is told to whoever runs the server, also where nobody waits any more. */
  #note(error: unknown): void {
    if (!(error instanceof TransportError)) this.#connection.report(error)
  }
}

/** One message of a connection, and the sink of what is not a request. */
class ConnectionMessage implements Arrival, MessageSink {
  readonly mirrored = false
  readonly peer: Peer
  /** Characters. */
  readonly size: number
  readonly #connection: InboundConnection
  /** Of the batch that it is a part of. */
  readonly #batch: MessageSink | undefined

  constructor(connection: InboundConnection, peer: Peer, size: number, batch?: MessageSink) {
    this.#connection = connection
    this.peer = peer
    this.size = size
    this.#batch = batch
  }

  get sink(): this {
    return this
  }

  eraOf(message: Message | Batch): HttpEra | Outcome {
    return this.#connection.pin(message)
  }

  sessionOf(message: Message | undefined): string | undefined {
    return this.#connection.sessionOf(message)
  }

  dialect(): Dialect | undefined {
    return this.#connection.dialect
  }

  cancels(message: Message, era: HttpEra['era']): boolean {
    return this.#connection.cancels(message, era)
  }

  enter(request: JsonRpcRequest, session: string | undefined, begin: (sink: MessageSink) => void): void {
    this.#connection.enter(request, session, this, begin)
  }

  part(sink: MessageSink, count: number): Arrival {
    return new ConnectionMessage(this.#connection, this.peer, Math.ceil(this.size / count), sink)
  }

  send(message: Message): boolean {
    return this.#connection.send(message)
  }

  end(outcome: Outcome): void {
    const batch = this.#batch
    if (batch === undefined || outcome.type === 'failed') this.#connection.write(outcome)
    // a part that fails costs the others nothing
    batch?.end(outcome.type === 'failed' ? accepted : outcome)
  }
}

/** Requests that need no session. */
const early: ReadonlySet<string> = new Set(['initialize', 'ping'])
const handshake: HttpEra = Object.freeze({ era: 'handshake' })

function refusal(id: RequestId): Outcome {
  const why = 'a request with this id is in flight'
  const response = buildError(id, { code: errorCodes.invalidRequest, message: why })
  return { type: 'refused', response, why, by: 'server' }
}

function isSessionGone(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'SESSION_NOT_FOUND'
}

/** What else the error says is not for clients. */
function failed(error: unknown, id: RequestId): Outcome {
  const isTransport = error instanceof TransportError
  if (isTransport && /_LIMIT$/.test(error.code)) return unserved(id, error.message)
  return unserved(id, isTransport && error.retryable ? notNow : 'Internal error')
}

/** The outcome of a request that the server could not finish, or begin. */
function unserved(id: RequestId, message: string): Outcome {
  const response = buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
  return { type: 'refused', response, why: message, by: 'server' }
}
