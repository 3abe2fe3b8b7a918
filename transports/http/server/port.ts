import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../runtime/time/clock.js'
import type { ActorContext } from '../../../runtime/process/context.js'
import type { ProcessRef } from '../../../runtime/process/ref.js'
import type { Binding, LinkScope, ListenScope, ServerPort } from '../../contract/contract.js'
import { answerMetadata } from '../../auth/metadata.js'
import { ByteBudget } from '../../connections/byte-budget.js'
import { TransportError } from '../../base/errors.js'
import { EventLog } from './event-log.js'
import { type ListenerOrigin, originHere } from '../../contract/events.js'
import { answerHealth } from '../listen/health.js'
import type { HttpSettings } from './serve.js'
import type { HttpServer } from '../listen/options.js'
import { httpListener } from './listener-actor.js'
import { takeServer, type TakenServer } from './node-server.js'

/** Takes one request and answers for its errors; it must not throw. */
export type TakeRequest = (request: IncomingMessage, response: ServerResponse) => void

/** A request that came while nobody listened. */
interface Waiting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const patience = 1_000
const maxWaiting = 1_000

/** Takes a port, and gives it back with the scope. Rejects with TransportError LISTEN_FAILED. */
export async function bindHttpSocket(settings: HttpSettings, scope: LinkScope): Promise<HttpSocket> {
  await settings.auth?.verify.prepare?.()
  const place: { socket?: HttpSocket } = {}
  const taken = await takeServer(settings, (request, response) => place.socket?.take(request, response))
  const socket = new HttpSocket(taken, scope)
  place.socket = socket
  scope.own(() => socket.close())
  await socket.listen()
  return socket
}

/**
 * A port with its open connections, which outlives the listeners that serve it, one at a time. Requests that
 * come between two listeners wait up to a second, 1,000 of them at most, and are answered 503 after that.
 */
export class HttpSocket implements Binding {
  readonly settings: HttpSettings
  /** For events. */
  readonly origin: ListenerOrigin = originHere('http')
  /** What was written to event streams; above the group, so that clients come back to it after a restart. */
  readonly log: EventLog | undefined
  /** Bytes of messages that are held for all who listen here, one after the other. */
  readonly budget: ByteBudget
  readonly #taken: TakenServer
  readonly #server: HttpServer
  readonly #scope: LinkScope
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  /** Known from when the port is taken; before that, the one that is wanted. */
  #port: number
  #take: TakeRequest | null = null
  #timer: unknown = null
  #isStopping = false

  constructor(taken: TakenServer, scope: LinkScope) {
    const { settings, server } = taken
    this.settings = settings
    this.budget = new ByteBudget(settings)
    this.#taken = taken
    this.#server = server
    this.#port = settings.port
    this.#scope = scope
    // taken now, since the scope refuses everything once its end is being cleaned up
    this.#clock = scope.clock
    const { now } = scope.clock
    this.log = settings.resume === undefined ? undefined : new EventLog(settings.resume, now)
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    const { host, path, allowedHosts } = this.settings
    const isAny = host === '0.0.0.0' || host === '::'
    const named = allowedHosts.find((name) => name !== '*') ?? '127.0.0.1'
    const shown = isAny ? named.replace(/:\d+$/, '') : host
    const scheme = 'setSecureContext' in this.#server ? 'https' : 'http'
    return `${scheme}://${shown.includes(':') && !shown.startsWith('[') ? `[${shown}]` : shown}:${this.port}${path}`
  }

  listen(): Promise<void> {
    const { port, host } = this.settings
    if (this.#taken.isForeign) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const failed = (cause: Error): void => reject(listenFailed(cause, host, port))
      this.#server.once('error', failed)
      this.#server.listen({ port, host }, () => {
        this.#server.off('error', failed)
        this.#port = (this.#server.address() as AddressInfo).port
        // a connection that could not be accepted ends nothing; the scope reports it
        this.#server.on('error', this.#scope.bind(rethrow))
        resolve()
      })
    })
  }

  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef> {
    return ctx.start(httpListener, { socket: this, server, scope }, { name: scope.name })
  }

  /** Hands over every request from now on, those that wait first, until the returned function is called. */
  attach(take: TakeRequest): () => void {
    this.#take = take
    this.#clock.clearTimeout(this.#timer)
    this.#timer = null
    for (const { request, response } of this.#empty()) if (!response.destroyed) take(request, response)
    return () => {
      if (this.#take === take) this.#take = null
    }
  }

  /** Says on `/readyz` that no more requests are wanted. */
  noLongerReady(): void {
    this.#isStopping = true
  }

  /** Takes no new connections; open ones go on. */
  stopListening(): void {
    if (this.#server.listening && !this.#taken.isForeign) this.#server.close()
  }

  /** Frees the port and cuts what is still open. */
  close(): Promise<void> {
    this.#clock.clearTimeout(this.#timer)
    for (const { response } of this.#empty()) answerUnavailable(response)
    this.#taken.release()
    if (this.#taken.isForeign) return Promise.resolve()
    const closed = new Promise<void>((resolve) => {
      this.#server.once('close', resolve)
      if (!this.#server.listening) resolve()
    })
    this.stopListening()
    this.#server.closeAllConnections()
    return closed
  }

  /** Takes a request of the server. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const isReady = this.#take !== null && !this.#isStopping
    if (this.settings.health && answerHealth(request, response, isReady)) return
    const { auth, path, server } = this.settings
    if (answerMetadata(request, response, { auth, path, isShared: server !== undefined })) return
    if (this.#take !== null) return this.#take(request, response)
    if (this.#waiting.size >= maxWaiting) return answerUnavailable(response)
    this.#waiting.add({ request, response })
    this.#timer ??= this.#clock.setTimeout(() => {
      this.#timer = null
      for (const { response: late } of this.#empty()) answerUnavailable(late)
    }, patience)
  }

  #empty(): Waiting[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}

function answerUnavailable(response: ServerResponse): void {
  response.writeHead(503, { 'retry-after': '1', 'content-length': '0' }).end()
}

function listenFailed(cause: Error, host: string, port: number): TransportError {
  const why = 'code' in cause && cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message
  return new TransportError('LISTEN_FAILED', `cannot listen on ${host} port ${port}: ${why}`, {
    cause,
    data: { host, port, code: 'code' in cause ? cause.code : undefined },
  })
}

function rethrow(error: Error): void {
  throw error
}
