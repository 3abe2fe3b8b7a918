import type { IncomingMessage } from 'node:http'
import { modernStatusOf } from '../../../protocol/stateless/era.js'
import { ProtocolError } from '../../../protocol/wire/errors.js'
import { haveHandshake, isModernRevision } from '../../../protocol/dialects/versions.js'
import { messageOf, RuntimeError } from '../../../runtime/base/errors.js'
import { admitKnown, denialOf, identify } from '../../auth/authenticate.js'
import type { AuthSettings } from '../../auth/options.js'
import { isWatched, TokenWatch } from '../../auth/token-watch.js'
import { challengeOf, lackingIn } from '../../auth/scopes.js'
import type { ClientCounts } from '../../connections/client-counts.js'
import type { Outcome, ServerPort } from '../../contract/contract.js'
import { sessionIn } from '../../contract/session-header.js'
import { notNow, TransportError } from '../../base/errors.js'
import type { EventLog } from '../streams/event-log.js'
import { isKeptOut, type ListenerOrigin, noteRefused, unidentifiedNotes } from '../../contract/events.js'
import { checkContent, readText } from '../listen/body.js'
import { corsHeaders, isPreflight, preflightHeaders } from '../listen/cors.js'
import { createGuard, framingProblem, type Guard, guardedHeaders } from '../listen/guard.js'
import type { HttpSettings } from './options.js'
import { type AssignedRequest, headersKey, principalKey, withoutToken } from '../listen/peer.js'
import { bytesRefusal, HttpRefusal, nothingHere, unavailable } from '../listen/refusal.js'
import { keyOfPrincipal, type Principal } from '../../contract/principal.js'
import type { HttpExchange, ExchangeLimits } from './exchange.js'
import { listen, listenOrResume } from './streams.js'
import { pathOf } from '../../base/target.js'

/** Answers one exchange; never rejects. */
type Route = (exchange: HttpExchange) => Promise<void>

interface Surroundings {
  readonly server: ServerPort
  readonly settings: HttpSettings
  readonly guard: Guard
  readonly log: EventLog | undefined
  readonly clients: ClientCounts<HttpExchange>
  readonly origin: ListenerOrigin
  readonly limits: Pick<ExchangeLimits, 'answers' | 'closing' | 'world'>
  /** Tells why it cannot be known who sends requests. */
  readonly unidentified: (problem: string) => void
}

/** What is done about each method of the one path (specification: transports, Streamable HTTP). */
const routes: { readonly [method: string]: (exchange: HttpExchange, around: Surroundings) => Promise<void> } =
  {
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
  const unidentified = unidentifiedNotes(kept.origin, kept.limits.world)
  const around = { server, settings, guard: createGuard(settings), unidentified, ...kept }
  return async (exchange) => {
    try {
      const answer = pick(exchange, around)
      const known = (exchange.request as AssignedRequest)[principalKey]
      const asks = settings.authenticate !== undefined || known !== undefined
      if (asks && answer !== answerPreflight) await admit(exchange, around)
      if (!exchange.isOver) await answer(exchange, around)
    } catch (error) {
      refuse(exchange, error, around)
    }
  }
}

/** An error that is not of ours to tell is reported, and answered with status 500. */
function refuse(exchange: HttpExchange, error: unknown, { origin, settings }: Surroundings): void {
  const refusal = refusalOf(error, exchange)
  if (refusal === undefined) return exchange.fail(error, 'throw')
  const { status } = refusal
  if (isKeptOut(status))
    noteRefused(origin, exchange.peer.remoteAddress, { status, problem: problemOf(error) })
  exchange.refuse(withChallenge(refusal, exchange, settings.auth))
}

function pick(exchange: HttpExchange, { settings, guard, clients, server }: Surroundings) {
  const { request, peer } = exchange
  const framing = framingProblem(request)
  if (framing !== undefined) throw new HttpRefusal(framing.status, framing.problem, { connection: 'close' })
  const seen = guardedHeaders(request)
  const problem = guard(seen)
  if (problem !== undefined) throw new HttpRefusal(403, problem)
  if (settings.cors && seen.origin !== undefined) exchange.addHeaders(corsHeaders(seen.origin))
  if (!exchange.isOver && !clients.enterFrom(peer.remoteAddress, exchange)) throw tooMany('address', clients)
  const { url, method = '' } = request
  if (url !== settings.path && pathOf(url) !== settings.path) throw nothingHere(settings)
  const route = Object.hasOwn(routes, method) ? routes[method] : undefined
  if (route !== undefined && method !== 'POST') checkSessionMethod(request, server)
  if (route !== undefined) return route
  if (settings.cors && isPreflight(request)) return answerPreflight
  throw new HttpRefusal(405, 'expected POST, GET or DELETE', { allow: Object.keys(routes).join(', ') })
}

/** Before anything of the request is used. Who was handed over by the framework is known already. */
async function admit(
  exchange: HttpExchange,
  { server, settings, clients, limits, unidentified }: Surroundings,
): Promise<void> {
  const { peer, request } = exchange
  const assigned: AssignedRequest = request
  const { [principalKey]: known = 'nobody' } = assigned
  if (known instanceof TransportError) return exchange.fail(known, 'throw')
  if (typeof known === 'object') assigned[principalKey] = admitKnown(known, settings.auth, limits.world)
  if (known === 'nobody') {
    if (settings.authenticate === undefined)
      throw new TransportError('UNAUTHORIZED', 'principal: nobody was handed over with the request')
    try {
      const principal = await identify({ peer, request }, settings, limits.world)
      assigned[principalKey] = principal ?? 'anonymous'
      if (principal !== undefined) hear(server, principal, request)
      if (principal !== undefined) watchLater(exchange, principal, { settings, limits })
    } catch (error) {
      const denial = denialOf(error)
      // nobody waits for what was given up
      if (denial?.status === 503 && !request.socket.destroyed) unidentified(denial.problem)
      if (denial !== undefined) throw error
      // also a TransportError, which would mean something else of ours
      return exchange.fail(error, 'throw')
    }
  }
  if (settings.auth !== undefined) (request as AssignedRequest)[headersKey] = withoutToken(request.headers)
  if (peer.principal === undefined || exchange.isOver) return
  if (!clients.enter(keyOfPrincipal(peer.principal), exchange)) throw tooMany('principal', clients)
}

/** A server that trades tokens gets the one that came. */
function hear({ pages }: ServerPort, principal: Principal, { headers }: IncomingMessage): void {
  if (pages?.heard === undefined) return
  const [, token] = /^(?:bearer|dpop) +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '') ?? []
  if (token !== undefined) pages.heard(principal, token)
}

/** Most requests are over before their token can be revoked: only what lasts has it watched. */
function watchLater(
  exchange: HttpExchange,
  principal: Principal,
  { settings, limits: { world } }: Pick<Surroundings, 'settings' | 'limits'>,
): void {
  if (!isWatched(settings)) return
  const { request, peer } = exchange
  const report = (error: unknown): void => exchange.fail(error, 'throw')
  exchange.watchToken = () => new TokenWatch({ request, peer, principal, settings, world, report })
}

function tooMany(whose: 'address' | 'principal', { max }: ClientCounts<HttpExchange>): HttpRefusal {
  const problem = `one ${whose} may have ${max} requests at once`
  return new HttpRefusal(429, problem, { 'retry-after': '1' })
}

async function answerPreflight(exchange: HttpExchange): Promise<void> {
  exchange.finish(204, preflightHeaders(exchange.request))
}

async function takeMessage(exchange: HttpExchange, around: Surroundings): Promise<void> {
  const { request, peer } = exchange
  const { server, settings, limits } = around
  checkContent(request)
  await checkSession(exchange, server)
  const text = await readText(request, { messageBytes: settings.limits.messageBytes, bytes: exchange.bytes })
  exchange.onOutcome = (outcome) => conclude(exchange, outcome, around)
  await limits.answers.read(exchange, text.length, () => {
    if (!exchange.isOver) server.receive({ text, peer, sink: exchange, acceptsBoth: acceptsBoth(request) })
  })
}

/** The status of each outcome of a message (specification: transports, Streamable HTTP). */
function conclude(exchange: HttpExchange, outcome: Outcome, around: Surroundings): void {
  switch (outcome.type) {
    case 'answered': {
      const { response, sessionId } = outcome
      if (lackingIn(response) !== undefined) return refuse(exchange, new HttpRefusal(403, response), around)
      return exchange.answer(response, sessionId === undefined ? {} : { 'mcp-session-id': sessionId })
    }
    case 'answers':
      return exchange.answerAll()
    case 'accepted':
      return exchange.finish(202)
    case 'refused': {
      const { response, why, by } = outcome
      if (response === undefined || !('error' in response))
        return refuse(exchange, new HttpRefusal(400, why), around)
      const isLacking = lackingIn(response) !== undefined
      const status = isLacking ? 403 : modernStatusOf(response.error.code, by)
      if (status === 200) return exchange.answer(response)
      return refuse(exchange, new HttpRefusal(status, response), around)
    }
    case 'unacceptable':
      return refuse(exchange, new HttpRefusal(406, outcome.why), around)
    case 'failed':
      return refuse(exchange, outcome.error, around)
    case 'over':
      return exchange.finish(200)
  }
}

/** Bodies that are longer, or do not say how long they are, are read for whoever may send them only. */
const shortBody = 64 * 1024

/** Refuses a missing or foreign session before the body is read; revisions without sessions have none. */
async function checkSession({ request, peer }: HttpExchange, server: ServerPort): Promise<void> {
  const { 'mcp-session-id': sessionId, 'mcp-protocol-version': revision } = request.headers
  if (typeof sessionId !== 'string' || sessionId === '') return
  if (typeof revision === 'string' && isModernRevision(revision)) return
  const isShort = Number(request.headers['content-length']) <= shortBody
  try {
    await server.admit(sessionId, peer, isShort)
  } catch (error) {
    // the session itself meets anything but a refusal again, and tells it under the id of the request
    if (error instanceof TransportError) throw error
  }
}

/** Revisions with sessions ask for both; the others are served whatever a client accepts (specification). */
function acceptsBoth(request: IncomingMessage): boolean {
  // what nearly all clients say, word by word
  if (request.headers.accept === 'application/json, text/event-stream') return true
  return accepts(request, 'application/json') && accepts(request, 'text/event-stream')
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

async function openStream(exchange: HttpExchange, around: Surroundings): Promise<void> {
  const { server, log } = around
  if (!accepts(exchange.request, 'text/event-stream')) {
    throw new HttpRefusal(406, 'Accept: expected text/event-stream')
  }
  const sessionId = sessionOf(exchange, server)
  if (log === undefined) await listen(exchange, sessionId, server)
  else await listenOrResume(exchange, sessionId, { server, log })
}

async function closeSession(exchange: HttpExchange, around: Surroundings): Promise<void> {
  const { server, log } = around
  const sessionId = sessionOf(exchange, server)
  await server.close(sessionId, exchange.peer)
  log?.forget(sessionId)
  exchange.finish(204)
}

/** GET and DELETE need a session: a revision without sessions knows POST alone. */
function checkSessionMethod({ headers }: IncomingMessage, server: ServerPort): void {
  const revision = headers['mcp-protocol-version']
  const [newest = ''] = server.revisions
  if (!haveHandshake(server.revisions))
    throw new HttpRefusal(405, `expected POST: ${newest} has no sessions`, { allow: 'POST' })
  if (headers['mcp-session-id'] !== undefined || typeof revision !== 'string') return
  if (isModernRevision(revision))
    throw new HttpRefusal(405, `expected POST in ${revision}`, { allow: 'POST' })
}

/** The session that a GET or DELETE names. Throws HttpRefusal. */
function sessionOf({ request }: HttpExchange, { revisions }: ServerPort): string {
  try {
    return sessionIn(request.headers, revisions)
  } catch (error) {
    throw error instanceof ProtocolError ? new HttpRefusal(400, error.message) : error
  }
}

/** For events: says more of a token than its client is told. */
function problemOf(error: unknown): string {
  return error instanceof HttpRefusal ? error.message : messageOf(error)
}

function refusalOf(error: unknown, { requestId }: Pick<HttpExchange, 'requestId'>): HttpRefusal | undefined {
  if (error instanceof HttpRefusal) return error
  const denial = denialOf(error)
  if (denial !== undefined) return new HttpRefusal(denial.status, denial.message, denial.headers)
  // an actor that has too much to do, or has ended: it may be asked once more
  if (error instanceof RuntimeError && error.retryable) return unavailable(requestId, notNow)
  if (!(error instanceof TransportError)) return undefined
  const { code, message } = error
  if (code === 'SESSION_NOT_FOUND') return new HttpRefusal(404, 'Session not found')
  if (code === 'REVISION_MISMATCH') return new HttpRefusal(400, message)
  if (code === 'SESSION_LIMIT') return new HttpRefusal(503, message, { 'retry-after': '10' })
  if (code === 'SEND_FAILED' || code === 'EXCHANGE_LIMIT') return unavailable(requestId, message)
  // the message names addresses, and may quote the engine: it is for events
  if (code === 'CLUSTER_UNAVAILABLE') return unavailable(requestId, notNow)
  if (code === 'BYTES_LIMIT') return bytesRefusal(error)
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
  { peer: { principal }, request }: Pick<HttpExchange, 'peer' | 'request'>,
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
