import type { Batch } from '../../../protocol/wire/codec.js'
import type { Envelope } from '../../../protocol/stateless/envelope.js'
import {
  checkModernHeaders,
  eraOfHttp,
  type HttpEra,
  modernStatusOf,
  unsupportedHandshake,
} from '../../../protocol/stateless/era.js'
import { errorCodes, McpError, toJsonRpcError } from '../../../protocol/wire/errors.js'
import {
  buildError,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../../protocol/wire/jsonrpc.js'
import { haveHandshake } from '../../../protocol/dialects/versions.js'
import { lackingIn } from '../../auth/scopes.js'
import { type ExchangeAnswer, type Response, type ServerPort, spokenBy } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import { TransportCall } from '../../contract/exchange-call.js'
import { isBatch } from '../../connections/answers.js'
import { HttpRefusal, unavailable } from '../listen/refusal.js'
import type { Exchange, ExchangeLimits } from './exchange.js'

/** The era of a body; undefined once answered (a notification of a handshake: 202). Throws HttpRefusal. */
export function readEra(
  message: Message | Batch,
  exchange: Exchange,
  server: ServerPort,
): HttpEra | undefined {
  const spoken = spokenBy(server)
  try {
    const era = eraOfHttp(message, exchange.request.headers)
    if (era.era === 'modern' || haveHandshake(spoken)) return era
    if (!isBatch(message) && isRequest(message)) throw unsupportedHandshake(message, spoken)
  } catch (error) {
    throw refusalOf(error, exchange.requestId)
  }
  exchange.finish(202)
  return undefined
}

/**
 * Serves a request that has no session (specification: 2026-07-28, Streamable HTTP): no header of a session
 * is read or written, nothing is kept for a client that is gone, and its going cancels the request. The
 * status is written with the first notification or with the answer. Throws HttpRefusal.
 */
export async function serveModern(
  exchange: Exchange,
  request: Message | Batch,
  { envelope }: { readonly envelope: Envelope | undefined },
  { server, limits }: { readonly server: ServerPort; readonly limits: Pick<ExchangeLimits, 'closing'> },
): Promise<void> {
  // notifications: 2026-07-28 has none by HTTP, and those of extensions are nothing to us
  if (envelope === undefined || isBatch(request) || !isRequest(request)) return exchange.finish(202)
  check(exchange, request, envelope, server)
  // subscriptions were ended a moment ago
  if (limits.closing && request.method === 'subscriptions/listen')
    return exchange.interrupt('The server is being stopped')
  // the client has gone: the server need not know
  if (exchange.over) return
  // as a stream of a session does
  if (request.method === 'subscriptions/listen') exchange.endConnection()
  const call = new TransportCall({ request, envelope, outlet: exchange, peer: exchange.peer, mirrored: true })
  exchange.detach = () => call.abort()
  const { response, refused = false } = await exchangeOf(server, call)
  exchange.detach = null
  // only the client can cancel it, and it has gone
  if (response === undefined) return exchange.finish(202)
  const status = statusOf(response, refused)
  if (status === 200) exchange.answer(response)
  else throw new HttpRefusal(status, response)
}

function check(
  { request: { headers } }: Exchange,
  request: JsonRpcRequest,
  envelope: Envelope,
  server: ServerPort,
): void {
  try {
    checkModernHeaders(request, envelope, headers, spokenBy(server))
  } catch (error) {
    throw refusalOf(error, request.id)
  }
}

async function exchangeOf(server: ServerPort, call: TransportCall): Promise<Partial<ExchangeAnswer>> {
  try {
    return (await server.exchange?.(call)) ?? {}
  } catch (error) {
    throw refusalOf(error, call.request.id)
  }
}

/** What a handler answers has status 200, but for a capability that the client lacks, which is found late. */
function statusOf(response: Response, refused: boolean): number {
  if (!('error' in response)) return 200
  if (lackingIn(response) !== undefined) return 403
  const { code } = response.error
  return refused || code === errorCodes.missingClientCapability ? modernStatusOf(code) : 200
}

function refusalOf(error: unknown, id: RequestId | undefined): unknown {
  if (error instanceof McpError)
    return new HttpRefusal(modernStatusOf(error.code, 'ladder'), buildError(id, toJsonRpcError(error)))
  const isFull = error instanceof TransportError && error.code === 'EXCHANGE_LIMIT'
  return isFull ? unavailable(id, error.message) : error
}
