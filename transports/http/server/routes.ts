import type { IncomingMessage } from 'node:http'
import type { Batch } from '../../../protocol/wire/codec.js'
import { errorCodes, ProtocolError } from '../../../protocol/wire/errors.js'
import { buildError, isRequest, type JsonRpcRequest } from '../../../protocol/wire/jsonrpc.js'
import {
  dialectOf,
  handshakesOf,
  haveHandshake,
  isModernRevision,
  revisionWithoutHeader,
} from '../../../protocol/dialects/versions.js'
import { messageOf } from '../../../runtime/base/errors.js'
import { denialOf, identify } from '../../auth/authenticate.js'
import type { AuthSettings } from '../../auth/options.js'
import { challengeOf, lackingIn } from '../../auth/scopes.js'
import type { ClientCounts } from '../../connections/client-counts.js'
import { type ServerPort, spokenBy } from '../../contract/contract.js'
import { notNow, TransportError } from '../../base/errors.js'
import type { EventLog } from '../streams/event-log.js'
import { isKeptOut, type ListenerOrigin, noteRefused } from '../../contract/events.js'
import { isBatch } from '../../connections/answers.js'
import { checkContent, readMessage } from '../listen/body.js'
import { corsHeaders, isPreflight, preflightHeaders } from '../listen/cors.js'
import { createGuard, framingProblem, type Guard, guardedHeaders } from '../listen/guard.js'
import type { HttpSettings } from './serve.js'
import { type AssignedRequest, headersKey, principalKey, withoutToken } from '../listen/peer.js'
import { readEra, serveModern } from './modern-routes.js'
import { bytesRefusal, HttpRefusal, nothingHere, unavailable } from '../listen/refusal.js'
import { keyOfPrincipal } from '../../contract/principal.js'
import type { Exchange, ExchangeLimits } from './exchange.js'
import { listen, listenOrResume } from './streams.js'
import { pathOf } from '../../base/target.js'

/** Answers one exchange; never rejects. */
type Route = (exchange: Exchange) => Promise<void>

interface Surroundings {
  readonly server: ServerPort
  readonly settings: HttpSettings
  readonly guard: Guard
  readonly log: EventLog | undefined
  readonly clients: ClientCounts<Exchange>
  readonly origin: ListenerOrigin
  readonly limits: Pick<ExchangeLimits, 'closing' | 'world'>
}

/** What is done about each method of the one path (specification: transports, Streamable HTTP). */
const routes: { readonly [method: string]: (exchange: Exchange, around: Surroundings) => Promise<void> } = {
  POST: takeMessage,
  GET: openStream,
  DELETE: closeSession,
}

/** The routes of one listener: guard, path, method, and what the statuses of Streamable HTTP ask for. */
export function createRoute(
  server: ServerPort,
  settings: HttpSettings,
  kept: Pick<Surroundings, 'clients' | 'log' | 'origin' | 'limits'>,
): Route {
  const around = { server, settings, guard: createGuard(settings), ...kept }
  return async (exchange) => {
    try {
      const answer = pick(exchange, around)
      const known = (exchange.request as AssignedRequest)[principalKey]
      const asks = settings.authenticate !== undefined || known !== undefined
      if (asks && answer !== answerPreflight) await admit(exchange, around)
      if (!exchange.over) await answer(exchange, around)
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) return exchange.fail(error, 'throw')
      if (isKeptOut(refusal.status))
        noteRefused(kept.origin, exchange.peer.remoteAddress, {
          status: refusal.status,
          problem: problemOf(error),
        })
      exchange.refuse(withChallenge(refusal, exchange, settings.auth))
    }
  }
}

function pick(exchange: Exchange, { settings, guard, clients, server }: Surroundings) {
  const { request, peer } = exchange
  const framing = framingProblem(request)
  if (framing !== undefined) throw new HttpRefusal(framing.status, framing.problem, { connection: 'close' })
  const seen = guardedHeaders(request)
  const problem = guard(seen)
  if (problem !== undefined) throw new HttpRefusal(403, problem)
  if (settings.cors && seen.origin !== undefined) exchange.addHeaders(corsHeaders(seen.origin))
  if (!exchange.over && !clients.enterFrom(peer.remoteAddress, exchange)) throw tooMany('address', clients)
  const { url, method = '' } = request
  if (url !== settings.path && pathOf(url) !== settings.path) throw nothingHere(settings)
  const route = Object.hasOwn(routes, method) ? routes[method] : undefined
  if (route !== undefined && method !== 'POST') checkSessionMethod(request, server)
  if (route !== undefined) return route
  if (settings.cors && isPreflight(request)) return answerPreflight
  throw new HttpRefusal(405, 'expected POST, GET or DELETE', { allow: Object.keys(routes).join(', ') })
}

/** Before anything of the request is used. Who was handed over by the framework is known already. */
async function admit(exchange: Exchange, { settings, clients, limits }: Surroundings): Promise<void> {
  const { peer, request } = exchange
  const assigned: AssignedRequest = request
  const { [principalKey]: known = 'nobody' } = assigned
  if (known === 'nobody') {
    if (settings.authenticate === undefined)
      throw new TransportError('UNAUTHORIZED', 'principal: nobody was handed over with the request')
    try {
      assigned[principalKey] = (await identify({ peer, request }, settings, limits.world)) ?? 'anonymous'
    } catch (error) {
      if (denialOf(error) !== undefined) throw error
      // also a TransportError, which would mean something else of ours
      return exchange.fail(error, 'throw')
    }
  }
  if (settings.auth !== undefined) (request as AssignedRequest)[headersKey] = withoutToken(request.headers)
  if (peer.principal === undefined || exchange.over) return
  if (!clients.enter(keyOfPrincipal(peer.principal), exchange)) throw tooMany('principal', clients)
}

function tooMany(whose: 'address' | 'principal', { max }: ClientCounts<Exchange>): HttpRefusal {
  const problem = `one ${whose} may have ${max} requests at once`
  return new HttpRefusal(429, problem, { 'retry-after': '1' })
}

async function answerPreflight(exchange: Exchange): Promise<void> {
  exchange.finish(204, preflightHeaders(exchange.request))
}

async function takeMessage(exchange: Exchange, around: Surroundings): Promise<void> {
  const { request } = exchange
  checkContent(request)
  await checkSession(exchange, around.server)
  const { messageBytes } = around.settings.limits
  const { message } = await readMessage(request, { messageBytes, bytes: exchange.bytes })
  if (!isBatch(message) && isRequest(message)) exchange.requestId = message.id
  const era = readEra(message, exchange, around.server)
  if (era === undefined) return
  if (era.era === 'modern') return serveModern(exchange, message, era, around)
  checkAccept(request)
  if (isBatch(message)) return deliverBatch(exchange, message, around)
  if (isRequest(message)) {
    if (message.method === 'initialize') return openSession(exchange, message, around)
    exchange.sessionId = readSession(request, around)
  }
  const sessionId = exchange.sessionId ?? readSession(request, around)
  const response = await around.server.deliver(sessionId, message, exchange, exchange.peer)
  // a cancelled request has no answer either
  if (response === undefined) exchange.finish(202)
  else if (lackingIn(response) !== undefined) throw new HttpRefusal(403, response)
  else exchange.answer(response)
}

/** Bodies that are longer, or do not say how long they are, are read for whoever may send them only. */
const shortBody = 64 * 1024

/** Refuses a missing or foreign session before the body is read; revisions without sessions have none. */
async function checkSession({ request, peer }: Exchange, server: ServerPort): Promise<void> {
  const { 'mcp-session-id': sessionId, 'mcp-protocol-version': revision } = request.headers
  if (typeof sessionId !== 'string' || sessionId === '') return
  if (typeof revision === 'string' && isModernRevision(revision)) return
  const isShort = Number(request.headers['content-length']) <= shortBody
  if (isShort && server.knows?.(sessionId) !== false) return
  try {
    await server.admit?.(sessionId, peer)
  } catch (error) {
    // anything but a refusal `deliver` meets again, and tells under the id of the request
    if (error instanceof TransportError) throw error
  }
}

/** For revisions with sessions only: the others are served whatever they accept (specification). */
function checkAccept(request: IncomingMessage): void {
  // what nearly all clients say, word by word
  if (request.headers.accept === 'application/json, text/event-stream') return
  if (accepts(request, 'application/json') && accepts(request, 'text/event-stream')) return
  throw new HttpRefusal(406, 'Accept: expected application/json and text/event-stream')
}

/** Wildcards count (RFC 9110), but the header must be there (specification: transports). */
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

/** Only 2025-03-26 has batches: they are for its sessions to open, and refused with 400 by all others. */
async function deliverBatch(exchange: Exchange, batch: Batch, around: Surroundings): Promise<void> {
  const sessionId = readSession(exchange.request, around)
  try {
    const answers = await around.server.deliverBatch?.(sessionId, batch, exchange, exchange.peer)
    if (answers === undefined) throw new HttpRefusal(400, 'a batch: this server takes one message at a time')
    exchange.answerAll(answers)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    throw new HttpRefusal(400, error.message)
  }
}

async function openStream(exchange: Exchange, around: Surroundings): Promise<void> {
  const { server, log } = around
  if (!accepts(exchange.request, 'text/event-stream')) {
    throw new HttpRefusal(406, 'Accept: expected text/event-stream')
  }
  const sessionId = readSession(exchange.request, around)
  if (log === undefined) await listen(exchange, sessionId, server)
  else await listenOrResume(exchange, sessionId, { server, log })
}

async function closeSession(exchange: Exchange, around: Surroundings): Promise<void> {
  const { server, log } = around
  const sessionId = readSession(exchange.request, around)
  await server.close(sessionId, exchange.peer)
  log?.forget(sessionId)
  exchange.finish(204)
}

/** GET and DELETE need a session: a revision without sessions knows POST alone. */
function checkSessionMethod({ headers }: IncomingMessage, server: ServerPort): void {
  const revision = headers['mcp-protocol-version']
  const [newest = ''] = spokenBy(server)
  if (!haveHandshake(spokenBy(server)))
    throw new HttpRefusal(405, `expected POST: ${newest} has no sessions`, { allow: 'POST' })
  if (headers['mcp-session-id'] !== undefined || typeof revision !== 'string') return
  if (isModernRevision(revision))
    throw new HttpRefusal(405, `expected POST in ${revision}`, { allow: 'POST' })
}

/** What every request after `initialize` has to say: its session, and a revision that we speak, if any. */
function readSession({ headers }: IncomingMessage, { server }: Pick<Surroundings, 'server'>): string {
  const revision = headers['mcp-protocol-version']
  if (revision !== undefined && !isSpoken(revision, server)) {
    const known = handshakesOf(spokenBy(server)).map((dialect) => dialect.revision)
    throw new HttpRefusal(400, `MCP-Protocol-Version: expected ${known.join(', ')}`)
  }
  const sessionId = headers['mcp-session-id']
  if (typeof sessionId !== 'string' || sessionId === '')
    throw new HttpRefusal(400, 'Mcp-Session-Id: expected the id of a session')
  return sessionId
}

/** `2025-03-26` counts as no header, since that is what none means. */
function isSpoken(revision: string | string[], server: ServerPort): boolean {
  if (revision === revisionWithoutHeader) return true
  return typeof revision === 'string' && dialectOf(revision, handshakesOf(spokenBy(server))) !== undefined
}

/** For events: says more of a token than its client is told. */
function problemOf(error: unknown): string {
  return error instanceof HttpRefusal && 'error' in error.body ? error.body.error.message : messageOf(error)
}

function refusalOf(error: unknown): HttpRefusal | undefined {
  if (error instanceof HttpRefusal) return error
  const denial = denialOf(error)
  if (denial !== undefined) return new HttpRefusal(denial.status, denial.message, denial.headers)
  if (!(error instanceof TransportError)) return undefined
  const { code, message } = error
  if (code === 'SESSION_NOT_FOUND') return new HttpRefusal(404, 'Session not found')
  if (code === 'REVISION_MISMATCH') return new HttpRefusal(400, message)
  if (code === 'SESSION_LIMIT') return new HttpRefusal(503, message, { 'retry-after': '10' })
  if (code === 'SEND_FAILED') return unavailable(undefined, message)
  // the message names addresses, and may quote the engine: it is for events
  if (code === 'CLUSTER_UNAVAILABLE') return unavailable(undefined, notNow)
  if (code === 'BYTES_LIMIT') return bytesRefusal(error)
  if (code === 'CLIENT_LIMIT') return new HttpRefusal(429, message, { 'retry-after': '10' })
  return undefined
}

/** Characters of all scopes in a challenge: clients have limits for headers. */
const maxScopes = 2_000

/**
 * Says which scopes to ask for: those needed and those that the token has, since a client of 2025-11-25 asks
 * for no others (specification: authorization, step-up).
 */
function withChallenge(
  refusal: HttpRefusal,
  { peer: { principal }, request }: Pick<Exchange, 'peer' | 'request'>,
  auth: AuthSettings | undefined,
): HttpRefusal {
  const lacking = lackingIn(refusal.body)
  if (lacking === undefined || refusal.status !== 403) return refusal
  const scopes = limited(new Set([...(auth?.scopes ?? []), ...lacking, ...(principal?.scopes ?? [])]))
  const description = 'the token lacks a scope that this request takes'
  const { authorization } = request.headers
  const challenge = challengeOf({ error: 'insufficient_scope', description, scopes }, auth, authorization)
  return new HttpRefusal(403, refusal.body, { ...refusal.headers, 'www-authenticate': challenge })
}

/** What is needed stands first. */
function limited(scopes: ReadonlySet<string>): readonly string[] {
  let room = maxScopes
  return [...scopes].filter((scope) => {
    room -= scope.length + 1
    return room >= 0 && scope !== 'offline_access'
  })
}
