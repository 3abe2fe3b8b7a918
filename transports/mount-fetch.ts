import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Bytes that may wait in the stream of a response. */
const highWaterMark = 16 * 1024
/** Statuses whose response has no body (Fetch standard). */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])

/** A `Request` as `node:http` would have it, and where its `Response` comes from. */
export function exchangeOf(request: Request): { incoming: IncomingMessage; outgoing: FetchResponse } {
  const incoming = new IncomingMessage(new Socket())
  const { pathname, search, host } = new URL(request.url)
  const headers = Object.fromEntries(request.headers)
  headers.host ??= host
  incoming.method = request.method
  incoming.url = pathname + search
  incoming.headers = headers
  incoming.rawHeaders = Object.entries(headers).flat()
  const outgoing = new FetchResponse(incoming)
  const gone = (): void => void outgoing.destroy()
  request.signal.addEventListener('abort', gone, { once: true })
  outgoing.once('close', () => request.signal.removeEventListener('abort', gone))
  void copyBody(request, incoming)
  return { incoming, outgoing }
}

/** Never rejects: a body that breaks off is told as such. */
async function copyBody({ body }: Request, incoming: IncomingMessage): Promise<void> {
  try {
    for await (const chunk of body ?? []) {
      if (incoming.destroyed) return
      incoming.push(Buffer.from(chunk))
    }
    incoming.complete = true
    incoming.push(null)
  } catch {
    incoming.emit('close')
  }
}

/** Turns what is written to a response of `node:http` into a `Response`. */
export class FetchResponse extends ServerResponse {
  /** Resolves once the head is written; a response that is destroyed before that is one with status 500. */
  readonly result: Promise<Response>
  // Assigned by the executor in the constructor, which runs at once.
  #resolve: (response: Response) => void = () => {}
  #head: { readonly status: number; readonly headers: Headers } | null = null
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null
  #isOver = false

  constructor(request: IncomingMessage) {
    super(request)
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
    Object.defineProperty(this, 'writableLength', { get: () => this.#waiting })
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    const given = rest.at(-1)
    const headers = typeof given === 'object' && given !== null ? (given as OutgoingHttpHeaders) : {}
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    this.#head = { status, headers: new Headers(pairs) }
    return this
  }

  override flushHeaders(): void {
    this.#begin()
  }

  override write(chunk: unknown): boolean {
    this.#begin()
    if (this.#isOver) return false
    this.#stream?.enqueue(Buffer.from(String(chunk)))
    return this.#waiting < highWaterMark
  }

  override end(chunk?: unknown): this {
    if (this.#isOver) return this
    if (this.#stream === null) this.#answer(chunk === undefined ? null : String(chunk))
    else {
      if (chunk !== undefined && chunk !== '') this.write(chunk)
      this.#stream.close()
    }
    return this.#over()
  }

  override destroy(): this {
    if (this.#isOver) return this
    this.destroyed = true
    if (this.#stream === null) this.#resolve(new Response(null, { status: 500 }))
    else this.#stream.error(new Error('the response was cut off'))
    return this.#over()
  }

  get #waiting(): number {
    return this.#stream === null
      ? 0
      : Math.max(0, highWaterMark - (this.#stream.desiredSize ?? highWaterMark))
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

  #answer(text: string | null): void {
    const { status = 200 } = this.#head ?? {}
    this.#respond(bodiless.has(status) ? null : text)
  }

  #respond(body: ReadableStream<Uint8Array> | string | null): void {
    const { status = 200, headers = new Headers() } = this.#head ?? {}
    this.#resolve(new Response(body, { status, headers }))
  }

  #over(): this {
    this.#isOver = true
    queueMicrotask(() => this.emit('close'))
    return this
  }
}
