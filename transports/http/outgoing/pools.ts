import type { DispatcherOptions, Undici, UndiciAgent, UndiciDispatcher } from './dispatcher.js'
import { isPrivateTarget, linkLocalTarget, privateTarget } from './redirect.js'
import { isLinkLocal, isPrivateHost, publicLookup, routedLookup } from '../../base/private-address.js'

/** The connections to the origin of a client, and to wherever that sends it. */
export interface HttpPools {
  /** The origin that everything is sent to first. */
  readonly origin: string
  readonly home: UndiciDispatcher
  /**
   * The connections for a redirect with this status. None leads to a link-local address, and from an origin
   * of the public internet none leads into our own network: rejects with HTTP_STATUS for an address, and what
   * is sent there with ERR_PRIVATE_ADDRESS for a name. Behind a proxy names are its business.
   */
  to(url: URL, status: number): Promise<UndiciDispatcher>
  destroy(): Promise<void>
}

/** What pools are made of: undici, which is loaded late. */
export interface PoolInput {
  readonly undici: Undici
  readonly origin: string
  readonly options: DispatcherOptions
}

/**
 * Opens the connections; `connections` at most to one origin, null: as many as are asked for. Nothing is
 * connected yet.
 */
export function openPools({ undici, origin, options }: PoolInput, connections: number | null): HttpPools {
  const { connectTimeout, proxy, tls, lookup } = options
  const connect = {
    timeout: connectTimeout,
    ...tls,
    ...(lookup === undefined ? {} : { lookup: lookup as never }),
  }
  const common = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connections }
  const home =
    proxy === undefined
      ? new undici.Pool(origin, { ...common, connect })
      : new undici.ProxyAgent({ ...common, uri: proxy.href, requestTls: connect, proxyTls: connect })
  let elsewhere: Promise<UndiciAgent> | undefined
  const { hostname } = new URL(origin)

  async function openElsewhere(): Promise<UndiciAgent> {
    const lookup = (await isPrivateHost(hostname)) ? routedLookup() : publicLookup()
    return new undici.Agent({ ...common, connect: { ...connect, lookup } as object })
  }

  return {
    origin,
    home,
    async to(url, status) {
      if (url.origin === origin) return home
      if (isPrivateTarget(url) && !(await isPrivateHost(hostname))) throw privateTarget({ status }, url)
      if (isLinkLocal(url.hostname)) throw linkLocalTarget({ status }, url)
      if (proxy !== undefined) return home
      elsewhere ??= openElsewhere()
      return elsewhere
    },
    async destroy() {
      await Promise.all([home.destroy(), elsewhere?.then((agent) => agent.destroy())])
    },
  }
}
