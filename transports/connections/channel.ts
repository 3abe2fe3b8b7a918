import type { Message } from '../../protocol/wire/jsonrpc.js'
import { outside } from '../../runtime/faults/containment.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import type { ConnectionPort, ConnectionState, Peer, ServedConnection } from '../contract/contract.js'
import { Backlog, messagesPerTurn } from './backlog.js'
import type { Accepted, Connection, ConnectionEnd, Serving } from './connections.js'
import { ConnectionOutput } from './output.js'

interface ChannelEvents {
  over(): void
  progress(): void
}

const restarting = 'The server is starting again: try once more'
/** Messages that may still come in one chunk after reading has paused. */
const hardLimit = 10_000
const limitsOfPipe = { hard: Number.POSITIVE_INFINITY, perTurn: 100 }

/** One connection: what comes in and goes out. It outlives the listeners that serve it, one at a time. */
export class Channel implements Accepted, ServedConnection {
  readonly state: ConnectionState
  readonly isPipe: boolean
  readonly #connection: Connection
  readonly #events: ChannelEvents
  readonly #world: World
  readonly #backlog: Backlog
  readonly #output: ConnectionOutput
  #serving: Serving | null = null
  /** The half of the server that serves it. */
  #port: ConnectionPort | null = null
  #isTaking = false
  #gone = false
  /** Set by the first reason for the end: what is sent on the way may bring about another. */
  #isEnding = false
  #stopTimer: (() => void) | null = null
  #onTaken: (() => void) | null = null

  constructor(
    connection: Connection,
    events: ChannelEvents,
    { state, isPipe }: Pick<ServedConnection, 'state' | 'isPipe'>,
    world: World,
  ) {
    this.#world = world
    this.#connection = connection
    this.#events = events
    this.isPipe = isPipe
    this.state = state
    // standard input has no other end than its own: nothing of a chunk is refused, and it starves nobody else
    const limits = isPipe
      ? limitsOfPipe
      : { hard: hardLimit, perTurn: messagesPerTurn(connection.maxMessageBytes) }
    this.#backlog = new Backlog(() => this.#goOn(), limits, world)
    this.#output = new ConnectionOutput(connection, (error) => this.#broken(error))
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  get isStalled(): boolean {
    return this.#connection.isStalled
  }

  get unanswered(): number {
    return this.#port?.unanswered ?? 0
  }

  /** Ends the connection unless it has begun by then. */
  expectBeginning(clock: Clock, timeout: number): void {
    const timer = clock.setTimeout(() => this.end('no_session'), timeout)
    this.#stopTimer = () => clock.clearTimeout(timer)
  }

  begun(): void {
    this.#stopTimer?.()
  }

  serve(serving: Serving | null): void {
    const before = this.#port
    this.#serving = this.#port = null
    before?.interrupt(restarting)
    before?.close()
    this.#serving = serving
    serving?.run(() => {
      if (this.#gone) return this.#endSession()
      this.#port = serving.server.connect(this)
      this.#port.subscribe()
      this.#takeAll()
    })
  }

  message(text: string, peer: Peer = this.#connection.peer): boolean {
    if (this.#gone || !this.#backlog.push({ text, peer })) return false
    this.#goOn()
    return true
  }

  /** No more comes: resolves once all that came is taken, and subscriptions have been ended. */
  allTaken(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTaken = resolve
      this.#goOn()
    })
  }

  /** The client reads again: begins what was held back. */
  caughtUp(): void {
    this.#port?.caughtUp()
    this.#flow()
  }

  onProgress(): void {
    this.#events.progress()
    if (this.#backlog.isEmpty && this.#onTaken === null) this.#flow()
    else this.#goOn()
  }

  /** Answers what is in flight with an error: nobody else will. */
  interrupt(why: string): void {
    this.#port?.interrupt(why)
  }

  write(answer: Message): void {
    this.#output.write(answer)
  }

  send(message: Message): boolean {
    return this.#output.sendIfRead(message)
  }

  nextTurn(fn: () => void): void {
    const port = this.#port
    outside(() =>
      this.#world.setImmediate(() => {
        if (!this.#gone && this.#port === port) this.#serving?.run(fn)
      }),
    )
  }

  sessionEnded(): void {
    this.end('session_ended')
  }

  report(error: unknown): void {
    this.#serving?.report(error)
  }

  closed(): void {
    if (this.#gone) return
    this.#gone = true
    this.#output.isOver = true
    this.#stopTimer?.()
    this.#backlog.clear()
    this.#port?.close()
    this.#events.progress()
    if (!this.isPipe) this.#serving?.run(() => this.#endSession())
    if (this.isPipe || this.state.sessionId === undefined) this.#events.over()
  }

  end(why: ConnectionEnd): void {
    if (this.#gone || this.#isEnding) return
    this.#isEnding = true
    // elsewhere the end itself tells the client: one that was answered first might call again into the end
    if (this.isPipe) this.interrupt(why === 'session_ended' ? 'The session has ended' : restarting)
    try {
      this.#connection.close(why)
    } finally {
      this.closed()
    }
  }

  #goOn(): void {
    if (!this.#isTaking) this.#serving?.run(() => this.#takeAll())
    this.#flow()
  }

  #takeAll(): void {
    this.#isTaking = true
    try {
      while (this.#port?.isReady && !this.#gone && !this.#isEnding) {
        const next = this.#backlog.shift()
        if (next === undefined) break
        this.#port.receive(next.text, next.peer)
      }
    } finally {
      this.#isTaking = false
    }
    this.#flow()
    if (this.#onTaken === null || !this.#port?.isReady || !this.#backlog.isEmpty) return
    this.#serving?.server.endSubscriptions()
    this.#onTaken()
    this.#onTaken = null
  }

  /** Reads on, or not for now. */
  #flow(): void {
    if (this.#backlog.isFull || this.#port?.isFull) this.#output.pause()
    else if (this.#output.isPaused && this.#backlog.isEmpty) this.#output.resume()
  }

  /** The session may have ended already, and if the store does not answer it ends by itself one day. */
  #endSession(): void {
    const { sessionId } = this.state
    if (sessionId === undefined || this.#serving === null) return
    this.state.sessionId = undefined
    this.#serving.server.close(sessionId, this.#connection.peer).catch(() => {})
    this.#events.over()
  }

  /** A transport that throws loses this connection, and no other. */
  #broken(error: unknown): void {
    this.#output.isOver = true
    this.#serving?.report(error)
    this.end('going_away')
  }
}
