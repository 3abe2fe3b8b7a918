import type { ClientTransport, LinkEvents, LinkScope } from '../../contract/contract.js'
import { type HttpOptions, readHttpOptions } from './options.js'
import { HttpLink, type ServerHabits } from './link.js'
import { FallbackLink } from './fallback.js'

/**
 * A server behind Streamable HTTP (specification: transports): one POST for each message, one GET stream for
 * what belongs to no request, the session kept until the server ends it. Throws BAD_OPTION, naming the field.
 * Nothing is connected before the first message, and undici is loaded only then.
 */
export function http(url: string | URL, options: HttpOptions = {}): ClientTransport {
  const settings = readHttpOptions(url, options)
  const habits: ServerHabits = { isSilent: false }
  return Object.freeze({
    name: `http ${settings.url.host}${settings.url.pathname}`,
    modern: 'http' as const,
    connect: (events: LinkEvents, scope: LinkScope) =>
      settings.sseFallback
        ? new FallbackLink(settings, events, scope, habits)
        : new HttpLink(settings, events, scope, habits),
  })
}
