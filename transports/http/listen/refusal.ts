import { errorCodes } from '../../../protocol/wire/errors.js'
import { buildError, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { Response } from '../../contract/contract.js'
import type { TransportError } from '../../base/errors.js'
import { isLoopback } from './guard.js'

/**
 * Why a request is answered with a status other than 200: thrown by the routes, written by the exchange. No
 * error, as nobody reads its stack, which would cost more than all else about a request that is refused.
 */
export class HttpRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Response

  constructor(status: number, problem: string | Response, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.headers = headers
    this.body = typeof problem === 'string' ? invalidRequest(problem) : problem
  }

  get message(): string {
    return 'error' in this.body ? this.body.error.message : `status ${this.status}`
  }
}

/** The refusal of a foreign path. On this machine it says which is ours, as forgetting it is common. */
export function nothingHere({ host, path }: { readonly host: string; readonly path: string }): HttpRefusal {
  const where = isLoopback(host) ? `; MCP is served at ${path}` : ''
  return new HttpRefusal(404, `nothing is served at this path${where}`)
}

/** The refusal of a request that an error of ours has cost. */
export function internalError(id: RequestId | undefined): HttpRefusal {
  return new HttpRefusal(500, buildError(id, { code: errorCodes.internalError, message: 'Internal error' }))
}

/** The refusal of a request that may be made again soon. */
export function unavailable(id: RequestId | undefined, message: string): HttpRefusal {
  const error = { code: errorCodes.internalError, message, data: { retryable: true } }
  return new HttpRefusal(503, buildError(id, error), { 'retry-after': '1' })
}

/** The refusal of a message that there is no room for now. */
export function bytesRefusal({ message, data }: TransportError): HttpRefusal {
  const isOneClient = (data as { readonly client: boolean }).client
  return new HttpRefusal(isOneClient ? 429 : 503, message, { 'retry-after': '1' })
}

/** An error without an id: it answers no request that the client waits for. */
function invalidRequest(message: string): Response {
  return buildError(undefined, { code: errorCodes.invalidRequest, message })
}
