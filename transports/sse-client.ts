import { readFields } from './client-options.js'
import type { ClientTransport, LinkEvents, LinkScope } from './contract.js'
import { type HttpOptions, readHttpOptions } from './http-client-options.js'
import { SseLink } from './sse-client-link.js'

/** How a client reaches a server of 2024-11-05. */
export type SseOptions = Pick<
  HttpOptions,
  'headers' | 'maxMessageBytes' | 'connectTimeout' | 'streamIdleTimeout'
>

const fields = ['headers', 'maxMessageBytes', 'connectTimeout', 'streamIdleTimeout']

/**
 * A server behind HTTP+SSE (specification 2024-11-05: transports): one event stream, whose first event says where to post messages;
 * the session ends with the stream. An endpoint of another origin is refused, and fatal. Throws BAD_OPTION, naming the field.
 */
export function sse(url: string | URL, options: SseOptions = {}): ClientTransport {
  readFields(options, 'options', fields)
  const settings = readHttpOptions(url, options)
  return Object.freeze({
    name: `sse ${settings.url.host}${settings.url.pathname}`,
    connect: (events: LinkEvents, scope: LinkScope) => new SseLink(settings, events, scope),
  })
}
