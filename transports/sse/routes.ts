import { decode } from '../../protocol/wire/codec.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { answerInvalid } from '../../protocol/wire/jsonrpc.js'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { ByteBudget } from '../connections/byte-budget.js'
import { bindConnections, type Connections } from '../connections/connections.js'
import type { LinkScope, Peer } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { isKeptOut } from '../contract/events.js'
import { corsHeaders, isPreflight, preflightHeaders } from '../http/listen/cors.js'
import { every, type Gate, openGate } from '../http/listen/gate.js'
import { isSamePrincipal } from '../contract/principal.js'
import { SseConnection } from './connection.js'
import type { SseServeSettings } from './serve.js'
import { framingProblem } from '../http/listen/guard.js'
import { bytesRefusal, HttpRefusal, nothingHere } from '../http/listen/refusal.js'
import { textOf } from '../base/encoded.js'
import { checkContent, readText } from '../http/listen/body.js'
import { refuseBody, whenClosed } from '../http/listen/response.js'
import { pathOf, queryOf } from '../base/target.js'

interface RouteParts {
  readonly settings: SseServeSettings
  readonly gate: Gate
  readonly connections: Connections
  readonly budget: ByteBudget
  /** By the id that the endpoint carries, which is the secret that ties posts to their stream. */
  readonly streams: Map<string, SseConnection>
  readonly bind: (fn: () => void) => () => void
  /** For what is left to do when the scope has ended, too. */
  readonly world: World
}

/** Takes a port and serves the two paths on it. Rejects with TransportError LISTEN_FAILED. */
export async function bindSse(settings: SseServeSettings, scope: LinkScope): Promise<Connections> {
  const gate = await openGate(settings, scope, {
    transport: 'sse',
    paths: [settings.path, settings.messagesPath],
    problem: () => connections.problem,
    onRequest(request, response) {
      request.on('error', () => {}) // a client that goes is told by the end of its response
      response.on('error', () => {})
      void route(request, response, around)
    },
  })
  const { limits, timeouts, drainDelay, commentInterval } = settings
  const budget = new ByteBudget(limits)
  const connections = bindConnections(scope, {
    url: gate.server.url('http', settings.path),
    port: gate.server.port,
    stopListening: () => gate.server.stopListening(),
    maxConnections: limits.connections,
    openTimeout: timeouts.open,
    drainDelay,
    handshakeOnly: true,
    describe: () => budget.describe(),
  })
  const bind = (fn: () => void): (() => void) => scope.bind(fn)
  const world = lastingWorld(scope.world)
  const around: RouteParts = { settings, gate, connections, budget, streams: new Map(), bind, world }
  every(commentInterval, scope, () => {
    for (const stream of around.streams.values()) stream.keepAlive(world)
  })
  return connections
}

/** Never rejects: whatever goes wrong with one request costs that request. */
async function route(request: IncomingMessage, response: ServerResponse, around: RouteParts): Promise<void> {
  try {
    await pick(request, response, around)(request, response, around)
  } catch (cause) {
    const isFull = cause instanceof TransportError && cause.code === 'BYTES_LIMIT'
    const error = isFull ? bytesRefusal(cause) : cause
    if (!(error instanceof HttpRefusal)) return void response.destroy()
    if (isKeptOut(error.status) && !(error instanceof AccessRefusal))
      around.gate.noteRefused(request, error.status, error.message)
    answer(request, response, error, around.world)
  }
}

/** Whoever is kept out learns nothing else. */
function pick(request: IncomingMessage, response: ServerResponse, { gate, settings }: RouteParts) {
  const { method, headers, url } = request
  const framing = framingProblem(request)
  if (framing !== undefined) throw new HttpRefusal(framing.status, framing.problem)
  const problem = gate.check(request)
  if (problem !== undefined) throw new HttpRefusal(403, problem)
  if (settings.cors && headers.origin !== undefined)
    for (const [name, value] of Object.entries(corsHeaders(headers.origin))) response.setHeader(name, value)
  const path = pathOf(url)
  if (path !== settings.path && path !== settings.messagesPath) throw nothingHere(settings)
  if (settings.cors && isPreflight(request)) return answerPreflight
  if (path === settings.path) return method === 'GET' ? openStream : () => refuseMethod('GET')
  return method === 'POST' ? takeMessage : () => refuseMethod('POST')
}

function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, preflightHeaders(request)).end()
}

function refuseMethod(allow: string): never {
  throw new HttpRefusal(405, `expected ${allow}`, { allow })
}

async function openStream(
  request: IncomingMessage,
  response: ServerResponse,
  around: RouteParts,
): Promise<void> {
  const { gate, settings, connections, streams, bind, world } = around
  const { accept = '*/*' } = request.headers
  if (!/text\/(?:event-stream|\*)|\*\/\*/i.test(accept))
    throw new HttpRefusal(406, 'Accept: expected text/event-stream')
  const peer = await admit(request, gate)
  if (response.destroyed) return
  if (!gate.server.isListening || connections.size >= settings.limits.connections)
    throw new HttpRefusal(503, 'no more streams are taken at the moment', { 'retry-after': '10' })
  const id = world.id()
  const { limits: most, commentInterval } = settings
  const limits = {
    maxBufferedBytes: most.bufferedBytes,
    maxMessageBytes: most.messageBytes,
    timeout: commentInterval,
    account: around.budget.account(peer),
  }
  const stream = new SseConnection(response, request.socket, peer, limits)
  if (!gate.enter(peer, stream)) {
    gate.leave(stream)
    throw new HttpRefusal(429, 'this client has too many streams already', { 'retry-after': '10' })
  }
  streams.set(id, stream)
  stream.watch = gate.watch(request, peer)
  stream.begin(`${settings.messagesPath}?sessionId=${id}`)
  stream.accepted = connections.accept(stream)
  whenClosed(request, response, bind, () => {
    streams.delete(id)
    gate.leave(stream)
    stream.accepted?.closed()
  })
}

async function takeMessage(
  request: IncomingMessage,
  response: ServerResponse,
  { gate, settings, streams, budget }: RouteParts,
): Promise<void> {
  const id = new URLSearchParams(queryOf(request.url)).get('sessionId')
  if (id === null) throw new HttpRefusal(400, 'sessionId: expected the one of the endpoint event')
  const peer = await admit(request, gate)
  if (request.destroyed) return
  // a session is for who opened its stream; all others are told nothing of it
  if (!isSamePrincipal(streams.get(id)?.peer.principal, peer.principal) || !streams.has(id))
    throw new HttpRefusal(404, 'Session not found')
  // a client that does not read is not listened to
  await streams.get(id)?.room.caughtUp()
  if (request.destroyed) return
  const bytes = budget.account(peer)
  response.once('close', () => bytes.release())
  checkContent(request)
  const text = await readText(request, { messageBytes: settings.limits.messageBytes, bytes })
  checkMessage(text)
  const stream = streams.get(id)
  if (stream?.accepted === undefined) throw new HttpRefusal(404, 'Session not found')
  stream.principal = peer.principal
  stream.watch = gate.watch(request, peer)
  if (stream.isPaused || !stream.accepted.message(text, peer))
    throw new HttpRefusal(503, 'too many messages wait already', { 'retry-after': '1' })
  response.writeHead(202, { 'content-type': 'text/plain', 'content-length': '8' }).end('Accepted')
}

/** Whoever posts what is no message hears it at once: its stream answers messages. */
function checkMessage(text: string): void {
  try {
    decode(text)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    throw new HttpRefusal(400, answerInvalid(error) ?? error.message)
  }
}

/** Rejects with HttpRefusal. */
async function admit(request: IncomingMessage, gate: Gate): Promise<Peer> {
  const found = await gate.identify(request)
  if (!('denial' in found)) return found
  const { status, message, headers } = found.denial
  throw new AccessRefusal(status, message, headers)
}

/** A refusal that subscribers have been told of already. */
class AccessRefusal extends HttpRefusal {}

/** Writes a refusal, unless something has been written already; the connection is not used again. */
function answer(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: HttpRefusal,
  clock: World,
): void {
  if (response.headersSent) return void response.destroy()
  const text = textOf(refusal.body)
  const length = String(Buffer.byteLength(text))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...refusal.headers }
  refuseBody(request, response, { status: refusal.status, headers, text }, clock)
}
