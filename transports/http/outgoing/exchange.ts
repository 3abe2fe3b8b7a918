import { Readable } from 'node:stream'
import type { Clock } from '../../../runtime/time/clock.js'
import type { UndiciDispatcher } from './dispatcher.js'
import { longAnswer } from '../../contract/message-sizes.js'

/** How an exchange is controlled once it has a connection. */
type Controller = UndiciDispatcher.DispatchController
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Bytes of a body that wait for a reader before the server has to. */
const room = 64 * 1024
/** Milliseconds for a body that nobody, or hardly anybody, wants to know. */
const patience = 2_000
const decoder = new TextDecoder()

/** An HTTP response whose body has not been read; it has to be, to its end or until it is destroyed. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  /** The body as a stream, which is made when it is first asked for. */
  readonly body: Readable
  /** Whether all of the body is here. */
  readonly complete: boolean
  /** Who gave it: somebody else than the origin that was asked first, where a redirect led there. */
  readonly origin: string
  /**
   * The whole body as text, without a stream in between. Rejects with MESSAGE_TOO_LONG beyond `maxBytes`, and
   * with what broke it off.
   */
  text(maxBytes: number): Promise<string>
}

/**
 * The whole body as text. Rejects with MESSAGE_TOO_LONG beyond `maxBytes`; `alive` is called whenever more of
 * it comes.
 */
export async function readText(body: Readable, maxBytes: number, alive?: () => void): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    alive?.()
    size += chunk.length
    if (size > maxBytes) {
      body.destroy()
      throw longAnswer(maxBytes)
    }
    chunks.push(chunk)
  }
  return decoder.decode(Buffer.concat(chunks))
}

/**
 * The first 64 KiB of a body as text, as far as they come within 2 s; the rest is cut off. Never rejects: it
 * is read to say more of what is known already.
 */
export async function readStart({ body }: HttpResponse, clock: Clock): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const timer = clock.setTimeout(() => body.destroy(), patience)
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= room) break
    }
  } catch {
    // what came before it broke off is all there is
  } finally {
    clock.clearTimeout(timer)
  }
  return decoder.decode(Buffer.concat(chunks).subarray(0, room))
}

/**
 * Reads what nobody wants to know, so that the connection can be used again; a rest that is long, or does not
 * come within 2 s, is cut off. Without a clock somebody else sees to it that the connection ends.
 */
export function discard(response: HttpResponse, clock?: Clock): void {
  if (response.complete) return
  const { body } = response
  let size = 0
  body.on('data', (chunk: Uint8Array) => {
    size += chunk.length
    if (size > 128 * 1024) body.destroy()
  })
  const timer = clock?.setTimeout(() => body.destroy(), patience)
  body.once('close', () => clock?.clearTimeout(timer))
}

/**
 * How far a request got, which may be sent to several places: a redirect leads elsewhere, a refusal has it
 * sent again.
 */
export interface Departure {
  /** Whether any server may have seen it. */
  left: boolean
  /** Whether the one may that was tried last. */
  begun: boolean
}

/**
 * What is known of an exchange besides the request: who gives it up, and who wants to know how far it got.
 */
export interface ExchangeWatch {
  readonly signal: AbortSignal
  readonly departure?: Departure | undefined
}

/**
 * Sends a request and resolves with its response; a body that is short is handed over as text at no more cost
 * than its bytes.
 */
export function exchange(
  dispatcher: UndiciDispatcher,
  options: UndiciDispatcher.DispatchOptions,
  { signal, departure }: ExchangeWatch,
): Promise<HttpResponse> {
  if (departure !== undefined) departure.begun = false
  return new Promise((resolve, reject) => {
    const { origin } = options
    dispatcher.dispatch(options, new Exchange({ signal, departure, resolve, reject, origin: String(origin) }))
  })
}

interface Asker extends ExchangeWatch {
  readonly origin: string
  resolve(response: HttpResponse): void
  reject(error: unknown): void
}

interface TextReader {
  readonly maxBytes: number
  resolve(text: string): void
  reject(error: unknown): void
}

/** One exchange, as undici tells of it. */
class Exchange implements UndiciDispatcher.DispatchHandler, HttpResponse {
  readonly origin: string
  status = 0
  headers: Headers = {}
  readonly #asker: Asker
  readonly #onAbort: () => void
  #controller: Controller | undefined
  #chunks: Buffer[] = []
  #size = 0
  #over = false
  #error: unknown
  #stream: Readable | undefined
  #reader: TextReader | undefined

  constructor(asker: Asker) {
    this.#asker = asker
    this.origin = asker.origin
    this.#onAbort = () => this.#giveUp(asker.signal.reason)
    if (asker.signal.aborted) asker.reject(asker.signal.reason)
    else asker.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get complete(): boolean {
    return this.#over
  }

  get body(): Readable {
    this.#stream ??= this.#makeStream()
    return this.#stream
  }

  text(maxBytes: number): Promise<string> {
    if (this.#stream !== undefined) return readText(this.#stream, maxBytes)
    return new Promise((resolve, reject) => {
      this.#reader = { maxBytes, resolve, reject }
      if (this.#size > maxBytes) this.#tooLong(this.#reader)
      else if (this.#over) this.#tell(this.#reader)
      else this.#controller?.resume()
    })
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    const { signal, departure } = this.#asker
    // it was given up while it waited for a connection
    if (signal.aborted) return controller.abort(asError(signal.reason))
    // the connection stands, and takes it now
    if (departure !== undefined) departure.left = departure.begun = true
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.#asker.resolve(this)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.push(chunk)) controller.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#reader === undefined) {
      if (this.#size > room) controller.pause()
    } else if (this.#size > this.#reader.maxBytes) this.#tooLong(this.#reader)
  }

  onResponseEnd(): void {
    this.#end()
    if (this.#reader !== undefined) this.#tell(this.#reader)
    this.#stream?.push(null)
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#end()
    this.#error = error
    if (this.#reader !== undefined) this.#reader.reject(error)
    this.#stream?.destroy(error)
    this.#asker.reject(error)
  }

  #end(): void {
    this.#over = true
    this.#asker.signal.removeEventListener('abort', this.#onAbort)
  }

  #giveUp(reason: unknown): void {
    // one that has no connection yet is refused when it gets one, and nobody waits for that
    if (this.#controller === undefined) this.#asker.reject(reason)
    else if (!this.#over) this.#controller.abort(asError(reason))
  }

  #tell({ resolve, reject }: TextReader): void {
    if (this.#error !== undefined) return reject(this.#error)
    const [first] = this.#chunks
    resolve(
      decoder.decode(this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)),
    )
  }

  #tooLong({ maxBytes, reject }: TextReader): void {
    const error = longAnswer(maxBytes)
    reject(error)
    this.#chunks = []
    if (!this.#over) this.#controller?.abort(error)
  }

  #makeStream(): Readable {
    const stream = new Readable({
      highWaterMark: room,
      read: () => this.#controller?.resume(),
      destroy: (error, done) => {
        if (!this.#over) this.#controller?.abort(error ?? new Error('nobody reads the response any more'))
        done(error)
      },
    })
    // A body that is given up, or cut off after its last reader has left, must not be an uncaught error.
    stream.on('error', () => {})
    for (const chunk of this.#chunks) stream.push(chunk)
    this.#chunks = []
    if (this.#error !== undefined) stream.destroy(asError(this.#error))
    else if (this.#over) stream.push(null)
    return stream
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was given up', { cause: reason })
}
