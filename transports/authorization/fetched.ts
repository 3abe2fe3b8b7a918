import { EventEmitter } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FetchedExchange } from '../auth/own-server.js'

/** The exchange of a listener for `fetch`, with what Koa looks at besides. */
export function pageExchange({ incoming, outgoing, result }: FetchedExchange): FetchedExchange {
  const { headers } = incoming
  // Koa looks for a body by what a connection would say
  if (incoming.method === 'POST' && headers['content-length'] === undefined)
    headers['transfer-encoding'] ??= 'chunked'
  const request = Object.assign(incoming, { httpVersionMajor: 1, httpVersionMinor: 1 })
  const response = new PageResponse(request, outgoing) as unknown as ServerResponse
  return { incoming: request, outgoing: response, result }
}

/** A response that is composed header by header, before one of a listener gets it. */
class PageResponse extends EventEmitter {
  readonly req: IncomingMessage
  readonly socket = null
  statusCode = 200
  statusMessage = ''
  headersSent = false
  writableEnded = false
  readonly #outgoing: ServerResponse
  readonly #headers = new Map<string, number | string | readonly string[]>()

  constructor(request: IncomingMessage, outgoing: ServerResponse) {
    super()
    this.req = request
    this.#outgoing = outgoing
    outgoing.once('close', () => this.emit('close'))
  }

  get finished(): boolean {
    return this.writableEnded
  }

  get destroyed(): boolean {
    return this.#outgoing.destroyed
  }

  getHeader(name: string) {
    return this.#headers.get(name.toLowerCase())
  }

  getHeaders(): OutgoingHttpHeaders {
    return Object.fromEntries(this.#headers) as OutgoingHttpHeaders
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()]
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase())
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    this.#headers.set(name.toLowerCase(), value)
    return this
  }

  appendHeader(name: string, value: string | readonly string[]): this {
    return this.setHeader(name, [this.getHeader(name) ?? [], value].flat().map(String))
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase())
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value)
    return this
  }

  flushHeaders(): void {
    this.#begin()
    this.#outgoing.flushHeaders()
  }

  write(chunk: unknown): boolean {
    this.#begin()
    return this.#outgoing.write(chunk)
  }

  end(chunk?: unknown): this {
    if (this.writableEnded) return this
    this.#begin()
    this.writableEnded = true
    this.#outgoing.end(chunk)
    this.emit('finish')
    return this
  }

  destroy(): this {
    this.#outgoing.destroy()
    return this
  }

  #begin(): void {
    if (this.headersSent) return
    this.headersSent = true
    this.#outgoing.writeHead(this.statusCode, this.getHeaders())
  }
}
