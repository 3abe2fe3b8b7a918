import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildNotification } from 'caduceus/protocol'
import { type Heard, heard } from '../support/heard.js'
import type { TestContext } from '../support/suite.js'

/** One request as a server saw it; `message` is its parsed body. */
export type Seen = {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly message: { id?: number; method?: string; params?: Record<string, unknown> }
  readonly response: ServerResponse
}

/** A server that a test answers for. */
export type RawHttp = { readonly url: string; readonly seen: Heard<Seen>; readonly server: Server }

/** Starts an HTTP server that hands every request, its body read, to `handle`; it goes away with the test. */
export async function listen(
  t: Pick<TestContext, 'after'>,
  handle: (seen: Seen) => unknown,
  port = 0,
): Promise<RawHttp> {
  const seen = heard<Seen>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const message = body === '' ? {} : JSON.parse(body)
    const one: Seen = { method: request.method ?? '', headers: request.headers, message, response }
    seen.add(one)
    handle(one)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.after(() => end(server))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?x=1`, seen, server }
}

/** Ends a server with all of its connections. */
export function end(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

/** Answers with JSON. */
export function json(
  { response }: Seen,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** Begins an event stream; write to the response what you like. */
export function stream({ response }: Seen): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders()
  return response
}

/** Answers without a body. */
export function status({ response }: Seen, code: number, headers: Record<string, string> = {}): void {
  response.writeHead(code, headers).end()
}

/** The answer to a request. */
export function result({ message }: Seen, value: object): object {
  return { jsonrpc: '2.0', id: message.id, result: value }
}

/**
 * What most servers do: a session for `initialize`, 202 for what is no request, 405 for a stream; `rest` answers everything else.
 */
export function polite(rest: (seen: Seen) => unknown = () => {}): (seen: Seen) => unknown {
  return (seen) => {
    if (seen.method === 'GET') return status(seen, 405)
    if (seen.method === 'DELETE') return status(seen, 200)
    if (seen.message.method === 'initialize') return greet(seen)
    return seen.message.id === undefined ? status(seen, 202) : rest(seen)
  }
}

/** Answers `initialize` with a session. */
export function greet(seen: Seen, sessionId = 'session-1', revision = '2025-11-25'): void {
  const serverInfo = { name: 'raw', version: '1' }
  const value = { protocolVersion: revision, capabilities: { tools: { listChanged: true } }, serverInfo }
  json(seen, result(seen, value), 200, { 'mcp-session-id': sessionId })
}

/** What a client says when the handshake is done. */
export const initialized = buildNotification('notifications/initialized')
