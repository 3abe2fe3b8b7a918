import { isAddress } from '../../contract/address.js'
import type { IncomingMessage } from 'node:http'
import { TransportError } from '../../base/errors.js'
import { queryOf } from '../../base/target.js'
import type { Peer } from '../../contract/contract.js'
import type { Principal } from '../../contract/principal.js'

/** Where a request that was mounted carries what its middleware knows of it. */
export const assignsKey: unique symbol = Symbol('assigns')

/** Where a request carries who sends it, once that is known. */
export const principalKey: unique symbol = Symbol('principal')

/** Where a request that a token let in carries its headers without it, so that no handler can pass it on. */
export const headersKey: unique symbol = Symbol('headers')

export type AssignedRequest = IncomingMessage & {
  [headersKey]?: Peer['headers']
  [assignsKey]?: Peer['assigns']
  /**
   * `nobody` is who the framework does not know: refused, unless `authenticate` says who it is. An error is of a
   * framework that does not say who it is.
   */
  [principalKey]?: Principal | 'anonymous' | 'nobody' | TransportError
}

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
    return (this.#request as AssignedRequest)[headersKey] ?? this.#request.headers
  }

  get remoteAddress(): string | undefined {
    return addressBehind(this.#request, this.#proxies)
  }

  get query(): string {
    return queryOf(this.#request.url)
  }

  get scheme(): 'http' | 'https' {
    const { socket } = this.#request
    const said = forwarded(this.#request, 'x-forwarded-proto', this.#proxies)?.toLowerCase()
    if (said === 'http' || said === 'https') return said
    return 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'
  }

  get assigns(): Peer['assigns'] {
    return (this.#request as AssignedRequest)[assignsKey]
  }

  get principal(): Principal | undefined {
    const known = (this.#request as AssignedRequest)[principalKey]
    return typeof known === 'object' && !(known instanceof TransportError) ? known : undefined
  }
}

/** The address of the client, as the trusted proxies in between say; of what is none, that of the last of them. */
export function addressBehind(request: IncomingMessage, proxies: number): string | undefined {
  const said = withoutPort(forwarded(request, 'x-forwarded-for', proxies) ?? '')
  return isAddress(said) ? said : request.socket.remoteAddress
}

/** Some proxies name the port, too: each connection would be another client. */
function withoutPort(said: string): string {
  const [, v4, v6] = /^(?:([\d.]+):\d+|\[([^\]]*)\](?::\d+)?)$/.exec(said) ?? []
  return v4 ?? v6 ?? said
}

export function withoutToken({
  authorization: _,
  dpop: __,
  ...headers
}: IncomingMessage['headers']): Peer['headers'] {
  return headers
}

/**
 * What the outermost of so many trusted proxies says in a header; each proxy adds to the end, so that what
 * stands before may have been sent by anybody. Undefined without proxies or without the header.
 */
export function forwarded(
  { headers }: Pick<IncomingMessage, 'headers'>,
  name: 'x-forwarded-for' | 'x-forwarded-proto',
  proxies: number,
): string | undefined {
  const given = headers[name]
  if (proxies === 0 || given === undefined) return undefined
  const hops = String(given).split(',')
  return hops[Math.max(0, hops.length - proxies)]?.trim()
}
