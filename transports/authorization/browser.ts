import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { World } from '../../runtime/time/world.js'
import { pageHeaders } from './pages.js'

/** How a browser is known that begins something: by a cookie that no other host can set (`__Host-`). */
export interface BrowserMark {
  /** What the cookie has. */
  readonly secret: string
  readonly setCookie: string
}

/** The cookie of a browser, or a new one; `ms`: how long it is kept. */
export function markOf(
  request: IncomingMessage,
  name: string,
  ms: number,
  { randomBytes }: Pick<World, 'randomBytes'>,
): BrowserMark {
  // one for all that a browser has begun
  const secret = secretOf(request, name) ?? Buffer.from(randomBytes(32)).toString('base64url')
  const secure = name.startsWith('__Host-') ? '; Secure' : ''
  return {
    secret,
    setCookie: `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${ms / 1_000}${secure}`,
  }
}

/** What a browser is known by; undefined: it is not, and all such browsers would be one. */
export function secretOf(request: IncomingMessage, name: string): string | undefined {
  const known = cookieOf(request, name)
  return /^[\w-]{43}$/.test(known) ? known : undefined
}

/** A form of another site is not taken, whatever its cookies. */
export function checkOrigin({ headers }: IncomingMessage, own: string): void {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== own || (site !== undefined && site !== 'same-origin')) throw notOurs()
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

export function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

export function cookieOf({ headers: { cookie = '' } }: IncomingMessage, name: string): string {
  const pair = cookie.split('; ').find((one) => one.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) ?? ''
}

export function notOurs(): Error {
  return Object.assign(new Error('no such login'), { statusCode: 400 })
}

export function redirect(
  response: ServerResponse,
  location: string,
  headers: Record<string, string> = {},
): void {
  const own = {
    location,
    'cache-control': 'no-store',
    'content-length': '0',
    'referrer-policy': 'no-referrer',
  }
  response.writeHead(303, { ...own, ...headers }).end()
}

export function sendPage(response: ServerResponse, status: number, html: string, kind?: 'form'): void {
  const length = String(Buffer.byteLength(html))
  response.writeHead(status, { ...pageHeaders(kind), 'content-length': length }).end(html)
}

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // what is left of one that is too long is read, and dropped: its client waits for an answer
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw Object.assign(new Error('the body is too long'), { statusCode: 413 })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
