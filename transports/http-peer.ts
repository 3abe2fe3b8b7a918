import type { IncomingMessage } from 'node:http'
import type { Peer } from './contract.js'

/** Where a request that was mounted carries what its middleware knows of it. */
export const assignsKey: unique symbol = Symbol('assigns')

/** A request that may carry such. */
export type AssignedRequest = IncomingMessage & { [assignsKey]?: Peer['assigns'] }

/** What is known of the peer behind an HTTP request; read when it is asked for. */
export class HttpPeer implements Peer {
  readonly transport = 'http'
  readonly #request: IncomingMessage
  readonly #proxies: number

  constructor(request: IncomingMessage, proxies = 0) {
    this.#request = request
    this.#proxies = proxies
  }

  get headers(): Peer['headers'] {
    return this.#request.headers
  }

  get remoteAddress(): string | undefined {
    return forwarded(this.#request, 'x-forwarded-for', this.#proxies) ?? this.#request.socket.remoteAddress
  }

  get assigns(): Peer['assigns'] {
    return (this.#request as AssignedRequest)[assignsKey]
  }
}

/**
 * What the outermost of so many trusted proxies says in a header; each proxy adds to the end, so that what stands before may have
 * been sent by anybody. Undefined without proxies or without the header.
 */
export function forwarded(
  { headers }: Pick<IncomingMessage, 'headers'>,
  name: 'x-forwarded-for' | 'x-forwarded-host',
  proxies: number,
): string | undefined {
  const given = headers[name]
  if (proxies === 0 || given === undefined) return undefined
  const hops = String(given).split(',')
  return hops[Math.max(0, hops.length - proxies)]?.trim()
}
