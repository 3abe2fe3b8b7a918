import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorCodes } from '../protocol/errors.js'
import { buildError, type Message, type RequestId } from '../protocol/jsonrpc.js'
import { comment, encodeEvent } from '../protocol/sse.js'
import { adopt, type ContainedTree, type Owner, OwnerToken, type StrayKind } from '../runtime/containment.js'
import { emit } from '../runtime/events.js'
import type { Outlet, Peer, Response } from './contract.js'
import { textOf } from './encoded.js'

/** Why a request is answered with a status other than 200: thrown by the routes, written by the exchange. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Response

  constructor(status: number, problem: string | Response, headers: Readonly<Record<string, string>> = {}) {
    super(typeof problem === 'string' ? problem : `status ${status}`)
    this.status = status
    this.headers = headers
    this.body = typeof problem === 'string' ? invalidRequest(problem) : problem
  }
}

/** What all exchanges of a listener share. */
export interface ExchangeHome extends ContainedTree {
  /** The number of the tree, for events. */
  readonly id: number
}

/** What an exchange is told about its surroundings. */
export interface ExchangeLimits {
  readonly maxBufferedBytes: number
  /** True once the server is being stopped: connections are not kept. */
  closing: boolean
}

/**
 * One HTTP request and its response. It is the owner of all code that runs for it: an error that strays from there costs this
 * response and nothing else. It is also where messages go that come before the answer: the first turns it into an event stream.
 */
export class Exchange implements Owner, Outlet {
  readonly request: IncomingMessage
  readonly token: OwnerToken
  readonly peer: Peer
  /** The JSON-RPC request that waits for its answer here. */
  requestId: RequestId | undefined
  /** True for a GET stream, which never has an answer and is over when the client goes. */
  isListening = false
  /** Takes a GET stream off its session; called once it is over. */
  detach: (() => void) | null = null
  readonly #response: ServerResponse
  readonly #home: ExchangeHome
  readonly #limits: ExchangeLimits
  #streaming = false
  #over = false
  #written = false
  /** Bytes of a finished answer that were left at the last look. */
  #left = Number.POSITIVE_INFINITY
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
    this.peer = new HttpPeer(request)
    adopt(this.token, request)
    adopt(this.token, response)
  }

  /** True once nothing can be written any more. */
  get over(): boolean {
    return this.#over
  }

  /** Calls `fn` once, when the response is with the client or the client has gone. */
  whenOver(fn: () => void): void {
    this.#onOver = fn
    this.#response.once('close', () => this.#close())
    if (this.#response.destroyed) this.#close()
  }

  /** Answers the JSON-RPC request: as the last event of the stream, if there is one, or else as a JSON body. */
  answer(answer: Response, headers: Readonly<Record<string, string>> = {}): void {
    if (this.#over) return
    const text = textOf(answer)
    if (!this.#streaming) return this.#json(200, text, headers)
    this.#over = true
    this.#response.end(encodeEvent({ event: 'message', data: text }))
  }

  /** Answers without a body. */
  finish(status: number): void {
    if (this.#over) return
    this.#over = true
    if (this.#streaming) return void this.#response.end()
    this.#response.writeHead(status, this.#headers(status === 204 ? {} : { 'content-length': '0' })).end()
  }

  /** Answers with a status that says why not. */
  refuse({ status, body, headers }: HttpRefusal): void {
    if (this.#over) return
    if (!this.#streaming) return this.#json(status, textOf(body), headers)
    this.#cut()
  }

  /** Begins an event stream, unless it has begun. */
  openStream(): void {
    if (this.#over || this.#streaming) return
    this.#streaming = true
    this.#response.writeHead(200, this.#headers(streamHeaders))
    this.#response.flushHeaders()
  }

  send(message: Message): boolean {
    if (this.#over || this.#response.destroyed) return false
    this.openStream()
    if (this.#response.writableLength > this.#limits.maxBufferedBytes) return this.#stalled()
    this.#written = true
    this.#response.write(encodeEvent({ event: 'message', data: textOf(message) }))
    return true
  }

  /** The session behind a GET stream has ended: so does the stream. */
  end(): void {
    this.finish(200)
  }

  /**
   * Called now and then: keeps a quiet stream from being taken for dead, and gives up on a reader who has fetched
   * nothing of a finished answer since the last time.
   */
  keepAlive(): void {
    const left = this.#response.writableLength
    if (this.#over) {
      if (left >= this.#left) this.#cut()
      this.#left = left
    } else if (this.#streaming) {
      if (left > this.#limits.maxBufferedBytes) this.#stalled()
      else if (!this.#written) this.#response.write(comment())
      this.#written = false
    }
  }

  /** The listener goes before this exchange is answered: says so, as far as that is still possible. */
  interrupt(why: string): void {
    if (this.#over) return
    const error = { code: errorCodes.internalError, message: why, data: { retryable: true } }
    if (this.#streaming) {
      return this.requestId === undefined ? this.finish(200) : this.answer(buildError(this.requestId, error))
    }
    this.refuse(new HttpRefusal(503, buildError(this.requestId, error), { 'retry-after': '1' }))
  }

  fail(error: unknown, kind: StrayKind): void {
    const outcome = this.#over ? 'reported' : 'failed'
    emit('stray', () => ({ tree: this.#home.id, error, kind, owner: this.token.name, outcome }))
    if (this.#over) return
    const body = buildError(this.requestId, { code: errorCodes.internalError, message: 'Internal error' })
    if (this.#streaming && this.requestId !== undefined) return this.answer(body)
    this.refuse(new HttpRefusal(500, body))
  }

  /** A reader that does not read: a request's answer is still due, a GET stream is closed and can be opened again. */
  #stalled(): false {
    if (this.isListening) this.#cut()
    return false
  }

  #json(status: number, text: string, headers: Readonly<Record<string, string>>): void {
    this.#over = true
    const length = String(Buffer.byteLength(text))
    const all = this.#headers({ 'content-type': 'application/json', 'content-length': length, ...headers })
    this.#response.writeHead(status, all).end(text)
  }

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return this.#limits.closing ? { ...headers, connection: 'close' } : headers
  }

  #cut(): void {
    this.#over = true
    this.#response.destroy()
  }

  #close(): void {
    const onOver = this.#onOver
    if (onOver === null) return
    this.#over = true
    this.#onOver = null
    this.detach?.()
    onOver()
    this.token.end(false)
  }
}

const streamHeaders = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

class HttpPeer implements Peer {
  readonly transport = 'http'
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  get headers(): Peer['headers'] {
    return this.#request.headers
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress
  }
}

/** An error without an id: it answers no request that the client waits for. */
function invalidRequest(message: string): Response {
  return buildError(undefined, { code: errorCodes.invalidRequest, message })
}
