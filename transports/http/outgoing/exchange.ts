import { Readable } from 'node:stream'
import type { Clock } from '../../../runtime/time/clock.js'
import type { HttpRequest } from './dispatcher.js'
import { secretsSent, withoutSecrets } from '../../base/secrets.js'
import { longAnswer } from '../../contract/message-sizes.js'

/** How an exchange is paced, and given up. */
export interface Controller {
  abort(reason: Error): void
  pause(): void
  resume(): void
}
type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>

/** Bytes of a body that wait for a reader before the server has to. */
const room = 64 * 1024
/** Bytes of a body that takes milliseconds to be made into text. */
const longBody = 256 * 1024
/** Milliseconds for a body that is thrown away, or read for an error message only. */
const drainTimeout = 2_000
const decoder = new TextDecoder()

/** An HTTP response, whose body has to be read to its end, or destroyed. */
export interface HttpResponse {
  readonly status: number
  readonly headers: HeaderFields
  /** The body as a stream, made on first use. */
  readonly body: Readable
  /** Whether the whole body is here. */
  readonly complete: boolean
  /** The origin that answered: another one than was asked, after a redirect. */
  readonly origin: string
  /** What was sent that errors must not repeat. */
  readonly secrets: readonly string[]
  /**
   * The whole body as text, without a stream. Rejects with MESSAGE_TOO_LONG, when it breaks off, and with what
   * `came` throws.
   */
  text(maxBytes: number, how?: BodyReading): Promise<string>
}

/** How a whole body is read. */
interface BodyReading {
  /** Called with the bytes so far. */
  came?(bytes: number): void
  /** Waited for before a long body is made into text, which takes a while. */
  turn?(bytes: number): Promise<void>
}

/** The whole body as text. Rejects with MESSAGE_TOO_LONG, and with what `came` throws. */
export async function readText(
  body: Readable,
  maxBytes: number,
  { came, turn }: BodyReading = {},
): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    came?.(size)
    if (size > maxBytes) {
      body.destroy()
      throw longAnswer(maxBytes)
    }
    chunks.push(chunk)
  }
  if (size > longBody) await turn?.(size)
  return decoder.decode(Buffer.concat(chunks))
}

/**
 * The first 64 KiB of a body as text, as far as they come in 2 s, for an error message: without what it
 * repeats of our credentials. Never rejects.
 */
export async function readStart({ body, secrets }: HttpResponse, clock: Clock): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  const timer = clock.setTimeout(() => body.destroy(), drainTimeout)
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= room) break
    }
  } catch {
    // the part before it broke off is enough
  } finally {
    clock.clearTimeout(timer)
  }
  return withoutSecrets(decoder.decode(Buffer.concat(chunks).subarray(0, room)), secrets)
}

/** Throws a body away to reuse its connection; cuts it off after 128 KiB or, with a clock, 2 s. */
export function discard(response: HttpResponse, clock?: Clock): void {
  if (response.complete) return
  const { body } = response
  let size = 0
  body.on('data', (chunk: Uint8Array) => {
    size += chunk.length
    if (size > 128 * 1024) body.destroy()
  })
  const timer = clock?.setTimeout(() => body.destroy(), drainTimeout)
  body.once('close', () => clock?.clearTimeout(timer))
}

/** How far a request got, which may be sent more than once: after a redirect, or a refusal. */
export interface Departure {
  /** Whether any server may have seen it. */
  left: boolean
  /** Whether the server that was tried last may have seen it. */
  begun: boolean
}

/** What sends requests: a pool of undici, or `fetch`. */
export interface Dispatching {
  dispatch(request: DispatchedRequest, handler: DispatchHandler): unknown
  destroy(): Promise<void>
}

export interface DispatchedRequest extends Pick<HttpRequest, 'method' | 'path' | 'headers'> {
  readonly origin: string
  readonly body: string | Uint8Array | null
}

/** What is told of an exchange, in this order. */
export interface DispatchHandler {
  onRequestStart(controller: Controller): void
  onResponseStart(controller: Controller, status: number, headers: HeaderFields): void
  onResponseData(controller: Controller, chunk: Buffer): void
  onResponseEnd(): void
  onResponseError(controller: Controller, error: Error): void
}

/** Sends a request to an origin and resolves with its response; the text of a short body costs no stream. */
export function exchange(
  dispatcher: Dispatching,
  { method, path, headers, body, signal, departure }: HttpRequest,
  origin: string,
): Promise<HttpResponse> {
  if (departure !== undefined) departure.begun = false
  return new Promise((resolve, reject) => {
    const asker = { signal, departure, origin, headers, resolve, reject }
    dispatcher.dispatch({ method, path, headers, origin, body: body ?? null }, new ClientExchange(asker))
  })
}

interface Asker extends Pick<HttpRequest, 'signal' | 'departure' | 'headers'> {
  readonly origin: string
  resolve(response: HttpResponse): void
  reject(error: unknown): void
}

interface TextReader extends BodyReading {
  readonly maxBytes: number
  resolve(text: string): void
  reject(error: unknown): void
}

/** One exchange, as undici tells of it. */
class ClientExchange implements DispatchHandler, HttpResponse {
  readonly origin: string
  status = 0
  headers: HeaderFields = {}
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

  get secrets(): readonly string[] {
    return secretsSent(this.#asker.headers)
  }

  get complete(): boolean {
    return this.#over
  }

  get body(): Readable {
    this.#stream ??= this.#makeStream()
    return this.#stream
  }

  text(maxBytes: number, how: BodyReading = {}): Promise<string> {
    if (this.#stream !== undefined) return readText(this.#stream, maxBytes, how)
    return new Promise((resolve, reject) => {
      this.#reader = { ...how, maxBytes, resolve, reject }
      if (!this.#isTakenBy(this.#reader)) return
      if (this.#over) this.#tell(this.#reader)
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

  onResponseStart(_controller: Controller, status: number, headers: HeaderFields): void {
    if (status < 200) return
    this.status = status
    this.headers = status < 400 ? headers : withChallengeCut(headers, this.secrets)
    this.#asker.resolve(this)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.push(chunk)) controller.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#reader !== undefined) this.#isTakenBy(this.#reader)
    else if (this.#size > room) controller.pause()
  }

  onResponseEnd(): void {
    this.#end()
    if (this.#reader !== undefined) this.#tell(this.#reader)
    this.#stream?.push(null)
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#end()
    this.#error = error
    this.#chunks = []
    if (this.#reader !== undefined) this.#reader.reject(error)
    this.#stream?.destroy(error)
    this.#asker.reject(error)
  }

  #end(): void {
    this.#over = true
    this.#asker.signal.removeEventListener('abort', this.#onAbort)
  }

  #giveUp(reason: unknown): void {
    // without a connection it is aborted once it gets one; nobody waits for that
    if (this.#controller === undefined) this.#asker.reject(reason)
    else if (!this.#over) this.#controller.abort(asError(reason))
  }

  #tell({ resolve, reject, turn }: TextReader): void {
    if (this.#error !== undefined) return reject(this.#error)
    if (turn === undefined || this.#size <= longBody) return resolve(this.#decoded())
    turn(this.#size).then(() => resolve(this.#decoded()), reject)
  }

  #decoded(): string {
    const [first] = this.#chunks
    return decoder.decode(
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks),
    )
  }

  /** Whether there is room for what has come; if not, no more is read. */
  #isTakenBy({ maxBytes, came, reject }: TextReader): boolean {
    try {
      if (this.#size > maxBytes) throw longAnswer(maxBytes)
      came?.(this.#size)
      return true
    } catch (error) {
      reject(error)
      this.#chunks = []
      if (!this.#over) this.#controller?.abort(asError(error))
      return false
    }
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
    // A body that breaks off without a reader must not be an uncaught error.
    stream.on('error', () => {})
    for (const chunk of this.#chunks) stream.push(chunk)
    this.#chunks = []
    if (this.#error !== undefined) stream.destroy(asError(this.#error))
    else if (this.#over) stream.push(null)
    return stream
  }
}

/** The challenge of a refusal goes into errors. */
function withChallengeCut(headers: HeaderFields, secrets: readonly string[]): HeaderFields {
  const { 'www-authenticate': challenge } = headers
  if (challenge === undefined) return headers
  const text = typeof challenge === 'string' ? challenge : challenge.join(', ')
  return { ...headers, 'www-authenticate': withoutSecrets(text, secrets) }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the request was given up', { cause: reason })
}
