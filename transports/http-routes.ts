import type { IncomingMessage } from 'node:http'
import { errorCodes } from '../protocol/errors.js'
import { buildError, isRequest, type JsonRpcRequest, type Message } from '../protocol/jsonrpc.js'
import { handshakeDialects, isSupported } from '../protocol/versions.js'
import type { ServerPort } from './contract.js'
import { TransportError } from './errors.js'
import { readMessageBody } from './http-body.js'
import { createGuard, type Guard } from './http-guard.js'
import type { HttpSettings } from './http-listener.js'
import { type Exchange, HttpRefusal } from './http-response.js'

/** Answers one exchange; never rejects. */
export type Route = (exchange: Exchange) => Promise<void>

interface Surroundings {
  readonly server: ServerPort
  readonly settings: HttpSettings
  readonly guard: Guard
}

/** What is done about each method of the one path (specification: transports, Streamable HTTP). */
const routes: { readonly [method: string]: (exchange: Exchange, around: Surroundings) => Promise<void> } = {
  POST: takeMessage,
  GET: openStream,
  DELETE: closeSession,
}

/** The routes of one listener: guard, path, method, and what the statuses of Streamable HTTP ask for. */
export function createRoute(server: ServerPort, settings: HttpSettings): Route {
  const around = { server, settings, guard: createGuard(settings) }
  return async (exchange) => {
    try {
      await pick(exchange.request, around)(exchange, around)
    } catch (error) {
      refuse(exchange, error)
    }
  }
}

function pick(request: IncomingMessage, { settings, guard }: Surroundings) {
  const problem = guard({ host: hostOf(request), origin: request.headers.origin })
  if (problem !== undefined) throw new HttpRefusal(403, problem)
  const [path] = (request.url ?? '').split('?', 1)
  if (path !== settings.path) throw new HttpRefusal(404, 'nothing is served at this path')
  const route = Object.hasOwn(routes, request.method ?? '') ? routes[request.method ?? ''] : undefined
  if (route === undefined) {
    throw new HttpRefusal(405, 'expected POST, GET or DELETE', { allow: Object.keys(routes).join(', ') })
  }
  return route
}

/** Node keeps the first of several Host headers; several are an attempt to have two readers see two hosts. */
function hostOf({ rawHeaders, headers }: IncomingMessage): string | undefined {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') count += 1
  return count === 1 ? headers.host : undefined
}

async function takeMessage(exchange: Exchange, around: Surroundings): Promise<void> {
  const { request } = exchange
  checkContent(request)
  if (!accepts(request, 'application/json') || !accepts(request, 'text/event-stream')) {
    throw new HttpRefusal(406, 'Accept: expected application/json and text/event-stream')
  }
  const message = await readMessageBody(request, around.settings.maxBodyBytes)
  if (isRequest(message)) exchange.requestId = message.id
  if (isRequest(message) && message.method === 'initialize') return openSession(exchange, message, around)
  await deliver(exchange, message, around)
}

function checkContent({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpRefusal(415, 'Content-Encoding: compressed bodies are not taken', {
      'accept-encoding': 'identity',
    })
  }
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new HttpRefusal(415, 'Content-Type: expected application/json')
  }
}

/** Wildcards count (RFC 9110), but something has to be said: the specification asks clients to list both types. */
function accepts({ headers }: IncomingMessage, type: string): boolean {
  const { accept } = headers
  if (accept === undefined) return false
  if (!accept.includes(';') && accept.includes(type)) return true
  const [main] = type.split('/')
  return accept.split(',').some((part) => {
    const [range = '', ...params] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const matches = range === type || range === `${main}/*` || range === '*/*'
    return matches && !params.some((param) => /^q=0(?:\.0*)?$/.test(param))
  })
}

async function openSession(
  exchange: Exchange,
  request: JsonRpcRequest,
  { server }: Surroundings,
): Promise<void> {
  if (exchange.request.headers['mcp-session-id'] !== undefined) {
    const message = 'initialize opens a session of its own: send it without Mcp-Session-Id'
    throw new HttpRefusal(400, buildError(request.id, { code: errorCodes.invalidRequest, message }))
  }
  const { sessionId, response } = await server.open(request, exchange.peer)
  exchange.answer(response, sessionId === undefined ? {} : { 'mcp-session-id': sessionId })
}

async function deliver(exchange: Exchange, message: Message, { server }: Surroundings): Promise<void> {
  const sessionId = readSession(exchange.request)
  const response = await server.deliver(sessionId, message, exchange, exchange.peer)
  // a cancelled request has no answer either
  if (response === undefined) exchange.finish(202)
  else exchange.answer(response)
}

async function openStream(exchange: Exchange, { server }: Surroundings): Promise<void> {
  if (!accepts(exchange.request, 'text/event-stream')) {
    throw new HttpRefusal(406, 'Accept: expected text/event-stream')
  }
  const sessionId = readSession(exchange.request)
  exchange.isListening = true
  const detach = await server.attach(sessionId, exchange)
  if (exchange.over) return detach()
  exchange.detach = detach
  exchange.openStream()
}

async function closeSession(exchange: Exchange, { server }: Surroundings): Promise<void> {
  await server.close(readSession(exchange.request))
  exchange.finish(204)
}

/** What every request after `initialize` has to say: its session, and a revision that we speak, if any. */
function readSession({ headers }: IncomingMessage): string {
  const revision = headers['mcp-protocol-version']
  if (revision !== undefined && !(typeof revision === 'string' && isSupported(revision))) {
    const known = handshakeDialects.map((dialect) => dialect.revision).join(', ')
    throw new HttpRefusal(400, `MCP-Protocol-Version: expected ${known}`)
  }
  const sessionId = headers['mcp-session-id']
  if (typeof sessionId !== 'string' || sessionId === '')
    throw new HttpRefusal(400, 'Mcp-Session-Id: expected the id of a session')
  return sessionId
}

function refuse(exchange: Exchange, error: unknown): void {
  if (error instanceof HttpRefusal) return exchange.refuse(error)
  if (error instanceof TransportError && error.code === 'SESSION_NOT_FOUND') {
    return exchange.refuse(new HttpRefusal(404, 'Session not found'))
  }
  if (error instanceof TransportError && error.code === 'SESSION_LIMIT') {
    return exchange.refuse(new HttpRefusal(503, error.message, { 'retry-after': '10' }))
  }
  exchange.fail(error, 'throw')
}
