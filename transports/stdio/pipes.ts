import type { Readable, Writable } from 'node:stream'
import type { Pinned } from '../../protocol/stateless/era.js'
import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError, type Message, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { createLineDecoder, type LineItem } from '../../protocol/wire/lines.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { type ByteAccount, ByteBudget } from '../connections/byte-budget.js'
import type { Binding, LinkScope, ListenScope, ServerPort } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { bytesOf, textWithin } from '../contract/message-sizes.js'
import { PipeRequests } from './pipe-requests.js'
import { stdioPeer } from './peer.js'
import { stdioServer } from './server-actor.js'
import type { StdioSettings } from './server.js'

/** What arrives: a line, a broken one, or the end of the input. */
export type PipeItem = LineItem | { readonly type: 'end' }

/** Bytes that may wait for the client before reading from it pauses and notifications are dropped. */
const maxBufferedBytes = 1024 * 1024
/** Characters of one turn that are written together. */
const maxPending = 16 * 1024 * 1024
/** Lines, and characters of them, that may wait before reading pauses. */
const maxBacklog = 1_000
const maxBacklogSize = 4 * 1024 * 1024
const exitDelay = 2_000

/**
 * Takes the two pipes, and gives them back with the scope. Rejects with TransportError LISTEN_FAILED when the
 * input has ended.
 */
export async function bindStdioPipes(settings: StdioSettings, scope: LinkScope): Promise<StdioPipes> {
  const { input } = settings
  if (input.readableEnded || input.destroyed) {
    throw new TransportError('LISTEN_FAILED', 'cannot listen on standard input: it has ended already')
  }
  const pipes = new StdioPipes(settings, scope)
  scope.own(() => pipes.close())
  return pipes
}

/**
 * Standard input and output, which outlive the listeners that serve them, one at a time: the unfinished line,
 * the session, and which requests still wait for their answer. Reading pauses while nobody listens.
 */
export class StdioPipes implements Binding {
  readonly url = undefined
  readonly port = undefined
  readonly settings: StdioSettings
  /** The one session, once it is open. */
  sessionId: string | undefined
  /** Whether its revision has batches. */
  batches = false
  /** The era that the first request has settled, if any. */
  pinned: Pinned = 'none'
  /** Messages of the client that were too long, and skipped. */
  skipped = 0
  /** Requests of the client that are not answered yet. */
  readonly unanswered = new PipeRequests(() => !this.isStalled)
  readonly #decoder
  readonly #output: { write(text: string | Buffer): boolean; restore(): void }
  readonly #budget: ByteBudget
  readonly #bytes: ByteAccount
  /** Where a long answer finds room, or none. */
  readonly #room = { add: (bytes: number) => this.#bytes.set(this.#waiting + bytes) }
  #onNews: (() => void) | null = null
  readonly #backlog: PipeItem[] = []
  /** Characters of it. */
  #backlogSize = 0
  #onAnswered: (() => void) | null = null
  #ended = false
  #closed = false
  #undo: (() => void)[] = []
  /** Lines of this turn, which are written together. */
  #pending = ''

  constructor(settings: StdioSettings, scope: LinkScope) {
    const { input, output, maxMessageBytes } = settings
    this.#budget = new ByteBudget({ ...settings, maxPendingBytesPerClient: undefined })
    this.#bytes = this.#budget.account(stdioPeer)
    this.settings = settings
    this.#decoder = createLineDecoder({ maxMessageBytes })
    this.#output = output === process.stdout ? guardStandardOutput() : plainOutput(output)
    input.pause()
    this.#listen(
      input,
      'data',
      scope.bind((chunk: Uint8Array) => this.#arrive(this.#decoder.push(chunk))),
    )
    for (const event of ['end', 'close', 'error'])
      this.#listen(
        input,
        event,
        scope.bind(() => this.#end()),
      )
    // without a reader there is nobody to serve, whatever comes in
    this.#listen(
      output,
      'close',
      scope.bind(() => this.#end()),
    )
    this.#listen(
      output,
      'drain',
      scope.bind(() => {
        this.#count()
        this.unanswered.beginHeld()
        this.#flow()
      }),
    )
    // stays after the end: a last line that cannot be written any more must not end the program
    output.on('error', () => this.#end())
  }

  /** Takes over the session of pipes that are gone. */
  inherit({ sessionId, batches, pinned }: StdioPipes): void {
    this.pinned = pinned
    this.sessionId = sessionId
    this.batches = batches
  }

  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef> {
    return ctx.start(stdioServer, { pipes: this, server, scope }, { name: scope.name })
  }

  /**
   * Tells of everything that arrives from now on, and of what has waited, until the returned function is
   * called. What is told of stays here until it is taken, so that nothing is lost with a listener.
   */
  attach(onNews: () => void): () => void {
    this.#onNews = onNews
    if (this.#backlog.length > 0) onNews()
    this.#flow()
    return () => {
      if (this.#onNews !== onNews) return
      this.#onNews = null
      this.settings.input.pause()
    }
  }

  /** The next thing that has arrived, if any. */
  next(): PipeItem | undefined {
    const item = this.#backlog.shift()
    this.#backlogSize -= sizeOf(item)
    if (this.#backlog.length === 0) this.#flow()
    return item
  }

  /** Whether notifications are dropped for now, because the client does not read. */
  get isStalled(): boolean {
    return this.#waiting > maxBufferedBytes
  }

  /** For people who look: what waits. */
  describe(): string {
    return `${this.unanswered.size} unanswered, ${this.#budget.describe()}`
  }

  /**
   * Writes a line at the end of this turn, together with the others of the turn. An answer that finds no room
   * is an error in a few words; false for anything else that is not written.
   */
  write(message: Message): boolean {
    if (!this.#isWritable) return false
    const text = textWithin(message, this.settings.maxMessageBytes, this.#room)
    if (text === undefined) return false
    if (this.#pending === '') process.nextTick(() => this.#flush())
    this.#pending += `${text}\n`
    if (this.#closed || this.#pending.length > maxPending) this.#flush()
    return true
  }

  /**
   * Answers a request that still waits: once at most, and not at all when there is nothing to say because it
   * was cancelled.
   */
  answer(id: RequestId, response: Message | undefined): void {
    if (this.unanswered.leave(id)) this.#answered(response)
  }

  /**
   * A request of `size` characters is to be answered: `begin` is called now, or once the server takes it,
   * which takes `max` at once.
   */
  take(id: RequestId, size: number, max: number | undefined, begin: () => void): void {
    this.unanswered.enter(id, size, max, begin)
    if (this.unanswered.isFull) this.settings.input.pause()
  }

  /** Answers every request that still waits with an error: nobody will answer it any more. */
  failUnanswered(why: string): void {
    const error = { code: errorCodes.internalError, message: why, data: { retryable: true } }
    for (const id of this.unanswered.clear()) this.#answered(buildError(id, error))
  }

  /** Resolves when no request waits any more, or after `timeout` ms. */
  whenAnswered(timeout: number, clock: Clock): Promise<void> {
    if (this.unanswered.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, timeout)
      this.#onAnswered = () => {
        clock.clearTimeout(timer)
        resolve()
      }
    })
  }

  close(): void {
    this.#flush()
    this.#closed = true
    for (const undo of this.#undo) undo()
    this.settings.input.pause()
    this.#output.restore()
    if (this.#ended && this.settings.exit) setTimeout(() => process.exit(), exitDelay).unref()
  }

  #answered(response: Message | undefined): void {
    if (response !== undefined) this.write(response)
    if (this.unanswered.size === 0) this.#onAnswered?.()
    if (this.#backlog.length === 0) this.#flow()
  }

  #listen(stream: Readable | Writable, event: string, listener: (...args: never[]) => void): void {
    const listen = listener as (...args: unknown[]) => void
    stream.on(event, listen)
    this.#undo.push(() => void stream.off(event, listen))
  }

  #arrive(items: readonly PipeItem[]): void {
    if (items.length === 0) return
    this.#backlog.push(...items)
    for (const item of items) this.#backlogSize += sizeOf(item)
    if (this.#backlog.length > maxBacklog || this.#backlogSize > maxBacklogSize) this.settings.input.pause()
    this.#onNews?.()
  }

  #end(): void {
    if (this.#ended || this.#closed) return
    this.#ended = true
    this.#arrive([...this.#decoder.end(), { type: 'end' }])
  }

  /** What waits for the client, as far as that is known: characters of this turn, and bytes. */
  get #waiting(): number {
    return this.settings.output.writableLength + this.#pending.length
  }

  #count(): void {
    this.#bytes.set(this.#waiting)
  }

  get #isWritable(): boolean {
    const { output } = this.settings
    return !output.destroyed && !output.writableEnded
  }

  #flush(): void {
    const text = this.#pending
    this.#pending = ''
    if (text === '' || !this.#isWritable) return
    const isTaken = this.#output.write(bytesOf(text))
    this.#count()
    if (!isTaken && this.isStalled) this.settings.input.pause()
    if (isTaken) this.unanswered.beginHeld()
    // no drain follows a write that was taken, and the input may have stayed paused for what was pending
    if (isTaken && this.#backlog.length === 0) this.#flow()
  }

  #flow(): void {
    if (this.#onNews !== null && !this.isStalled && !this.unanswered.isFull) this.settings.input.resume()
  }
}

function sizeOf(item: PipeItem | undefined): number {
  return item?.type === 'line' ? item.text.length : 0
}

function plainOutput(output: Writable) {
  return { write: (text: string | Buffer) => output.write(text), restore: () => {} }
}

/**
 * Only the protocol is written to standard output: `console.log` and the like go to standard error meanwhile.
 */
function guardStandardOutput() {
  const { stdout, stderr } = process
  const original = stdout.write
  const redirected = ((...args: Parameters<typeof stderr.write>) =>
    stderr.write(...args)) as typeof stdout.write
  stdout.write = redirected
  return {
    write: (text: string | Buffer) => original.call(stdout, text),
    restore: () => {
      if (stdout.write === redirected) stdout.write = original
    },
  }
}
