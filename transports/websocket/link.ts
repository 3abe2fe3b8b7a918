import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import { isRequest, type Message, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { describeLong, keptOfLong } from '../../protocol/wire/long-message.js'
import { lazy } from '../../runtime/faults/load.js'
import { lastingWorld } from '../../runtime/process/context.js'
import {
  asAuthError,
  authErrorOf,
  type AuthRefusal,
  type AuthRequest,
  isRefusal,
  wantsAuthorization,
  wantsNonce,
} from '../http/client/auth.js'
import type { Link, LinkEnd, LinkEvents, LinkScope } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { secretsSent, withoutSecrets } from '../base/secrets.js'
import { connectError, isPassing, judge, shownUrl } from '../http/client/errors.js'
import { notSent, sendable, tellSkipped } from '../contract/message-sizes.js'
import { nodeMs } from '../base/node-ms.js'
import type { WebSocketSettings } from './client.js'
import { socketLimits } from './connection.js'

const loadWs = /* @__PURE__ */ lazy('ws', () => import('ws'))
/** The code of RFC 6455 for a message that is too long for the other side. */
const tooBig = 1009
/** Milliseconds for a server to take leave. */
const closeTime = 2_000
/** A message of up to so many times the limit is read, to say which call it was of. */
const bufferedMessages = 4

/** One socket to a server, from its first connection to its end. */
export class WebSocketLink implements Link {
  readonly #settings: WebSocketSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  #socket: WebSocket | undefined
  /** The request that was longest of those sent. */
  #longest: { readonly id: RequestId | undefined; readonly length: number } = { id: undefined, length: 0 }
  /** Whether other credentials were tried that were here already. */
  #hasTaken = false
  /** Refusals that were answered with another try. */
  readonly #tried = new Set<'nonce' | 'credentials'>()
  #alive = true
  #opened = false
  #over = false
  /** Why it ends, where that is known before the socket is closed. */
  #end: LinkEnd | undefined

  constructor(settings: WebSocketSettings, events: LinkEvents, scope: LinkScope) {
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    scope.own(() => this.#destroy())
    this.#try()
  }

  send(text: string, message: Message): void {
    const socket = this.#socket
    if (this.#over || socket === undefined) return
    const { messageBytes, queuedBytes } = this.#settings.limits
    const frame = sendable(text, message, messageBytes, this.#events)
    if (frame === undefined) return
    if (socket.readyState === socket.OPEN && socket.bufferedAmount <= queuedBytes) {
      if (isRequest(message) && frame.length >= this.#longest.length)
        this.#longest = { id: message.id, length: frame.length }
      socket.send(frame, () => {}) // a failure is told by the close that follows it
      return
    }
    const error =
      socket.readyState === socket.OPEN
        ? new TransportError('SEND_FAILED', 'too much waits to be sent already', { retryable: true })
        : new TransportError('NOT_OPEN', 'the socket is closing', { retryable: true })
    notSent(message, error, this.#events)
  }

  get queuedBytes(): number {
    return this.#socket?.bufferedAmount ?? 0
  }

  close(): void {
    if (this.#over) return
    this.#end ??= {}
    const socket = this.#socket
    if (socket === undefined) return this.#closed({})
    socket.close(1000)
    // one that floods, or does not read, answers behind all that
    this.#scope.clock.setTimeout(() => socket.terminate(), closeTime)
  }

  /** Never rejects: what goes wrong is told. */
  #try(refusal?: AuthRefusal): void {
    this.#connect(refusal).catch((cause: unknown) => this.#closed(endOf(this.#settings.url, cause)))
  }

  async #connect(refusal: AuthRefusal | undefined): Promise<void> {
    const { url, auth, headers, connectTimeout, limits, tls } = this.#settings
    const { WebSocket: Socket } = await loadWs()
    if (refusal !== undefined) {
      const how = await asAuthError(() => auth?.refused?.(refusal), refusal.status)
      // other credentials that were here already: they may have ended together
      if (how === 'taken' && !this.#hasTaken) {
        this.#hasTaken = true
        this.#tried.delete('credentials')
      }
    }
    const own = await asAuthError(() => auth?.authorize(this.#asked) ?? {})
    if (this.#over) return
    const socket = new Socket(url, ['mcp'], {
      headers: { ...headers, ...own },
      handshakeTimeout: nodeMs(connectTimeout),
      followRedirects: false,
      ...tls,
      // one that is read to its end, though it is too long, costs its call and no other
      ...socketLimits(bufferedMessages * limits.messageBytes),
    })
    this.#socket = socket
    socket.on('error', (error) => {
      if (this.#socket === socket) this.#failed(error)
    })
    socket.on('upgrade', (response) => {
      this.#end ??= this.#tell(response)
    })
    socket.on('unexpected-response', (request, response) => {
      const { 'www-authenticate': challenge } = response.headers
      if (challenge !== undefined)
        response.headers['www-authenticate'] = withoutSecrets(challenge, secretsSent({ ...headers, ...own }))
      const end = this.#tell(response)
      if (end !== undefined) this.#closed(end)
      else if (!this.#again(response, own)) this.#refused(response)
      request.destroy()
    })
    socket.on('open', () => this.#begin(socket))
    socket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary))
    socket.on('pong', () => {
      this.#alive = true
    })
    socket.once('close', (code, reason) => {
      if (this.#socket !== socket) return
      const error = lost(code, reason.toString())
      // the longest request is taken for the one that the server refused
      if (code === tooBig && !this.#over && this.#longest.id !== undefined)
        this.#events.lost(
          this.#longest.id,
          new TransportError('MESSAGE_TOO_LONG', error.message, { data: error.data }),
        )
      this.#closed(this.#end ?? { error })
    })
  }

  #begin(socket: WebSocket): void {
    if (this.#end !== undefined) return socket.close(1000)
    this.#opened = true
    this.#beat(socket)
    this.#events.opened({ url: shownUrl(this.#settings.url) })
  }

  #take(data: Buffer, isBinary: boolean): void {
    this.#alive = true
    if (this.#over || this.#end !== undefined) return
    if (!isBinary) {
      const { messageBytes } = this.#settings.limits
      if (data.length <= messageBytes) this.#events.message(data.toString())
      else
        tellSkipped(describe(data, messageBytes), this.#events, (text) => this.#socket?.send(text, () => {}))
      return this.#catchUp(this.#events.room())
    }
    this.#end = { error: new TransportError('BAD_RESPONSE', 'the server sent a binary frame, expected text') }
    this.#socket?.close(1003)
  }

  /** A client that cannot keep up lets its server wait: nothing more is read from the socket. */
  #catchUp(room: Promise<void> | undefined): void {
    const socket = this.#socket
    if (room === undefined || socket === undefined || socket.isPaused) return
    socket.pause()
    void room.then(() => socket.resume())
  }

  /** Asks for a sign of life, and gives up when there has been none since the last time. */
  #beat(socket: WebSocket): void {
    if (this.#over) return
    if (!this.#alive) {
      const message = `the server has not answered a ping for ${this.#settings.pingInterval} ms`
      this.#end ??= { error: new TransportError('CONNECTION_LOST', message, { retryable: true }) }
      return socket.terminate()
    }
    this.#alive = false
    if (socket.readyState === socket.OPEN) socket.ping()
    this.#scope.clock.setTimeout(() => this.#beat(socket), this.#settings.pingInterval)
  }

  /** Lets `auth` see an answer; what it throws is the end. */
  #tell({ statusCode: status = 0, headers }: IncomingMessage): LinkEnd | undefined {
    const { auth, url } = this.#settings
    try {
      auth?.answered?.({ url, status, headers })
      return undefined
    } catch (cause) {
      return endOf(url, authErrorOf(cause))
    }
  }

  /** Whether it is worth trying once more with other credentials; begins that. */
  #again({ statusCode = 0, headers }: IncomingMessage, sent: Readonly<Record<string, string>>): boolean {
    const { auth } = this.#settings
    const challenge = headers['www-authenticate']
    if (auth?.refused === undefined || !isRefusal(statusCode, challenge) || this.#over) return false
    const kind = wantsNonce(statusCode, challenge) ? 'nonce' : 'credentials'
    if (this.#tried.has(kind)) return false
    this.#tried.add(kind)
    this.#socket = undefined
    this.#try({ ...this.#asked, status: statusCode, challenge, sent })
    return true
  }

  /** For a provider, which goes on when this transport has ended. */
  get #asked(): AuthRequest {
    const { signal, world } = this.#scope
    return { url: this.#settings.url, method: 'GET', signal, world: lastingWorld(world) }
  }

  #refused({ statusCode: status = 0, headers }: IncomingMessage): void {
    const { url, auth, headers: own } = this.#settings
    const given = auth !== undefined || Object.hasOwn(own, 'authorization')
    const data = { status, challenge: headers['www-authenticate'] }
    const error =
      status === 401
        ? new TransportError('UNAUTHORIZED', wantsAuthorization(shownUrl(url), given, data.challenge), {
            data,
          })
        : new TransportError('HTTP_STATUS', `${shownUrl(url)} refused the upgrade with status ${status}`, {
            retryable: isPassing(status),
            data,
          })
    this.#closed({ error, fatal: status === 401 })
  }

  #failed(cause: Error & { code?: unknown }): void {
    const { url } = this.#settings
    if (this.#opened) {
      const code = cause.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? 'MESSAGE_TOO_LONG' : 'CONNECTION_LOST'
      const details = { cause, retryable: code === 'CONNECTION_LOST' }
      this.#end ??= { error: new TransportError(code, `the socket broke: ${cause.message}`, details) }
      return
    }
    const fatal = judge(cause) === 'untrusted' || /subprotocol/i.test(cause.message)
    this.#end ??= { error: connectError(url, cause), fatal }
  }

  #closed(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    this.#events.closed(end)
  }

  #destroy(): Promise<void> | undefined {
    this.#over = true
    const socket = this.#socket
    if (socket === undefined || socket.readyState === socket.CLOSED) return undefined
    return new Promise((resolve) => {
      socket.once('close', () => resolve())
      socket.terminate()
    })
  }
}

function describe(data: Buffer, messageBytes: number): ProtocolError {
  const message = `a message may have ${messageBytes} bytes (limits.messageBytes), got ${data.length}`
  const head = data.toString('utf8', 0, keptOfLong)
  const told = describeLong(head, data.toString('utf8', data.length - keptOfLong))
  return new ProtocolError('LINE_TOO_LONG', message, { data: told })
}

function endOf(url: URL, cause: unknown): LinkEnd {
  const error = cause instanceof TransportError ? cause : connectError(url, cause)
  return { error, fatal: error.code === 'UNAUTHORIZED' || error.code === 'INSUFFICIENT_SCOPE' }
}

function lost(code: number, reason: string): TransportError {
  const message = `the server closed the socket with ${code}${reason === '' ? '' : ` (${reason})`}`
  return new TransportError('CONNECTION_LOST', message, { retryable: true, data: { code, reason } })
}
