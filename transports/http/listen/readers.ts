import type { Server } from 'node:http'
import type { Server as SecureServer, ServerOptions } from 'node:https'
import { badOption, type Read } from '../../base/read-option.js'

/** What `https.createServer` takes. */
export type TlsOptions = ServerOptions
/** A server of node:http or node:https. */
export type HttpServer = Server | SecureServer

/** A path that a listener serves. */
export const readPath: Read<string> = (value, field) => {
  if (typeof value === 'string' && /^\/[^?#\s]*$/.test(value)) return value
  throw badOption(field, 'a path such as /mcp', value)
}

/** A port to listen on; 0: any. */
export const readPort: Read<number> = (value, field) => {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535) return Number(value)
  throw badOption(field, 'a port from 0 to 65535', value)
}

/** How many proxies are in front. */
export const readProxies: Read<number> = (value, field) => {
  if (typeof value === 'boolean') return Number(value)
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
  throw badOption(field, 'true, false or a number of proxies', value)
}

/** Certificate and key, as `https.createServer` judges them. */
export const readServerTls: Read<TlsOptions> = (value, field) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw badOption(field, 'an object with cert and key, as https.createServer takes it', value)
}

/** A server that somebody else has made. */
export const readServer: Read<HttpServer> = (value, field) => {
  const methods = ['address', 'close', 'emit', 'listen'] as const
  const server = value as Partial<HttpServer> | null | undefined
  if (methods.every((method) => typeof server?.[method] === 'function')) return server as HttpServer
  throw badOption(field, 'a server of node:http or node:https', value)
}

const hostName = /^(?:\*|(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?)$/i
const originName = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/i

/** Names as a `Host` header has them; `*` for all. */
export const readHosts: Read<readonly string[]> = (value, field) =>
  readEach(value, field, 'hosts such as "mcp.example.com", "[::1]:8080" or "*"', (item) => {
    const found = hostName.exec(item)
    return found !== null && Number(found[1] ?? 0) <= 65_535 ? item : undefined
  })

/** Origins as browsers write them; `*` for all, `null` for documents that have none. */
export const readOrigins: Read<readonly string[]> = (value, field) =>
  readEach(value, field, 'origins such as "https://app.example.com"', (item) => {
    if (item === '*' || item === 'null') return item
    if (!originName.test(item) || !URL.canParse(item)) return undefined
    const { protocol, origin } = new URL(item)
    return /^https?:$/.test(protocol) ? origin : item.toLowerCase()
  })

function readEach(
  value: unknown,
  field: string,
  what: string,
  read: (item: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(value)) throw badOption(field, `an array of ${what}`, value)
  return Object.freeze(
    value.map((item: unknown) => {
      const found = typeof item === 'string' ? read(item) : undefined
      if (found === undefined) throw badOption(field, `an array of ${what}`, item)
      return found
    }),
  )
}
