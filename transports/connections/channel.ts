import { openBatch } from '../../protocol/dialects/batch.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf } from '../../protocol/dialects/versions.js'
import type { Envelope } from '../../protocol/stateless/envelope.js'
import { type Pinned, pin } from '../../protocol/stateless/era.js'
import { type Batch, decode } from '../../protocol/wire/codec.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { outside } from '../../runtime/faults/containment.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import { notNow, TransportError } from '../base/errors.js'
import { type Outlet, type Peer, spokenBy } from '../contract/contract.js'
import { type Answer, answerEarly, interrupted, isBatch, refusal, refusedAs } from './answers.js'
import { Backlog } from './backlog.js'
import type { Accepted, Connection, ConnectionEnd, Serving } from './connections.js'
import { ConnectionOutput } from './output.js'
import { PipeExchanges } from './pipe-exchanges.js'
import { type OpenRequest, OpenRequests } from './requests.js'

interface ChannelEvents {
  over(): void
  answered(): void
}

export interface KeptSession {
  readonly sessionId: string | undefined
  /** Of its revision. */
  readonly dialect: Dialect | undefined
  /** The era that the first request has settled. */
  readonly pinned: Pinned
}

export interface ChannelSettings {
  readonly kept: KeptSession
  /**
   * Whether this is standard input. Its requests wait here while the server has enough (`maxOpen`), each
   * answer to a batch is sent as soon as it is there, and the session does not end with the connection.
   */
  readonly isPipe: boolean
}

const restarting = 'The server is starting again: try once more'
const stopping = 'The server is being stopped'
/** Messages that may still come in one chunk after reading has paused. */
const hardLimit = 10_000

/** One connection and its session: what outlives the listeners that serve it, one at a time. */
export class Channel implements Accepted {
  readonly #connection: Connection
  readonly #events: ChannelEvents
  readonly #isPipe: boolean
  readonly #world: World
  readonly #backlog: Backlog
  readonly #output: ConnectionOutput
  readonly #requests: OpenRequests
  readonly #outlet: Outlet
  /** For what belongs to no request; told when the actor of the session ends. */
  readonly #reader: Outlet
  /** The requests that belong to no session. */
  readonly #exchanges: PipeExchanges
  #pinned: Pinned
  #sessionId: string | undefined
  #dialect: Dialect | undefined
  #serving: Serving | null = null
  /** The attempt to open a session that is under way; what follows waits for it. */
  #opening: object | null = null
  #attached = false
  #draining = false
  #gone = false
  /** Set by the first reason for the end: what is sent on the way may bring about another. */
  #isEnding = false
  #stopTimer: (() => void) | null = null
  #onTaken: (() => void) | null = null

  constructor(
    connection: Connection,
    events: ChannelEvents,
    { kept, isPipe }: ChannelSettings,
    world: World,
  ) {
    this.#world = world
    this.#connection = connection
    this.#events = events
    this.#isPipe = isPipe
    this.#pinned = kept.pinned
    this.#sessionId = kept.sessionId
    this.#dialect = kept.dialect
    const takeAll = (): void => this.#serving?.run(() => this.#takeAll())
    // standard input has no other end than its own: nothing of a chunk is refused
    this.#backlog = new Backlog(takeAll, isPipe ? Number.POSITIVE_INFINITY : hardLimit, world)
    const answered = (): void => {
      events.answered()
      this.#flow()
    }
    this.#requests = new OpenRequests(answered, () => !connection.isStalled)
    this.#output = new ConnectionOutput(connection, (error) => this.#broken(error))
    const send = (message: Message): boolean => this.#output.sendIfRead(message)
    this.#outlet = { send }
    this.#reader = { send, end: () => this.#detached() }
    this.#exchanges = new PipeExchanges(send, (error, id) => this.#failed(error, id))
  }

  get unanswered(): number {
    return this.#requests.size
  }

  /** What a channel on the next connection of the same client goes on with. */
  get kept(): KeptSession {
    return { sessionId: this.#sessionId, dialect: this.#dialect, pinned: this.#pinned }
  }

  /** Ends the connection unless it has a session by then. */
  expectSession(clock: Clock, timeout: number): void {
    const timer = clock.setTimeout(() => this.end('no_session'), timeout)
    this.#stopTimer = () => clock.clearTimeout(timer)
  }

  serve(serving: Serving | null): void {
    this.#serving = serving
    this.#attached = false
    if (serving === null) return this.interrupt(restarting)
    serving.run(() => {
      if (this.#gone) return this.#endSession()
      this.#attach()
      this.#takeAll()
    })
  }

  drain(): void {
    this.#draining = true
  }

  message(text: string, peer: Peer = this.#connection.peer): boolean {
    if (this.#gone || !this.#backlog.push({ text, peer })) return false
    this.#serving?.run(() => this.#takeAll())
    this.#flow()
    return true
  }

  /** No more comes: resolves once all that came is taken, and subscriptions have been ended. */
  allTaken(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTaken = resolve
      this.#serving?.run(() => this.#takeAll())
    })
  }

  /** The client reads again: begins what was held back. */
  caughtUp(): void {
    this.#requests.beginHeld()
    this.#flow()
  }

  /** Answers what is in flight with an error: nobody else will. */
  interrupt(why: string): void {
    this.#opening = null
    this.#requests.interrupt(why)
    this.#exchanges.abandon()
  }

  closed(): void {
    if (this.#gone) return
    this.#gone = true
    this.#output.isOver = true
    this.#stopTimer?.()
    this.#backlog.clear()
    this.#exchanges.abandon()
    this.#requests.clear()
    if (!this.#isPipe) this.#serving?.run(() => this.#endSession())
    if (this.#isPipe || this.#sessionId === undefined) this.#events.over()
  }

  end(why: ConnectionEnd): void {
    if (this.#gone || this.#isEnding) return
    this.#isEnding = true
    // elsewhere the end itself tells the client: one that was answered first might call again into the end
    if (this.#isPipe) this.interrupt(why === 'session_ended' ? 'The session has ended' : restarting)
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
    this.#flow()
    if (this.#onTaken === null || this.#serving === null || this.#opening !== null || !this.#backlog.isEmpty)
      return
    this.#serving.server.endSubscriptions?.()
    this.#onTaken()
    this.#onTaken = null
  }

  /** Reads on, or not for now. */
  #flow(): void {
    if (this.#backlog.isFull || this.#requests.isFull) this.#output.pause()
    else if (this.#output.isPaused && this.#backlog.isEmpty) this.#output.resume()
  }

  #take(text: string, peer: Peer, { server }: Serving): void {
    const write: Answer = (response) => void this.#output.write(response)
    try {
      const decoded = decode(text)
      const pinning = pin(this.#pinned, decoded, spokenBy(server))
      this.#pinned = pinning.pinned
      if (pinning.route === 'modern') this.#takeModern(decoded, pinning.envelope, peer, text.length)
      else if (pinning.route === 'refuse') write(refusedAs(decoded, pinning.error))
      else if (isBatch(decoded)) this.#takeBatch(decoded, peer, text.length)
      else this.#takeMessage(decoded, peer, write, text.length)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      write(answerInvalid(error))
    }
  }

  /** Only 2025-03-26 has batches; answers go back together, on standard output one by one. */
  #takeBatch(batch: Batch, peer: Peer, size: number): void {
    const { messages, refusals } = openBatch(batch, this.#dialect)
    const answers: Message[] = []
    let waiting = messages.length + refusals.length
    const settle: Answer = (response) => {
      if (this.#isPipe) return void this.#output.write(response)
      if (response !== undefined) answers.push(response)
      waiting -= 1
      if (waiting === 0 && answers.length > 0) this.#output.writeAll(answers)
    }
    for (const refused of refusals) settle(refused)
    for (const message of messages)
      this.#takeMessage(message, peer, settle, Math.ceil(size / messages.length))
  }

  /** What belongs to no session is served as it comes. */
  #takeModern(message: Message | Batch, envelope: Envelope | undefined, peer: Peer, size: number): void {
    if (isBatch(message)) return
    if (envelope === undefined || !isRequest(message)) {
      if (!this.#cancelsHeld(message)) this.#exchanges.takeNotification(message)
      return
    }
    const settle: Answer = (response) => void this.#output.write(response)
    const problem = this.#problemWith(message)
    if (problem !== undefined) return settle(problem)
    this.#stopTimer?.()
    this.#enter(message, settle, size, (server, answer) =>
      this.#exchanges.start(server, { request: message, envelope, peer, settle: answer }),
    )
  }

  #takeMessage(message: Message, peer: Peer, settle: Answer, size: number): void {
    if (!isRequest(message)) {
      if (this.#sessionId !== undefined && !this.#cancelsHeld(message)) this.#deliver(message, peer)
      return settle(undefined)
    }
    const early = this.#sessionId === undefined ? answerEarly(message) : undefined
    const said = this.#problemWith(message) ?? early
    if (said !== undefined) return settle(said)
    if (this.#sessionId !== undefined)
      return this.#enter(message, settle, size, (_, answer) => this.#deliver(message, peer, answer))
    const request = { id: message.id, size, settle, begin: () => void this.#open(message, peer, request) }
    this.#requests.enter(request)
  }

  /** Has a request begun, now or once the server takes it. */
  #enter(
    { id }: JsonRpcRequest,
    settle: Answer,
    size: number,
    begin: (server: Serving['server'], answer: Answer) => void,
  ): void {
    const answer: Answer = (response) => this.#requests.answer(request, response)
    const request: OpenRequest = {
      id,
      size,
      settle,
      begin: () => {
        if (this.#serving !== null) begin(this.#serving.server, answer)
      },
    }
    this.#requests.enter(request, this.#isPipe ? (this.#serving?.server.maxOpen ?? Infinity) : undefined)
  }

  /** Whether it cancels a request that the server has not been given: then nobody else need know. */
  #cancelsHeld(message: Message): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false
    return this.#requests.cancelHeld(message.params?.requestId as RequestId)
  }

  #problemWith({ id }: JsonRpcRequest): Message | undefined {
    if (this.#requests.has(id)) return refusal(id, 'a request with this id is in flight')
    return this.#draining ? interrupted(id, stopping) : undefined
  }

  async #open(initialize: JsonRpcRequest, peer: Peer, request: OpenRequest): Promise<void> {
    const serving = this.#serving
    if (serving === null) return
    const attempt = {}
    this.#opening = attempt
    const answered = await serving.server.open(initialize, peer).catch((error: unknown) => ({
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
    this.#dialect = dialectIn(answered.response)
    this.#requests.answer(request, answered.response)
    this.#attach()
    this.#takeAll()
  }

  /** Not awaited: the next message is read while this one is worked on. */
  #deliver(message: Message, peer: Peer, answer?: Answer): void {
    const serving = this.#serving
    if (this.#sessionId === undefined || serving === null) return
    if (!this.#attached) this.#attach()
    serving.server.deliver(this.#sessionId, message, this.#outlet, peer).then(answer, (error) => {
      const response = this.#failed(error, isRequest(message) ? message.id : undefined)
      answer?.(response)
      this.#lost(error)
    })
  }

  /** Takes what belongs to no request through us, which also brings back a session that died. */
  #attach(): void {
    const serving = this.#serving
    if (this.#sessionId === undefined || serving === null || this.#attached) return
    this.#attached = true
    serving.server.attach(this.#sessionId, this.#reader, this.#connection.peer).catch((error) => {
      this.#attached = false
      if (!this.#lost(error) && this.#serving === serving) serving.report(error)
    })
  }

  /** Not before the next turn: only then is it decided whether a session that crashed may come back. */
  #detached(): void {
    this.#attached = false
    outside(() =>
      this.#world.setImmediate(() => {
        if (!this.#gone) this.#serving?.run(() => this.#attach())
      }),
    )
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

  #failed(error: unknown, id: RequestId | undefined): Message & { id: RequestId } {
    if (error instanceof TransportError && /_LIMIT$/.test(error.code))
      return interrupted(id ?? '', error.message)
    if (!(error instanceof TransportError)) this.#serving?.report(error)
    // what else it says is not for clients
    const isPassing = error instanceof TransportError && error.retryable
    return interrupted(id ?? '', isPassing ? notNow : 'Internal error')
  }

  /** A transport that throws loses this connection, and no other. */
  #broken(error: unknown): void {
    this.#output.isOver = true
    this.#serving?.report(error)
    this.end('going_away')
  }
}

function dialectIn(response: Message): Dialect | undefined {
  const revision = 'result' in response ? response.result.protocolVersion : undefined
  return typeof revision === 'string' ? dialectOf(revision) : undefined
}
