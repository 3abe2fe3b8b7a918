import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Peer } from '../../transports/contract/contract.js'

/** A request as it came. In 2026-07-28 its params have the client's envelope in `_meta`. */
export interface RequestFacts {
  readonly id: RequestId
  readonly method: string
  /** An empty object where the client sent none. */
  readonly params: JsonObject
}

/** How a request came in. Fields that a transport does not have are empty. */
export interface TransportFacts {
  /** Which listener it came through: `stdio`, `http`. */
  readonly name: string
  /** Names in any case: `headers.get('X-Tenant')`. Without the token of the request. */
  readonly headers: Headers
  /** The query of the address. */
  readonly query: URLSearchParams
  /** The client's address, or the one that `trustProxy` finds. */
  readonly ip: string | undefined
  /** What the client used: `https` also behind trusted proxies that say so. */
  readonly scheme: 'http' | 'https' | undefined
}

export function factsOf({ id, method, params = {} }: JsonRpcRequest): RequestFacts {
  return { id, method, params }
}

/** The facts of a peer; headers and query are parsed when they are first read. */
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
