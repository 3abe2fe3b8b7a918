import type { IncomingMessage, ServerResponse } from 'node:http'
import { buildError, type Message, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import {
  adopt,
  type Afterlife,
  bindTo,
  type Owner,
  OwnerToken,
  type StrayKind,
} from '../../../runtime/faults/containment.js'
import type { World } from '../../../runtime/time/world.js'
import { emit } from '../../../runtime/faults/events.js'
import type { ByteAccount, ByteBudget } from '../../connections/byte-budget.js'
import type { StreamEvent } from '../../contract/events.js'
import type { StandingToken } from '../../contract/standing.js'
import type { EventLog } from '../streams/event-log.js'
import type { ExpectedAnswer, MessageSink, Outcome, Peer, Response } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import { textOf } from '../../base/encoded.js'
import type { EventStream, LoggedEvent, LoggedStream, StreamReader } from '../streams/event-log.js'
import { boundBody, expectReader, whenClosed, writeAnswer } from '../listen/response.js'
import { HttpPeer } from '../listen/peer.js'
import type { DueAnswer, AnswerQueue } from './answer-queue.js'
import { type HttpRefusal, internalError, unavailable } from '../listen/refusal.js'
import { bytesOf, textWithin } from '../../contract/message-sizes.js'
import { encodeMark, encodeMessage, StreamWriter } from './stream-writer.js'

interface ExchangeHome {
  readonly afterlife: Afterlife
  /** The number of the tree, for events. */
  readonly id: number
}

export interface ExchangeLimits {
  readonly maxBufferedBytes: number
  readonly maxMessageBytes: number
  readonly budget: ByteBudget
  readonly answers: AnswerQueue
  /** Of the tree: what it is asked for outlives the listener. */
  readonly world: World
  noteStream(on: { readonly isListening: boolean }, type: StreamEvent['type']): void
  /** True once the server is being stopped: connections are not kept. */
  closing: boolean
  /** Proxies in front, whose `X-Forwarded-For` is believed. Default 0. */
  readonly proxies?: number
  /** Where event streams are kept for clients that come back; without it they cannot. */
  readonly log?: EventLog | undefined
  /** Milliseconds in which something of a finished answer has to be read. Default 15,000. */
  readonly readTimeout?: number
  /** Milliseconds after which a client is to come back. */
  readonly retryInterval?: number | undefined
}

/** Heartbeats until a request becomes a stream, or is released. */
export interface Beats {
  readonly opensAfter: number
  readonly releasesAfter: number
}

type Headers = Readonly<Record<string, string>>

const none: Headers = Object.freeze({})
const noContent = Object.freeze({ 'content-length': '0' })
/** Of an event stream that no proxy is to hold back. */
const streamHeaders = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

/**
 * One HTTP request and its response. It owns all code that runs for it: an error there costs this response
 * and nothing else. A message that comes before the answer turns it into an event stream.
 */
export class HttpExchange implements Owner, MessageSink, StreamReader, DueAnswer {
  readonly request: IncomingMessage
  readonly token: OwnerToken
  readonly peer: Peer
  readonly bytes: ByteAccount
  /** The JSON-RPC request that waits for its answer here. */
  requestId: RequestId | undefined
  /** True for a GET stream, which never has an answer and is over when the client goes. */
  isListening = false
  /** Begins to watch the token that let it in; undefined where none did. */
  watchToken: (() => StandingToken) | undefined
  /** Called once with what has become of the message, or with the end of a GET stream. */
  onOutcome: ((outcome: Outcome) => void) | null = null
  /** Takes a GET stream off its session, or tells a handler that its client has gone. */
  #onGone: (() => void) | undefined
  /** The session, once it is known: from then on an event stream can be resumed. */
  sessionId: string | undefined
  readonly #response: ServerResponse
  readonly #home: ExchangeHome
  readonly #limits: ExchangeLimits
  /** The stream that is read here. */
  #stream: EventStream | null = null
  /** The stream that the request is answered on. */
  #own: LoggedStream | null = null
  /** Whether a stream begins with an event without data; older clients would take it for a message. */
  #primes = false
  /** The last event that the client has received (Last-Event-ID). */
  #after: number | null = null
  /** Writes the event stream, once there is one. */
  #madeWriter: StreamWriter | undefined
  #beats = 0
  #gathered: Gathered | undefined
  #streaming = false
  #lasts = false
  #mayStream = false
  /** How often it was kept alive before it was a stream. */
  #silences = 0
  #watch: StandingToken | undefined
  #over = false
  #onOver: (() => void) | null = null

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    home: ExchangeHome,
    limits: ExchangeLimits,
  ) {
    this.request = request
    this.#response = response
    this.#home = home
    this.#limits = limits
    this.token = new OwnerToken(`http ${request.method}`, this, home)
    this.peer = new HttpPeer(request, limits.proxies)
    this.bytes = limits.budget.account(this.peer)
    adopt(this.token, request)
    adopt(this.token, response)
  }

  get isOver(): boolean {
    return this.#over
  }

  expects({ id, sessionId, lasts, mayStream }: ExpectedAnswer): void {
    this.requestId = id
    this.sessionId = sessionId
    this.#mayStream = mayStream
    // as a stream of a session does
    this.#lasts = lasts
    if (lasts) this.endConnection()
  }

  onGone(fn: (() => void) | undefined): void {
    this.#onGone = fn
    if (this.#onOver === null) fn?.()
  }

  /** Calls `fn` once, when the response is with the client or the client has gone. */
  whenOver(fn: () => void): void {
    this.#onOver = fn
    const bind = (gone: () => void): (() => void) => bindTo(this.token, gone)
    whenClosed(this.request, this.#response, bind, () => this.#close())
  }

  addHeaders(headers: Headers): void {
    if (this.#over || this.#streaming) return
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
  }

  /** Answers as JSON, or as the last event of the stream, which keeps it for a client that is gone. */
  answer(answer: Response, headers: Headers = none): void {
    if (this.#own === null && this.#over) return
    // nobody would give back the bytes of a client that has gone; the log has bounds of its own
    const text = this.#textOf(answer)
    if (this.#own !== null) return this.#own.finish(text)
    if (!this.#streaming) return this.#json(200, text, headers)
    this.#over = true
    this.#response.end(bytesOf(encodeMessage(text)))
  }

  /** The end comes after it, as answers of a caller are made in order. */
  gather(answer: Response): void {
    if (this.#over) return
    this.#gathered ??= new Gathered(this.bytes, this.#limits.maxMessageBytes)
    // what there is no room for is not kept until then
    const text = this.#gathered.take(answer)
    this.#limits.answers.make(this, () => this.#gathered?.add(text))
  }

  /** Answers with what was gathered. */
  answerAll(): void {
    const all = this.#gathered?.all
    this.#gathered = undefined
    if (this.#over || all === undefined) return this.finish(202)
    if (!this.#streaming) return this.#json(200, arrayOf(all), none)
    for (const one of all) this.#answerOne(String(one))
    this.finish(200)
  }

  finish(status: number, headers: Headers = status === 204 ? none : noContent): void {
    this.#own?.finish()
    if (this.#over) return
    this.#over = true
    if (this.#streaming) return void this.#response.end()
    this.#response.writeHead(status, this.#headers(headers)).end()
    if (status >= 400) boundBody(this.request, this.#response, this.#limits.world)
  }

  refuse({ status, body, headers }: HttpRefusal): void {
    if (this.#streaming && this.requestId !== undefined && 'error' in body)
      return this.answer(buildError(this.requestId, body.error))
    if (this.#over) return
    if (!this.#streaming) return this.#json(status, textOf(body), headers)
    this.#cut()
  }

  /** Begins an event stream; one that a client may come back to begins with an id (SEP-1699). */
  openStream(): void {
    if (this.#over || this.#streaming) return
    const { log } = this.#limits
    if (log !== undefined && this.sessionId !== undefined && this.#stream === null) {
      this.#own = log.open(this.sessionId, 'call', this.requestId)
      this.#stream = this.#own
      this.#own.connect(this)
    }
    this.#streaming = true
    // so that a server which retires need not wait until it is used no more
    if (this.request.method === 'GET') this.endConnection()
    this.#limits.noteStream(this, this.#after === null ? 'opened' : 'resumed')
    const missed = this.#stream?.after(this.#after ?? 0) ?? []
    this.#writer.begin(this.#headers(streamHeaders), this.#mark(missed.length > 0), missed)
  }

  /**
   * Becomes the connection of a stream, after the event with this number; one that is open says so to its
   * client. Throws BYTES_LIMIT.
   */
  follow(stream: EventStream, after: number | null): void {
    let missed = 0
    if (after !== null) for (const { data } of stream.after(after)) missed += data.length
    const refused = this.#writer.takeRoom(missed)
    if (refused !== undefined) throw refused
    this.sessionId = stream.sessionId
    this.#stream = stream
    this.#after = after
    stream.connect(this)
    const mark = this.#streaming ? this.#mark(false) : undefined
    if (mark !== undefined) this.#writer.put(mark)
  }

  negotiated(revision: string): void {
    this.#primes = revision >= '2025-11-25'
  }

  send(message: Message): boolean {
    const text = textWithin(message, this.#limits.maxMessageBytes)
    if (text === undefined) return false
    if (this.#own === null) {
      if (this.#over || this.#response.destroyed) return false
      this.openStream()
    }
    if (this.#own !== null) return this.#own.send(text)
    if (!this.ready(text)) return false
    this.#writer.put(encodeMessage(text))
    return true
  }

  /** Ends the connection of a stream that the client can come back to. */
  release(): boolean {
    if (this.#over || this.#limits.closing || !this.#primes || this.#limits.log === undefined) return false
    this.openStream()
    if (this.#stream?.canResume !== true) return false
    this.#limits.noteStream(this, 'released')
    this.#stream.leave(this)
    this.#over = true
    this.#response.end()
    return true
  }

  ready(text: string): boolean {
    if (!this.#over && !this.#response.destroyed) {
      const hasRoom = !this.#writer.isSlow && this.#writer.takeRoom(text.length) === undefined
      return hasRoom || this.#stalled()
    }
    this.#stream?.leave(this)
    return false
  }

  write(event: LoggedEvent): void {
    this.openStream()
    if (!this.#over) this.#writer.write(event)
  }

  conclude(event?: LoggedEvent): void {
    this.openStream()
    if (this.#over) return
    // what this one began had its answer counted when it was made; anybody else can come again for it
    const isCounted = event === undefined || this.requestId !== undefined
    if (!isCounted && this.#writer.takeRoom(event.data.length) !== undefined) return this.#cut()
    this.#over = true
    this.#writer.end(event)
  }

  end(outcome: Outcome): void {
    this.#limits.answers.make(this, () => this.#settle(outcome))
  }

  #settle(outcome: Outcome): void {
    if (this.onOutcome === null) this.finish(200)
    else this.onOutcome(outcome)
  }

  /** Nothing more is to come on its connection; a head that is written already has not said so. */
  endConnection(): void {
    this.#response.shouldKeepAlive = false
  }

  /** Its connection ends with the answer, and a stream of a session now: its client comes back elsewhere. */
  retire(): void {
    this.endConnection()
    if (this.isListening && this.#streaming) this.finish(200)
  }

  /** At every beat: opens a stream for a slow request, ends an old one to be resumed (SEP-1699). */
  beat({ opensAfter, releasesAfter }: Beats): void {
    this.#beats += 1
    if (this.sessionId === undefined) return
    if (this.#beats >= opensAfter && this.requestId !== undefined) this.openStream()
    if (this.#beats >= releasesAfter && this.#streaming) this.release()
  }

  /**
   * Keeps a quiet stream alive, and gives up on a reader who fetches nothing of a finished answer. A request
   * without a session becomes a stream only now, as its status may matter: else nobody would notice that the
   * machine of its client is gone, and a proxy would cut it.
   */
  keepAlive(): void {
    if (this.#over) {
      if (this.#response.writableLength > 0)
        expectReader(this.#response, this.#limits.readTimeout, () => this.#cut())
    } else if (this.#streaming) {
      this.#writer.keepAlive()
      if (this.#writer.isSlow) this.#stalled()
    } else if (this.#mayStream) {
      if (this.#silences > 0) this.openStream()
      this.#silences += 1
    }
  }

  /** Ends a stream of a session, and a subscription, when the token that let it in is good no more. */
  checkToken(): void {
    if (this.#over || !(this.isListening || this.#lasts)) return
    this.#watch ??= this.watchToken?.()
    this.#watch?.beat(bindTo(this.token, () => this.finish(200)))
  }

  /** The listener ends before this exchange is answered: tells the client, if that is still possible. */
  interrupt(why: string): void {
    if (this.#over) return
    if (this.#streaming && this.requestId === undefined) this.finish(200)
    else this.refuse(unavailable(this.requestId, why))
  }

  fail(error: unknown, kind: StrayKind): void {
    const outcome = this.#over ? 'reported' : 'failed'
    emit('stray', () => ({ tree: this.#home.id, error, kind, owner: this.token.name, outcome }))
    if (this.#over) return
    this.refuse(internalError(this.requestId))
  }

  /** The reader does not read: an answer is still due, a GET stream is closed, to be opened again. */
  #stalled(): false {
    if (this.isListening) this.#cut()
    return false
  }

  get #writer(): StreamWriter {
    if (this.#madeWriter === undefined) {
      const { budget, maxBufferedBytes } = this.#limits
      this.#madeWriter = new StreamWriter(this.#response, maxBufferedBytes, { budget, peer: this.peer })
    }
    return this.#madeWriter
  }

  /** The event that a stream begins with, so that its client can come back; none where events say as much. */
  #mark(hasMissed: boolean): string | undefined {
    if (!this.#primes || this.#stream === null || (this.#after !== null && hasMissed)) return undefined
    return encodeMark(this.#stream.mark(this.#after === null ? 0 : undefined), this.#limits.retryInterval)
  }

  #textOf(answer: Response): string {
    return textWithin(answer, this.#limits.maxMessageBytes, this.#over ? undefined : this.bytes) ?? ''
  }

  /** One answer of several on an event stream, which is due however slow the reader is. */
  #answerOne(text: string): void {
    if (this.#own === null) this.#writer.put(encodeMessage(text))
    else this.#own.add(text)
  }

  #json(status: number, text: string | Buffer, headers: Headers): void {
    this.#over = true
    const body = typeof text === 'string' ? bytesOf(text) : text
    const length = String(Buffer.byteLength(body))
    const all = { 'content-type': 'application/json', 'content-length': length, ...headers }
    this.#limits.answers.add(this.token, () => {
      writeAnswer(
        this.request,
        this.#response,
        { status, headers: this.#headers(all), text: body },
        this.#limits.world,
      )
    })
  }

  #headers(headers: Headers): Headers {
    return this.#limits.closing ? { ...headers, connection: 'close' } : headers
  }

  #cut(): void {
    this.#over = true
    this.#stream?.leave(this)
    this.#response.destroy()
  }

  #close(): void {
    const onOver = this.#onOver
    if (onOver === null) return
    this.#over = true
    this.#onOver = null
    this.bytes.release()
    this.#gathered = undefined
    this.#madeWriter?.close()
    if (this.#streaming) this.#limits.noteStream(this, 'closed')
    this.#stream?.leave(this)
    this.#onGone?.()
    onOver()
    this.token.end(false)
  }
}

/** The answers to a batch that wait for the others: together they are one message, and are counted until then. */
class Gathered {
  /** Long ones as bytes: to make those of all at once would take as long as all of them. */
  readonly all: (string | Buffer)[] = []
  readonly #bytes: ByteAccount
  readonly #max: number
  #size = 0

  constructor(bytes: ByteAccount, max: number) {
    this.#bytes = bytes
    this.#max = max
  }

  /** Its text, or that of an error where there is no room for it. */
  take(answer: Response): string {
    const text = textWithin(answer, this.#max, { add: (size) => this.#room(size) }) ?? ''
    this.#size += text.length
    return text
  }

  add(text: string): void {
    this.all.push(bytesOf(text))
  }

  #room(size: number): Error | undefined {
    if (this.#size + size <= this.#max) return this.#bytes.add(size)
    const problem = `the answers to one batch may have ${this.#max} bytes together (limits.messageBytes): send fewer calls in one`
    return new TransportError('BYTES_LIMIT', problem, { retryable: true })
  }
}

/** The array of these, in JSON. */
function arrayOf(all: readonly (string | Buffer)[]): string | Buffer {
  if (all.every((one) => typeof one === 'string')) return `[${all.join(',')}]`
  const parts = all.flatMap((one, at) => [
    Buffer.from(at === 0 ? '[' : ','),
    typeof one === 'string' ? Buffer.from(one) : one,
  ])
  return Buffer.concat([...parts, Buffer.from(']')])
}
