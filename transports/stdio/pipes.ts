import type { Readable, Writable } from 'node:stream'
import { encode } from '../../protocol/wire/codec.js'
import { errorCodes } from '../../protocol/wire/errors.js'
import { answerInvalid, buildError } from '../../protocol/wire/jsonrpc.js'
import { createLineDecoder, type LineItem } from '../../protocol/wire/lines.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { TransportError } from '../base/errors.js'
import { takeSkipped } from '../connections/answers.js'
import { type ByteAccount, ByteBudget } from '../connections/byte-budget.js'
import type { Channel } from '../connections/channel.js'
import {
  bindConnections,
  type Connection,
  type ConnectionEnd,
  type Connections,
} from '../connections/connections.js'
import type {
  Binding,
  ConnectionState,
  LinkScope,
  ListenScope,
  Peer,
  ServerPort,
} from '../contract/contract.js'
import { bytesOf } from '../contract/message-sizes.js'
import type { StdioServeSettings } from './server.js'
import { takeStandardOutput } from './standard-output.js'

/** Bytes that may wait for the client before reading from it pauses and notifications are dropped. */
const maxBufferedBytes = 1024 * 1024
/** Characters of one turn that are written together. */
const maxPending = 16 * 1024 * 1024
/** Milliseconds from the end of the input to the end of the program. */
const exitDelay = 2_000

/** The one client of standard input. */
const peer: Peer = Object.freeze({
  transport: 'stdio',
  headers: Object.freeze({}),
  remoteAddress: undefined,
  trusted: true,
})

/**
 * Takes the two pipes, and gives them back with the scope; the session of `before` goes on. Rejects with
 * TransportError LISTEN_FAILED when the input has ended.
 */
export async function bindStdioPipes(
  settings: StdioServeSettings,
  scope: LinkScope,
  before?: Binding,
): Promise<StdioPipes> {
  const { input } = settings
  if (input.readableEnded || input.destroyed)
    throw new TransportError('LISTEN_FAILED', 'cannot listen on standard input: it has ended already')
  return new StdioPipes(settings, scope, before)
}

/** Standard input and output, one message a line: the one connection of its server, which it outlives. */
class StdioPipes implements Binding, Connection {
  readonly url = undefined
  readonly port = undefined
  readonly peer = peer
  readonly maxMessageBytes: number
  readonly room = { add: (bytes: number) => this.#bytes.set(this.#waiting + bytes) }
  readonly #settings: StdioServeSettings
  readonly #clock: Clock
  readonly #report: (error: unknown) => void
  readonly #decoder
  readonly #output: { write(text: string | Buffer): boolean; restore(): void }
  readonly #bytes: ByteAccount
  readonly #connections: Connections
  readonly #channel: Channel
  /** Lines of this turn, which are written together. */
  #pending = ''
  /** Whether too many messages wait to be taken. */
  #isPaused = false
  #hasSkipped = false
  #hasEnded = false
  #isClosed = false
  /** Ends the server; there is none before the first listener. */
  #finish: (() => void) | undefined
  #isFinished = false

  constructor(settings: StdioServeSettings, scope: LinkScope, before: Binding | undefined) {
    const { input, output, limits } = settings
    const { messageBytes } = limits
    this.maxMessageBytes = messageBytes
    this.#settings = settings
    this.#clock = scope.clock
    this.#report = scope.bind((error: unknown) => {
      throw error
    })
    const budget = new ByteBudget({ ...limits, pendingBytesPerClient: undefined })
    this.#bytes = budget.account(peer)
    this.#decoder = createLineDecoder({ maxMessageBytes: messageBytes })
    this.#output = output === process.stdout ? takeStandardOutput() : plainOutput(output)
    scope.own(() => this.#release())
    this.#connections = bindConnections(scope, { describe: () => budget.describe() })
    this.#channel = this.#connections.acceptPipe(
      this,
      before instanceof StdioPipes ? before.state : undefined,
    )
    const listen = (stream: Readable | Writable, event: string, fn: (...args: never[]) => unknown): void => {
      const listener = scope.bind(fn) as (...args: unknown[]) => void
      stream.on(event, listener)
      scope.own(() => void stream.off(event, listener))
    }
    for (const event of ['end', 'close', 'error']) listen(input, event, () => this.#end())
    // without a reader there is nobody to serve, whatever comes in
    listen(output, 'close', () => this.#end())
    listen(output, 'drain', () => this.#drained())
    // stays after the end: a last line that cannot be written any more must not end the program
    output.on('error', () => this.#end())
    listen(input, 'data', (chunk: Uint8Array) => this.#arrive(this.#decoder.push(chunk)))
  }

  /** What is settled, for pipes that come after these. */
  get state(): ConnectionState {
    return this.#channel.state
  }

  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef> {
    this.#finish = () => scope.finished()
    if (this.#isFinished) this.#finish()
    return this.#connections.start(ctx, server, scope)
  }

  /** Whether notifications are dropped and nothing is read for now, because the client does not read. */
  get isStalled(): boolean {
    return this.#waiting > maxBufferedBytes
  }

  /** Writes a line at the end of this turn, together with the others of the turn. */
  send(text: string): void {
    if (!this.#isWritable) return
    if (this.#pending === '') process.nextTick(() => this.#flush())
    this.#pending += `${text}\n`
    if (this.#isClosed || this.#pending.length > maxPending) this.#flush()
  }

  pause(): void {
    this.#isPaused = true
    this.#settings.input.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#flow()
  }

  /** There is one session: when that has ended for good, there is nothing left to serve. */
  close(why: ConnectionEnd): void {
    if (why === 'session_ended') this.#finished()
  }

  #arrive(items: readonly LineItem[]): void {
    const send = (text: string): void => this.send(text)
    for (const item of items) {
      if (item.type === 'line') this.#channel.message(item.text)
      else if (item.type === 'invalid') send(encode(answerInvalid(item.error) ?? unreadable))
      else {
        // whoever runs the server is told of the first
        if (!this.#hasSkipped) this.#report(item.error)
        this.#hasSkipped = true
        takeSkipped(item.error, (text) => this.#channel.message(text), send)
      }
    }
  }

  /** Takes what has come, gives requests in flight their time, and ends the server. */
  async #end(): Promise<void> {
    if (this.#hasEnded || this.#isClosed) return
    this.#hasEnded = true
    this.#arrive(this.#decoder.end())
    await this.#channel.allTaken()
    await this.#connections.whenAnswered(this.#settings.endTimeout, this.#clock)
    this.#channel.interrupt('The server is being stopped')
    this.#finished()
  }

  #finished(): void {
    this.#isFinished = true
    this.#finish?.()
  }

  #release(): void {
    this.#flush()
    this.#isClosed = true
    this.#settings.input.pause()
    this.#output.restore()
    if (this.#hasEnded && this.#settings.exit) setTimeout(() => process.exit(), exitDelay).unref()
  }

  /** What waits for the client, as far as that is known: characters of this turn, and bytes. */
  get #waiting(): number {
    return this.#settings.output.writableLength + this.#pending.length
  }

  get #isWritable(): boolean {
    const { output } = this.#settings
    return !output.destroyed && !output.writableEnded
  }

  #flush(): void {
    const text = this.#pending
    this.#pending = ''
    if (text === '' || !this.#isWritable) return
    // no drain follows a write that was taken
    if (this.#output.write(bytesOf(text))) return this.#drained()
    this.#bytes.set(this.#waiting)
    if (this.isStalled) this.#settings.input.pause()
  }

  #drained(): void {
    this.#bytes.set(this.#waiting)
    this.#channel.caughtUp()
    this.#flow()
  }

  #flow(): void {
    if (!this.#isPaused && !this.isStalled && !this.#isClosed) this.#settings.input.resume()
  }
}

const unreadable = buildError(undefined, {
  code: errorCodes.parseError,
  message: 'a line that cannot be read',
})

function plainOutput(output: Writable) {
  return { write: (text: string | Buffer) => output.write(text), restore: () => {} }
}
