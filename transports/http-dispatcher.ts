import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { outside } from '../runtime/containment.js'
import { TransportError } from './errors.js'

/** One HTTP request to the origin that the dispatchers were opened for. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/** An HTTP response whose body has not been read; it has to be, to its end or until it is destroyed. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Readable
}

/** The connections of one client to one origin. */
export interface HttpDispatchers {
  /** Sends a request on one of a bounded number of connections, of which it has one to itself until its response has ended. */
  send(request: HttpRequest): Promise<HttpResponse>
  /** Sends a request that must not wait behind others (a stream, a cancellation): it gets a connection whatever is open. */
  sendApart(request: HttpRequest): Promise<HttpResponse>
  /** Responses to `sendApart` that have not ended. */
  readonly apart: number
  /** Ends every connection and request at once. */
  destroy(): Promise<void>
}

/** How connections are made. */
export interface DispatcherOptions {
  readonly connections: number
  readonly connectTimeout: number
}

/**
 * Loads undici, which a program without HTTP clients never does, and opens the two pools of one client. There is no limit on how
 * long a response may take: a tool may work for minutes, and a stream be silent; deadlines are the client's.
 */
export async function openDispatchers(
  origin: string,
  { connections, connectTimeout }: DispatcherOptions,
): Promise<HttpDispatchers> {
  const { Pool } = await outside(() => import('undici'))
  const common = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeout } }
  const bounded = new Pool(origin, { ...common, connections })
  const unbounded = new Pool(origin, { ...common, connections: null })
  let apart = 0
  return {
    send: (request) => send(bounded, request),
    async sendApart(request) {
      apart += 1
      try {
        const response = await send(unbounded, request)
        response.body.once('close', () => {
          apart -= 1
        })
        return response
      } catch (error) {
        apart -= 1
        throw error
      }
    },
    get apart() {
      return apart
    },
    async destroy() {
      await Promise.all([bounded.destroy(), unbounded.destroy()])
    },
  }
}

async function send(pool: Dispatcher, { body, ...request }: HttpRequest): Promise<HttpResponse> {
  const {
    statusCode,
    headers,
    body: stream,
  } = await pool.request({ ...request, ...(body === undefined ? {} : { body }) })
  // A body that is given up, or cut off after its last reader has left, must not be an uncaught error.
  stream.on('error', () => {})
  return { status: statusCode, headers, body: stream }
}

/** The whole body as text. Rejects with MESSAGE_TOO_LONG beyond `maxBytes`. */
export async function readText(body: Readable, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) {
      body.destroy()
      throw new TransportError('MESSAGE_TOO_LONG', `a response may have ${maxBytes} bytes, got more`)
    }
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** Reads what nobody wants to know, so that the connection can be used again; a long rest is cut off. */
export function discard(body: Readable): void {
  let size = 0
  body.on('data', (chunk: Uint8Array) => {
    size += chunk.length
    if (size > 128 * 1024) body.destroy()
  })
}

/** What an error of `send` means: whether the server was ever reached, and whether trying again can help. */
export function judgeFailure(error: unknown): 'unreachable' | 'untrusted' | 'broken' {
  const code = String((error as { code?: unknown } | null)?.code)
  if (unreachable.has(code)) return 'unreachable'
  return /^ERR_(TLS|SSL)|CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code) ? 'untrusted' : 'broken'
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])
