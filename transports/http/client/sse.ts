import type { ClientTransport, LinkEvents, LinkScope } from '../../contract/contract.js'
import { SseLink } from './sse-link.js'
import { readSseOptions, type SseOptions, type SsePlace } from './sse-options.js'

/**
 * A server behind HTTP+SSE (specification 2024-11-05: transports): one event stream, whose first event says
 * where to post messages; the session ends with the stream. An endpoint of another origin is refused, and
 * fatal. Throws BAD_OPTION, naming the field.
 */
export function sse(where: SsePlace): ClientTransport
export function sse(url: string | URL, options?: SseOptions): ClientTransport
export function sse(where: string | URL | SsePlace, options?: SseOptions): ClientTransport {
  const settings = readSseOptions(where, options)
  return Object.freeze({
    name: `sse ${settings.url.host}${settings.url.pathname}`,
    modern: 'none' as const,
    connect: (events: LinkEvents, scope: LinkScope) => new SseLink(settings, events, scope),
  })
}
