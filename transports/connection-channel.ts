import { type Batch, decode, encodeBatch } from '../protocol/codec.js'
import { ProtocolError } from '../protocol/errors.js'
import {
  answerInvalid,
  buildResult,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../protocol/jsonrpc.js'
import type { Clock } from '../runtime/clock.js'
import { interrupted, isBatch, refusal, speaksBatches } from './connection-answers.js'
import { Backlog } from './connection-backlog.js'
import type { Accepted, Connection, ConnectionEnd, Serving } from './connections.js'
import type { Outlet, Peer } from './contract.js'
import { textOf } from './encoded.js'
import { TransportError } from './errors.js'

/** What a channel tells of itself. */
export interface ChannelEvents {
  /** It is over, and its session has been ended. */
  over(): void
  /** A request has been answered. */
  answered(): void
}

/** What is done with the answer to one request; undefined for one that was cancelled. */
type Answer = (response: Message | undefined) => void

const restarting = 'The server is starting again: try once more'
const stopping = 'The server is being stopped'

/** One connection and its session: what outlives the listeners that serve it, one at a time. */
export class Channel implements Accepted {
  readonly #connection: Connection
  readonly #events: ChannelEvents
  readonly #backlog = new Backlog()
  readonly #unanswered = new Map<RequestId, Answer>()
  readonly #outlet: Outlet
  readonly #reader: Outlet
  #serving: Serving | null = null
  /** The attempt to open a session that is under way; what follows waits for it. */
  #opening: object | null = null
  #sessionId: string | undefined
  #batches = false
  #attached = false
  #paused = false
  #draining = false
  #gone = false
  #stopTimer: (() => void) | null = null

  constructor(connection: Connection, events: ChannelEvents) {
    this.#connection = connection
    this.#events = events
    const send = (message: Message): boolean => this.#sendIfRead(message)
    this.#outlet = { send }
    this.#reader = { send, end: () => this.#detached() }
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
    if (this.#backlog.isFull) this.#pause()
    return true
  }

  closed(): void {
    if (this.#gone) return
    this.#gone = true
    this.#stopTimer?.()
    this.#backlog.clear()
    this.#unanswered.clear()
    this.#events.answered()
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
      this.#take(next.text, next.peer)
    }
    if (this.#paused && this.#backlog.isEmpty) this.#resume()
  }

  #take(text: string, peer: Peer): void {
    try {
      const decoded = decode(text)
      if (isBatch(decoded)) this.#takeBatch(decoded, peer)
      else this.#takeMessage(decoded, peer, (response) => this.#write(response))
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#write(answerInvalid(error))
    }
  }

  /** Revision 2025-03-26 alone has batches: the answers go back together. */
  #takeBatch(batch: Batch, peer: Peer): void {
    if (!this.#batches) {
      return this.#write(refusal(undefined, 'a batch: the negotiated revision takes one message at a time'))
    }
    const answers: Message[] = []
    let waiting = batch.length
    const settle = (response: Message | undefined): void => {
      if (response !== undefined) answers.push(response)
      waiting -= 1
      if (waiting === 0 && answers.length > 0) this.#send(encodeBatch(answers))
    }
    for (const element of batch) {
      if (element instanceof ProtocolError) settle(answerInvalid(element))
      else this.#takeMessage(element, peer, settle)
    }
  }

  #takeMessage(message: Message, peer: Peer, settle: Answer): void {
    if (!isRequest(message)) {
      if (this.#sessionId !== undefined) this.#deliver(message, peer)
      return settle(undefined)
    }
    const { id, method } = message
    if (this.#unanswered.has(id)) return settle(refusal(id, 'a request with this id is in flight'))
    if (this.#draining) return settle(interrupted(id, stopping))
    if (this.#sessionId === undefined && method === 'ping') return settle(buildResult(id, {}))
    if (this.#sessionId === undefined && method !== 'initialize')
      return settle(refusal(id, 'expected initialize first'))
    this.#unanswered.set(id, settle)
    if (this.#sessionId === undefined) void this.#open(message, peer, settle)
    else this.#deliver(message, peer, settle)
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
    this.#answer(request.id, settle, answered.response)
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
        if (id !== undefined && settle !== undefined) this.#answer(id, settle, response)
      },
      (error) => {
        const response = this.#failed(error, id)
        if (id !== undefined && settle !== undefined) this.#answer(id, settle, response)
        this.#lost(error)
      },
    )
  }

  /** What belongs to no request comes through us from here on; a session that died is brought back by that. */
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
    for (const [id, settle] of this.#unanswered) this.#answer(id, settle, interrupted(id, restarting))
  }

  #failed(error: unknown, id: RequestId | undefined): Message & { id: RequestId } {
    if (error instanceof TransportError && error.code === 'SESSION_LIMIT')
      return interrupted(id ?? '', error.message)
    if (!(error instanceof TransportError)) this.#serving?.report(error)
    return interrupted(id ?? '', 'Internal error')
  }

  /** Once at most for each request, and not at all when it was cancelled. */
  #answer(id: RequestId, settle: Answer, response: Message | undefined): void {
    if (this.#unanswered.get(id) !== settle) return
    this.#unanswered.delete(id)
    settle(response)
    this.#events.answered()
  }

  #sendIfRead(message: Message): boolean {
    if (this.#gone || this.#connection.isStalled) return false
    this.#write(message)
    return true
  }

  #write(message: Message | undefined): void {
    if (message !== undefined) this.#send(textOf(message))
  }

  /** A transport that throws loses this connection, and no other. */
  #send(text: string): void {
    if (this.#gone) return
    try {
      this.#connection.send(text)
    } catch (error) {
      this.#serving?.report(error)
      this.end('going_away')
    }
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#connection.pause()
  }

  #resume(): void {
    this.#paused = false
    if (!this.#gone) this.#connection.resume()
  }
}
