import type { HttpSettings } from './http-listener.js'

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** What a guard looks at: the headers that say where a request believes to be, and where it comes from. */
export interface GuardedHeaders {
  readonly host: string | undefined
  readonly origin: string | undefined
}

/** Says why a request is kept out, or undefined when it may pass. */
export type Guard = (headers: GuardedHeaders) => string | undefined

/**
 * Keeps out what a browser may be made to send (DNS rebinding, cross-site requests): the host must be one of ours, and an origin,
 * where there is one, must be that same host or be allowed by name (specification: transports, security).
 */
export function createGuard({
  host,
  allowedHosts,
  allowedOrigins,
}: Pick<HttpSettings, 'host' | 'allowedHosts' | 'allowedOrigins'>): Guard {
  const hosts = new Set(allowedHosts.length > 0 || !isLoopback(host) ? allowedHosts : loopbackNames)
  const origins = new Set(allowedOrigins)
  const anyHost = hosts.has('*')

  function isOurs(given: string): boolean {
    const lower = given.toLowerCase()
    return anyHost || hosts.has(lower) || hosts.has(lower.replace(/:\d{1,5}$/, ''))
  }

  return ({ host: given, origin }) => {
    if (given === undefined || !isOurs(given)) return 'Host: not a name of this server'
    if (origin === undefined || origins.has(origin) || isSameHost(origin, given)) return undefined
    return 'Origin: not allowed'
  }
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** A page of the server itself; a missing port means the default of the origin's scheme, as in front of a proxy. */
function isSameHost(origin: string, host: string): boolean {
  if (!/^https?:\/\/[^/?#@\s]+$/i.test(origin) || !URL.canParse(origin)) return false
  const { protocol, host: from } = new URL(origin)
  const to = host.toLowerCase()
  return from === (protocol === 'https:' ? to.replace(/:443$/, '') : to.replace(/:80$/, ''))
}
