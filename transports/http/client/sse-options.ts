import { badOption, orElse, type Read, readFields, readText } from '../../base/read-option.js'
import { type HttpOptions, type HttpSettings, readHttpOptions } from './options.js'

/** How a client reaches a server of 2024-11-05. */
export type SseOptions = Pick<
  HttpOptions,
  | 'headers'
  | 'auth'
  | 'maxMessageBytes'
  | 'connectTimeout'
  | 'streamIdleTimeout'
  | 'tls'
  | 'proxy'
  | 'maxRedirects'
>

/** Where a server of 2024-11-05 is, in parts; slashes between them are put in and left out as needed. */
export interface SsePlace extends SseOptions {
  /** Such as `https://example.com`. */
  readonly baseUrl: string | URL
  /** Where the server lives below it. Default `/`. */
  readonly basePath?: string
  /** Where its event stream is, below both. Default `/sse`. */
  readonly ssePath?: string
}

const known = [
  'headers',
  'auth',
  'maxMessageBytes',
  'connectTimeout',
  'streamIdleTimeout',
  'tls',
  'proxy',
  'maxRedirects',
]
const places = ['baseUrl', 'basePath', 'ssePath']

/**
 * Reads the arguments of `sse()`. Throws BAD_OPTION, naming the field. Redirects are followed within the
 * origin only.
 */
export function readSseOptions(where: string | URL | SsePlace, options: SseOptions = {}): HttpSettings {
  if (!isPlace(where)) return restrict(readHttpOptions(where, readFields(options, 'options', known)))
  const { baseUrl, basePath, ssePath, ...rest } = readFields(where, 'options', [...places, ...known])
  const url = readBase(baseUrl, 'baseUrl')
  const base = orElse(readPath, '/')(basePath, 'basePath')
  const stream = orElse(readPath, '/sse')(ssePath, 'ssePath')
  return restrict(readHttpOptions(joinPaths(url, base, stream), rest))
}

/**
 * The address of `path` below `base`, which is below the address given, whatever slashes they begin and end
 * with.
 */
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

/**
 * Elsewhere our headers, and what we say, are nobody's business: the address to post to would be theirs, too.
 */
function restrict(settings: HttpSettings): HttpSettings {
  return Object.freeze({ ...settings, redirects: { ...settings.redirects, elsewhere: false } })
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
