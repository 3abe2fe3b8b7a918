import type { IncomingMessage, ServerResponse } from 'node:http'
import type { World } from '../../../runtime/time/world.js'
import type { ActorContext } from '../../../runtime/process/context.js'
import type { ProcessRef } from '../../../runtime/process/ref.js'
import { ByteBudget } from '../../connections/byte-budget.js'
import {
  type Binding,
  type LinkScope,
  type ListenScope,
  notReady,
  type ServerPort,
} from '../../contract/contract.js'
import { type ListenerOrigin, originHere } from '../../contract/events.js'
import type { ServerPages } from '../../contract/pages.js'
import type { SharedStreams } from '../../contract/shared-streams.js'
import type { NodeServer } from '../listen/node-server.js'
import { EventLog } from '../streams/event-log.js'
import type { SharedLog, shareLog } from '../streams/shared-log.js'
import { httpListener } from './listener-actor.js'
import type { HttpSettings } from './options.js'

/** Takes one request and answers for its errors; it must not throw. */
export type TakeRequest = (request: IncomingMessage, response: ServerResponse) => void

/** Who serves the requests of a port at the moment. */
interface Listening {
  readonly server: ServerPort
  readonly take: TakeRequest
  /** No new connection comes from now on. */
  retire(): void
}

/** A request that came while nobody listened. */
interface WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Milliseconds that a request waits for a listener, and how many may. */
const handoverTimeout = 1_000
const maxWaiting = 1_000

/**
 * A port with its open connections, which outlives the listeners that serve it, one at a time. Requests that
 * come between two listeners wait up to a second, 1,000 of them at most, and are answered 503 after that.
 */
export class HttpSocket implements Binding {
  /** Absent where requests come from a web server around us. */
  server: NodeServer | undefined
  /** Whether every connection ends with its next answer. */
  isRetiring = false
  /** Only where connections come from another process. */
  retire?: (ms: number) => Promise<void>
  readonly settings: HttpSettings
  /** For events. */
  readonly origin: ListenerOrigin = originHere('http')
  /** What was written to event streams; above the group, so that clients come back to it after a restart. */
  readonly log: EventLog | undefined
  /** Bytes of messages that are held for all who listen here, one after the other. */
  readonly budget: ByteBudget
  readonly world: World
  readonly #shareLog: typeof shareLog | undefined
  #shared: SharedLog | null = null
  readonly #waiting = new Set<WaitingRequest>()
  #listener: Listening | null = null
  #timer: unknown = null
  #isStopping = false

  /** Without `share` its streams are known to this process alone. */
  constructor(settings: HttpSettings, scope: LinkScope, share?: typeof shareLog) {
    this.settings = settings
    this.#shareLog = share
    this.budget = new ByteBudget(settings.limits)
    // taken now, since the scope refuses everything once its end is being cleaned up
    this.world = scope.world
    const { resume } = settings.streams
    this.log = resume && new EventLog(resume, this.world)
  }

  /** The address that the guard is to let in. */
  get host(): string {
    return this.server?.host ?? this.settings.host
  }

  get port(): number | undefined {
    return this.server?.port
  }

  get url(): string | undefined {
    return this.server?.url('http', this.settings.path)
  }

  get site(): string | undefined {
    const address = this.settings.auth?.resource ?? this.url
    return address && new URL(address).origin
  }

  /** What the server has beside MCP, while it is served. */
  get pages(): ServerPages | undefined {
    return this.#listener?.server.pages
  }

  /** Why requests are not served, for `/readyz`; undefined: they are. */
  get problem(): string | undefined {
    return notReady(this.#isStopping ? undefined : this.#listener?.server)
  }

  async start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef> {
    await this.settings.auth?.own?.open(server.values, this.world)
    if (server.streams !== undefined) this.#share(server.streams)
    return ctx.start(httpListener, { socket: this, server, scope }, { name: scope.name })
  }

  /**
   * Hands over every request from now on, those that wait first, until the returned function is called, and
   * tells when the binding retires.
   */
  attach(listener: Listening): () => void {
    const { take } = listener
    this.#listener = listener
    this.world.clearTimeout(this.#timer)
    this.#timer = null
    for (const { request, response } of this.#empty()) if (!response.destroyed) take(request, response)
    return () => {
      if (this.#listener === listener) this.#listener = null
    }
  }

  get credentials(): Binding['credentials'] {
    const { own } = this.settings.auth ?? {}
    return own && ((principal, wanted, signal) => own.credentials(principal, wanted, signal))
  }

  /** Says on `/readyz` that no more requests are wanted. */
  noLongerReady(): void {
    this.#isStopping = true
  }

  beginRetiring(): void {
    this.isRetiring = true
    this.#listener?.retire()
  }

  close(): void {
    this.#shared?.close()
    this.world.clearTimeout(this.#timer)
    for (const { response } of this.#empty()) answerUnavailable(response)
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#listener !== null) return this.#listener.take(request, response)
    if (this.#waiting.size >= maxWaiting) return answerUnavailable(response)
    this.#waiting.add({ request, response })
    this.#timer ??= this.world.setTimeout(() => {
      this.#timer = null
      for (const { response: late } of this.#empty()) answerUnavailable(late)
    }, handoverTimeout)
  }

  /** Clients may take up their event streams on any process that shares them, through restarts of listeners. */
  #share(streams: SharedStreams): void {
    if (this.log === undefined || this.#shareLog === undefined || this.#shared?.streams === streams) return
    this.#shared?.close()
    this.#shared = this.#shareLog(this.log, streams)
  }

  #empty(): WaitingRequest[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}

/** Answers a request that nobody serves. */
function answerUnavailable(response: ServerResponse): void {
  response.writeHead(503, { 'retry-after': '1', 'content-length': '0' }).end()
}
