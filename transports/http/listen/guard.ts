import type { IncomingMessage } from 'node:http'
import { show } from '../../../runtime/base/errors.js'
import { optionError } from '../../base/errors.js'

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

interface GuardedHeaders {
  readonly host: string | undefined
  readonly origin: string | undefined
}

/** Returns why a request is kept out; undefined when it may pass. */
export type Guard = (headers: GuardedHeaders) => string | undefined

/**
 * Keeps out DNS rebinding and cross-site requests: the host must be ours, and an origin that host or one
 * allowed by name (specification: transports, security).
 */
export function createGuard({
  host,
  allowedHosts,
  allowedOrigins,
}: Reach & { readonly allowedOrigins: readonly string[] }): Guard {
  const hosts = new Set(
    allowedHosts.length > 0 || !isLoopback(host) ? allowedHosts : [...loopbackNames, host],
  )
  const names = new Set([...hosts].map((name) => name.toLowerCase()))
  const origins = new Set(allowedOrigins)
  const anyHost = hosts.has('*')
  // nearly all requests of a client say the same
  let lastHost: string | undefined

  function isOurs(given: string): boolean {
    if (given === lastHost) return true
    const lower = given.toLowerCase()
    if (!anyHost && !spellings(lower).some((name) => names.has(name))) return false
    lastHost = given
    return true
  }

  return ({ host: given, origin }) => {
    if (given === undefined) return 'Host: expected one, and no more than one Origin'
    if (!isOurs(given))
      return `Host: ${quoted(given)} is not a name of this server: allowedHosts says which are`
    if (origin === undefined || origins.has(origin) || isSameHost(origin, given)) return undefined
    // `*` does not mean documents without an origin of their own
    if (origins.has('*') && origin !== 'null') return undefined
    return `Origin: ${quoted(origin)} is not allowed at ${quoted(given)}: allowedOrigins says which are`
  }
}

/** What a stranger wrote may steer a terminal, and be long. */
function quoted(text: string): string {
  return show(text.replace(/[^\x20-\x7e]/g, '?'))
}

/** A name as it is, at any port, and with the port that clients leave out for their scheme. */
function spellings(host: string): readonly string[] {
  const name = host.replace(/:\d{1,5}$/, '')
  return name === host ? [host, `${host}:443`, `${host}:80`] : [host, name]
}

/**
 * The Host and Origin of a request. Node keeps the first of several such headers; several are an attempt to
 * have two readers see two different ones, and count as a missing host. `X-Forwarded-Host` is never believed,
 * also behind a trusted proxy: most pass on what the client wrote there.
 */
export function guardedHeaders({ rawHeaders, headers, url }: IncomingMessage): GuardedHeaders {
  let [hosts, origins] = [0, 0]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 6 && name.toLowerCase() === 'origin') origins += 1
  }
  const host = hosts === 1 && origins <= 1 ? (hostOfTarget(url) ?? headers.host) : undefined
  return { host, origin: headers.origin }
}

/** The host that a target in absolute form names: it stands for the header then (RFC 9112, section 3.2.2). */
function hostOfTarget(url: string | undefined): string | undefined {
  return url === undefined || url.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
}

/** Why a request is not HTTP/1.1, with its status (RFC 9112, sections 2.3 and 6.1); else undefined. */
export function framingProblem(request: IncomingMessage): { status: number; problem: string } | undefined {
  // a real one of HTTP/2 comes from a web server around us
  if (Number.parseInt(request.httpVersion, 10) > 1 && !('stream' in request))
    return { status: 505, problem: 'expected HTTP/1.1' }
  const coding = request.headers['transfer-encoding']
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') return undefined
  return { status: 501, problem: 'Transfer-Encoding: expected chunked, and nothing else' }
}

interface Reach {
  readonly host: string
  readonly allowedHosts: readonly string[]
}

/** Throws BAD_OPTION for a listener that other machines reach, unless it knows its own hosts. */
export function checkReach({ host, allowedHosts }: Reach): void {
  if (isLoopback(host) || allowedHosts.length > 0) return
  const why = `host: ${show(host)} can be reached from other machines`
  const advice =
    'set allowedHosts to the names that clients use, such as ["mcp.example.com"], or ["*"] for any; or listen on 127.0.0.1'
  throw optionError('allowedHosts', `${why}: ${advice}`)
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** A page of the server itself; a missing port is the default of the origin's scheme. */
function isSameHost(origin: string, host: string): boolean {
  if (!/^https?:\/\/[^/?#@\s]+$/i.test(origin) || !URL.canParse(origin)) return false
  const { protocol, host: from } = new URL(origin)
  const to = host.toLowerCase()
  return from === (protocol === 'https:' ? to.replace(/:443$/, '') : to.replace(/:80$/, ''))
}
