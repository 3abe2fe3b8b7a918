import { lazy } from '../../../runtime/faults/load.js'
import { badOption, orElse, type Read, readFields, readText } from '../../base/read-option.js'
import type { ClientTransport } from '../../contract/contract.js'
import {
  type HttpClientLimitOptions,
  type HttpOptions,
  type HttpClientSettings,
  readHttpOptions,
} from './options.js'

const load = /* @__PURE__ */ lazy('../../transports/http/client/sse-link.js', () => import('./sse-link.js'))

const known = [
  'headers',
  'auth',
  'connectTimeout',
  'streamIdleTimeout',
  'tls',
  'proxy',
  'maxRedirects',
] as const

/** How a client reaches a server of 2024-11-05. */
export interface SseOptions extends Pick<HttpOptions, (typeof known)[number]> {
  readonly limits?: Pick<HttpClientLimitOptions, 'messageBytes'>
}

/** Where a server of 2024-11-05 is, in parts; slashes between them are put in and left out as needed. */
export interface SsePlace extends SseOptions {
  /** Such as `https://example.com`. */
  readonly baseUrl: string | URL
  /** Where the server lives below it. Default `/`. */
  readonly basePath?: string
  /** Where its event stream is, below both. Default `/sse`. */
  readonly ssePath?: string
}

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
    modern: 'none',
    async connect(events, scope) {
      const { SseLink } = await load()
      scope.signal.throwIfAborted()
      return new SseLink(settings, events, scope)
    },
  } satisfies ClientTransport)
}

function readSseOptions(where: string | URL | SsePlace, options: SseOptions = {}): HttpClientSettings {
  const settings = isPlace(where) ? readPlace(where) : readHttpOptions(where, readKnown(options, known))
  // another origin must not get our headers and messages, and the endpoint would be of its choice
  return Object.freeze({ ...settings, redirects: { ...settings.redirects, elsewhere: false } })
}

function readPlace(where: SsePlace): HttpClientSettings {
  const fields = ['baseUrl', 'basePath', 'ssePath', ...known]
  const { baseUrl, basePath, ssePath, ...rest } = readKnown(where, fields)
  const url = readBase(baseUrl, 'baseUrl')
  const base = orElse(readPath, '/')(basePath, 'basePath')
  const stream = orElse(readPath, '/sse')(ssePath, 'ssePath')
  return readHttpOptions(joinPaths(url, base, stream), rest)
}

function readKnown(options: unknown, fields: readonly string[]): Record<string, unknown> {
  const given = readFields(options, 'options', [...fields, 'limits'])
  if (given.limits !== undefined) readFields(given.limits, 'limits', ['messageBytes'], 'limits.')
  return given
}

/** The address of `path` below `base`, which is below `url`, whatever slashes they begin and end with. */
export function joinPaths(url: URL, base: string, path: string): URL {
  const parts = [
    ...[url.pathname, base].map((part) => part.replace(/^\/+|\/+$/g, '')),
    path.replace(/^\/+/, ''),
  ]
  return new URL(`/${parts.filter((part, index) => part !== '' || index === 2).join('/')}`, url)
}

function isPlace(where: unknown): where is SsePlace {
  return typeof where === 'object' && where !== null && !(where instanceof URL)
}

const readBase: Read<URL> = (value, field) => {
  const text = value instanceof URL ? value.href : value
  if (typeof text === 'string' && URL.canParse(text)) {
    const url = new URL(text)
    if (/^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return url
  }
  throw badOption(field, 'an http or https address without a query', typeof value)
}

const readPath: Read<string> = (value, field) => {
  const text = readText(value, field)
  if (/^[a-z][a-z\d+.-]*:|#/i.test(text)) throw badOption(field, 'a path', text)
  return text
}
