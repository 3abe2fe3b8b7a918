import { type Batch, decode } from '../../protocol/wire/codec.js'
import type { Envelope } from '../../protocol/stateless/envelope.js'
import { type Pinned, pin } from '../../protocol/stateless/era.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import {
  type Answer,
  answerEarly,
  interrupted,
  isBatch,
  noBatches,
  refusal,
  refusedAs,
  speaksBatches,
  takeEach,
} from './answers.js'
import { Backlog } from './backlog.js'
import type { Accepted, Connection, ConnectionEnd, Serving } from './connections.js'
import { ConnectionOutput } from './output.js'
import { Unanswered } from './unanswered.js'
import { type Outlet, type Peer, spokenBy } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { PipeExchanges } from './pipe-exchanges.js'

/** What a channel tells of itself. */
export interface ChannelEvents {
  /** It is over, and its session has been ended. */
  over(): void
  /** A request has been answered. */
  answered(): void
}

const restarting = 'The server is starting again: try once more'
const stopping = 'The server is being stopped'

/** One connection and its session: what outlives the listeners that serve it, one at a time. */
export class Channel implements Accepted {
  readonly #connection: Connection
  readonly #events: ChannelEvents
  readonly #backlog = new Backlog(() => this.#serving?.run(() => this.#takeAll()))
  readonly #output: ConnectionOutput
  readonly #unanswered: Unanswered
  readonly #outlet: Outlet
  readonly #reader: Outlet
  /** The requests that belong to no session. */
  readonly #exchanges: PipeExchanges
  #pinned: Pinned
  #serving: Serving | null = null
  /** The attempt to open a session that is under way; what follows waits for it. */
  #opening: object | null = null
  #sessionId: string | undefined
  #batches = false
  #attached = false
  #draining = false
  #gone = false
  #stopTimer: (() => void) | null = null

  constructor(connection: Connection, events: ChannelEvents, pinned: Pinned = 'none') {
    this.#connection = connection
    this.#pinned = pinned
    this.#events = events
    this.#unanswered = new Unanswered(() => events.answered())
    this.#output = new ConnectionOutput(connection, (error) => this.#broken(error))
    const send = (message: Message): boolean => this.#output.sendIfRead(message)
    this.#outlet = { send }
    this.#reader = { send, end: () => this.#detached() }
    this.#exchanges = new PipeExchanges(send, (error, id) => this.#failed(error, id))
  }

  /** Requests that wait for their answers. */
  get unanswered(): number {
    return this.#unanswered.size
  }

  /** Ends the connection unless it has a session by then. */
  expectSession(clock: Clock, timeout: number): void {
    const timer = clock.setTimeout(() => this.end('no_session'), timeout)
    this.#stopTimer = () => clock.clearTimeout(timer)
  }

  /** Goes on with a new listener, or waits for one. */
  serve(serving: Serving | null): void {
    this.#serving = serving
    this.#attached = false
    if (serving === null) return this.#interrupt()
    serving.run(() => {
      if (this.#gone) return this.#endSession()
      this.#attach()
      this.#takeAll()
    })
  }

  /** Refuses requests from here on. */
  drain(): void {
    this.#draining = true
  }

  message(text: string, peer: Peer = this.#connection.peer): boolean {
    if (this.#gone || !this.#backlog.push({ text, peer })) return false
    this.#serving?.run(() => this.#takeAll())
    if (this.#backlog.isFull) this.#output.pause()
    return true
  }

  closed(): void {
    if (this.#gone) return
    this.#gone = true
    this.#output.isOver = true
    this.#stopTimer?.()
    this.#backlog.clear()
    this.#exchanges.abandon()
    this.#unanswered.clear()
    this.#serving?.run(() => this.#endSession())
    if (this.#sessionId === undefined) this.#events.over()
  }

  /** Ends the connection from our side. */
  end(why: ConnectionEnd): void {
    if (this.#gone) return
    try {
      this.#connection.close(why)
    } finally {
      this.closed()
    }
  }

  #takeAll(): void {
    while (this.#serving !== null && this.#opening === null && !this.#gone) {
      const next = this.#backlog.shift()
      if (next === undefined) break
      this.#take(next.text, next.peer, this.#serving)
    }
    if (this.#output.isPaused && this.#backlog.isEmpty) this.#output.resume()
  }

  #take(text: string, peer: Peer, { server }: Serving): void {
    try {
      const decoded = decode(text)
      const pinning = pin(this.#pinned, decoded, spokenBy(server))
      this.#pinned = pinning.pinned
      if (pinning.route === 'modern') this.#takeModern(decoded, pinning.envelope, peer)
      else if (pinning.route === 'refuse') this.#output.write(refusedAs(decoded, pinning.error))
      else if (isBatch(decoded)) this.#takeBatch(decoded, peer)
      else this.#takeMessage(decoded, peer, (response) => void this.#output.write(response))
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#output.write(answerInvalid(error))
    }
  }

  /** Revision 2025-03-26 alone has batches: the answers go back together. */
  #takeBatch(batch: Batch, peer: Peer): void {
    if (!this.#batches) return void this.#output.write(noBatches)
    takeEach(
      batch,
      (message, settle) => this.#takeMessage(message, peer, settle),
      (answers) => this.#output.writeAll(answers),
    )
  }

  /**
   * What belongs to no session: it is served as it comes, and only the requests that one cancels are tied to
   * the connection.
   */
  #takeModern(message: Message | Batch, envelope: Envelope | undefined, peer: Peer): void {
    const serving = this.#serving
    if (isBatch(message) || serving === null) return
    if (envelope === undefined || !isRequest(message)) return this.#exchanges.heed(message)
    const settle: Answer = (response) => void this.#output.write(response)
    const problem = this.#problemWith(message)
    if (problem !== undefined) return settle(problem)
    this.#stopTimer?.()
    this.#unanswered.add(message.id, settle)
    const answer: Answer = (response) => this.#unanswered.answer(message.id, settle, response)
    this.#exchanges.start(serving.server, { request: message, envelope, peer, settle: answer })
  }

  #takeMessage(message: Message, peer: Peer, settle: Answer): void {
    if (!isRequest(message)) {
      if (this.#sessionId !== undefined) this.#deliver(message, peer)
      return settle(undefined)
    }
    const early = this.#sessionId === undefined ? answerEarly(message) : undefined
    const said = this.#problemWith(message) ?? early
    if (said !== undefined) return settle(said)
    this.#unanswered.add(message.id, settle)
    if (this.#sessionId === undefined) void this.#open(message, peer, settle)
    else this.#deliver(message, peer, settle)
  }

  /** What is said at once to a request that must not be made now. */
  #problemWith({ id }: JsonRpcRequest): Message | undefined {
    if (this.#unanswered.has(id)) return refusal(id, 'a request with this id is in flight')
    return this.#draining ? interrupted(id, stopping) : undefined
  }

  async #open(request: JsonRpcRequest, peer: Peer, settle: Answer): Promise<void> {
    const serving = this.#serving
    if (serving === null) return
    const attempt = {}
    this.#opening = attempt
    const answered = await serving.server.open(request, peer).catch((error: unknown) => ({
      sessionId: undefined,
      response: this.#failed(error, request.id),
    }))
    // the connection has gone, or its client was told that it failed
    if (this.#opening !== attempt || this.#gone) {
      if (answered.sessionId !== undefined) this.#closeQuietly(serving, answered.sessionId)
      return
    }
    this.#opening = null
    this.#sessionId = answered.sessionId
    if (answered.sessionId !== undefined) this.#stopTimer?.()
    this.#batches = speaksBatches(answered.response)
    this.#unanswered.answer(request.id, settle, answered.response)
    this.#attach()
    this.#takeAll()
  }

  /** Not awaited: the next message is read while this one is worked on. */
  #deliver(message: Message, peer: Peer, settle?: Answer): void {
    const serving = this.#serving
    if (this.#sessionId === undefined || serving === null) return
    if (!this.#attached) this.#attach()
    const id = settle !== undefined && isRequest(message) ? message.id : undefined
    serving.server.deliver(this.#sessionId, message, this.#outlet, peer).then(
      (response) => {
        if (id !== undefined && settle !== undefined) this.#unanswered.answer(id, settle, response)
      },
      (error) => {
        const response = this.#failed(error, id)
        if (id !== undefined && settle !== undefined) this.#unanswered.answer(id, settle, response)
        this.#lost(error)
      },
    )
  }

  /**
   * What belongs to no request comes through us from here on; a session that died is brought back by that.
   */
  #attach(): void {
    const serving = this.#serving
    if (this.#sessionId === undefined || serving === null || this.#attached) return
    this.#attached = true
    serving.server.attach(this.#sessionId, this.#reader, this.#connection.peer).catch((error) => {
      this.#attached = false
      if (!this.#lost(error) && this.#serving === serving) serving.report(error)
    })
  }

  #detached(): void {
    this.#attached = false
    if (!this.#gone) this.#attach()
  }

  #endSession(): void {
    const serving = this.#serving
    const sessionId = this.#sessionId
    if (sessionId === undefined || serving === null) return
    this.#sessionId = undefined
    this.#closeQuietly(serving, sessionId)
    this.#events.over()
  }

  /** The session may have ended already, and if the store does not answer it ends by itself one day. */
  #closeQuietly({ server }: Serving, sessionId: string): void {
    server.close(sessionId, this.#connection.peer).catch(() => {})
  }

  /** A connection has one session: when that has ended for good, so has the connection. */
  #lost(error: unknown): boolean {
    if (!(error instanceof TransportError && error.code === 'SESSION_NOT_FOUND')) return false
    this.end('session_ended')
    return true
  }

  /** The listener has gone: what it was working on has nobody any more who would answer. */
  #interrupt(): void {
    this.#opening = null
    this.#unanswered.interrupt(restarting)
    this.#exchanges.abandon()
  }

  #failed(error: unknown, id: RequestId | undefined): Message & { id: RequestId } {
    if (error instanceof TransportError && /_LIMIT$/.test(error.code))
      return interrupted(id ?? '', error.message)
    if (!(error instanceof TransportError)) this.#serving?.report(error)
    return interrupted(id ?? '', 'Internal error')
  }

  /** A transport that throws loses this connection, and no other. */
  #broken(error: unknown): void {
    this.#serving?.report(error)
    this.end('going_away')
  }
}
