import { badOption, orElse, type Read, readOptions, type ReadWith, readText } from '../base/read-option.js'
import { readClientTls, type TlsOptions } from '../http/outgoing/tls-options.js'

/** How a Redis or Valkey is reached. */
export interface RedisOptions {
  /** `redis://HOST:PORT/DATABASE`, or `rediss://` for TLS; user and password may be in it. */
  readonly url: string
  /** Default: that of the address. */
  readonly username?: string | undefined
  /** Default: that of the address. */
  readonly password?: string | undefined
  /** Whom to trust, and our own certificate; for `rediss:` only. */
  readonly tls?: TlsOptions | undefined
}

/** What was read of them; `name` is shown, the rest is not. */
export interface RedisSettings {
  /** `redis HOST:PORT`, without a password. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly database: number
  readonly username: string | undefined
  readonly password: string | undefined
  /** Undefined: without TLS. */
  readonly tls: object | undefined
}

const readSecret: Read<string> = (value, field) => {
  if (typeof value === 'string' && value !== '') return value
  throw badOption(field, 'a non-empty string', typeof value)
}

const readable =
  'redis://HOST:PORT or rediss://HOST:PORT, with /DATABASE if it is not 0, and % in user and password written as %25'

/** The address may have a password in it: it is never shown. */
const readAddress: Read<URL> = (value, field) => {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const isFit =
    url !== undefined &&
    /^rediss?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^\/?\d*$/.test(url.pathname) &&
    url.search === '' &&
    url.hash === '' &&
    [url.username, url.password].every(isReadable)
  if (isFit) return url
  const given = typeof value === 'string' ? value.replace(/\/\/.*@/, '//…@') : value
  throw badOption(field, readable, given)
}

const readers = {
  url: readAddress,
  username: orElse(readText, undefined),
  password: orElse(readSecret, undefined),
  tls: orElse(readClientTls, undefined),
}

export const redisOptionNames = Object.freeze(Object.keys(readers))

/** Throws BAD_OPTION, naming the field; no secret is shown. */
export function readRedisOptions(options: RedisOptions): RedisSettings {
  const { url, username, password, tls }: ReadWith<typeof readers> = readOptions(options, readers)
  const isSecure = url.protocol === 'rediss:'
  if (tls !== undefined && !isSecure) throw badOption('tls', 'nothing, as the address is not rediss:', 'tls')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? 6379 : Number(url.port)
  const database = Number(url.pathname.slice(1))
  const place = `${url.hostname}:${port}${database === 0 ? '' : `/${database}`}`
  return Object.freeze({
    name: `redis ${place}`,
    host,
    port,
    database,
    username: username ?? textOf(url.username),
    password: password ?? textOf(url.password),
    tls: isSecure ? { ...tls } : undefined,
  })
}

function isReadable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

function textOf(part: string): string | undefined {
  return part === '' ? undefined : decodeURIComponent(part)
}
