import { repeatRequest } from '../../base/repeat-request.js'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FetchedExchange } from '../../auth/own-server.js'
import type { World } from '../../../runtime/time/world.js'
import { TransportError } from '../../base/errors.js'
import { readPrincipal } from '../../contract/principal.js'
import { readAlready } from '../listen/body.js'
import { type AssignedRequest, assignsKey, principalKey } from '../listen/peer.js'
import type { MountedRequest } from './mount.js'

/** A request that can be read from its beginning, with what middleware knows. Its path becomes `path`. */
export function withKnown(
  request: IncomingMessage,
  path: string,
  { body, assigns, ...known }: MountedRequest,
): IncomingMessage {
  const wasRead = request.readableDidRead || request.readableEnded
  const readable: AssignedRequest =
    wasRead && body !== undefined ? repeatRequest(request, bytesOf(body)) : request
  const { url = '' } = request
  const at = url.indexOf('?')
  readable.url = at === -1 ? path : `${path}${url.slice(at)}`
  if (assigns !== undefined) readable[assignsKey] = assigns
  if ('principal' in known) readable[principalKey] = readKnown(known.principal)
  return readable
}

/** Middleware that has found nobody often says so with undefined: that lets nobody in. */
function readKnown(
  principal: MountedRequest['principal'],
): NonNullable<AssignedRequest[typeof principalKey]> {
  if (principal === 'anonymous') return principal
  if (principal === undefined || principal === null) return 'nobody'
  try {
    return readPrincipal(principal)
  } catch (error) {
    // it is reported, and answered, where the request is
    if (error instanceof TransportError) return error
    throw error
  }
}

function bytesOf(body: unknown): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''))
}

/** Bytes that may wait in the stream of a response. */
const highWaterMark = 16 * 1024
/** Statuses whose response has no body (Fetch standard). */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])

/**
 * A `Request` as `node:http` would have it, as far as a listener looks, and where its `Response` comes from.
 * Neither needs `node:http`, which not every platform has.
 */
export function exchangeOf(request: Request, world: Pick<World, 'queueMicrotask'>): FetchedExchange {
  const incoming = new FetchedRequest(request)
  const outgoing = new FetchResponse(world)
  const gone = (): void => outgoing.clientGone()
  request.signal.addEventListener('abort', gone, { once: true })
  outgoing.once('close', () => {
    request.signal.removeEventListener('abort', gone)
    incoming.letGo()
  })
  if (request.signal.aborted) gone()
  return {
    incoming: incoming as unknown as IncomingMessage,
    outgoing: outgoing as unknown as ServerResponse,
    result: outgoing.result,
  }
}

/** A `Request` whose body is read as fast as it is taken, and no faster. */
class FetchedRequest extends Readable {
  readonly method: string
  /** Not `readonly`: a mounted request is served under the path of its settings. */
  url: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: readonly string[]
  readonly httpVersion = '1.1'
  /** Whether the body has come to its end. */
  complete = false
  /** No connection is seen from here, so it has no address, and does not end. */
  readonly socket: EventEmitter & { readonly destroyed: boolean; readonly encrypted: boolean }
  readonly #request: Request
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  #isOver = false

  constructor(given: Request) {
    super({ highWaterMark })
    this.#request = given
    // parsed once by whoever made it: it is whole, and throws for nothing
    const { pathname, search, host, protocol } = new URL(given.url)
    this.socket = Object.assign(new EventEmitter(), { destroyed: false, encrypted: protocol === 'https:' })
    const headers = Object.fromEntries(given.headers)
    headers.host ??= host
    this.method = given.method
    this.url = pathname + search
    this.headers = headers
    this.rawHeaders = Object.entries(headers).flat()
  }

  override _read(): void {
    void this.#pull()
  }

  /** The rest of the body is not wanted. */
  letGo(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reader?.cancel().catch(() => {}) // a body that broke off by itself
  }

  /** Never rejects: a body that breaks off is told as such, and so is one that somebody else has read. */
  async #pull(): Promise<void> {
    const { body, bodyUsed } = this.#request
    if (this.#reader === null && (bodyUsed || body?.locked)) return void this.emit('error', readAlready())
    try {
      if (this.#reader === null && body !== null) this.#reader = body.getReader()
      const { done, value } = (await this.#reader?.read()) ?? { done: true }
      if (this.#isOver || this.destroyed) return this.letGo()
      if (!done) return void this.push(Buffer.from(value))
      this.#isOver = true
      this.complete = true
      this.push(null)
    } catch {
      this.#isOver = true
      this.emit('close')
    }
  }
}

/** Turns what is written to a response of `node:http` into a `Response`. */
class FetchResponse extends EventEmitter {
  /** Where that of `node:http` has its connection. */
  readonly socket = null
  destroyed = false
  shouldKeepAlive = true
  /** Resolves once the head is written; destroyed before, with status 500, or 400 where the client left. */
  readonly result: Promise<Response>
  // Assigned by the executor in the constructor, which runs at once.
  #resolve: (response: Response) => void = () => {}
  #status = 200
  readonly #headers = new Headers()
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null
  #isOver = false
  readonly #world: Pick<World, 'queueMicrotask'>

  constructor(world: Pick<World, 'queueMicrotask'>) {
    super()
    this.#world = world
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Bytes that the reader of the body has not taken. */
  get writableLength(): number {
    return this.#stream === null
      ? 0
      : Math.max(0, highWaterMark - (this.#stream.desiredSize ?? highWaterMark))
  }

  setHeader(name: string, value: unknown): this {
    this.#headers.delete(name)
    for (const one of Array.isArray(value) ? value : [value]) this.#headers.append(name, String(one))
    return this
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.#status = status
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value)
    return this
  }

  /** The web server around sees how fast its client reads. */
  setTimeout(): this {
    return this
  }

  flushHeaders(): void {
    this.#begin()
  }

  write(chunk: unknown): boolean {
    this.#begin()
    if (this.#isOver) return false
    this.#stream?.enqueue(Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)))
    return this.writableLength < highWaterMark
  }

  end(chunk?: unknown): this {
    if (this.#isOver) return this
    if (this.#stream === null)
      this.#answer(chunk === undefined || Buffer.isBuffer(chunk) ? (chunk ?? null) : String(chunk))
    else {
      if (chunk !== undefined && chunk !== '') this.write(chunk)
      this.#stream.close()
    }
    return this.#over()
  }

  destroy(): this {
    return this.#cutOff(500)
  }

  /** The same, where the client has gone away by itself: that is no error of the server. */
  clientGone(): void {
    this.#cutOff(400)
  }

  #cutOff(status: number): this {
    if (this.#isOver) return this
    this.destroyed = true
    if (this.#stream === null) this.#resolve(new Response(null, { status }))
    else this.#stream.error(new Error('the response was cut off'))
    return this.#over()
  }

  #begin(): void {
    if (this.#stream !== null || this.#isOver) return
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#stream = controller
        },
        cancel: () => {
          this.destroyed = true
          this.#over()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark }),
    )
    this.#respond(body)
  }

  #answer(body: string | Buffer | null): void {
    this.#respond(bodiless.has(this.#status) ? null : body)
  }

  #respond(body: ReadableStream<Uint8Array> | string | Buffer | null): void {
    this.#resolve(new Response(body, { status: this.#status, headers: this.#headers }))
  }

  #over(): this {
    this.#isOver = true
    this.#world.queueMicrotask(() => void this.emit('close'))
    return this
  }
}
