import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Peer } from '../../transports/contract/contract.js'

/**
 * A request as it came, not checked any further than JSON-RPC asks for; in 2026-07-28 its params have the
 * client's envelope in `_meta`.
 */
export interface RequestFacts {
  readonly id: RequestId
  readonly method: string
  /** An empty object where the client sent none. */
  readonly params: JsonObject
}

/** How a request came in; where a transport does not have such, there is nothing in it. */
export interface TransportFacts {
  /** Which listener it came through: `stdio`, `http`. */
  readonly name: string
  /** Looked up in any case: `headers.get('X-Tenant')`. Without the token that let the request in. */
  readonly headers: Headers
  /** What stands behind the `?` of the address. */
  readonly query: URLSearchParams
  /** The client's address, or the one that `trustProxy` finds. */
  readonly ip: string | undefined
  /** How the client has called: `https` also behind proxies that say so and are trusted. */
  readonly scheme: 'http' | 'https' | undefined
}

/** The facts of a request. */
export function factsOf({ id, method, params = {} }: JsonRpcRequest): RequestFacts {
  return { id, method, params }
}

/** The facts of a peer, each made when it is looked at. */
export class PeerFacts implements TransportFacts {
  readonly #peer: Peer
  #headers: Headers | undefined
  #query: URLSearchParams | undefined

  constructor(peer: Peer) {
    this.#peer = peer
  }

  get name(): string {
    return this.#peer.transport
  }

  get headers(): Headers {
    this.#headers ??= toHeaders(this.#peer.headers)
    return this.#headers
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#peer.query ?? '')
    return this.#query
  }

  get ip(): string | undefined {
    return this.#peer.remoteAddress
  }

  get scheme(): 'http' | 'https' | undefined {
    return this.#peer.scheme
  }
}

function toHeaders(given: Peer['headers']): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(given)) {
    if (values === undefined || name.startsWith(':')) continue
    for (const value of [values].flat()) headers.append(name, value)
  }
  return headers
}
