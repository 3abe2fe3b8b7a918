import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '../../runtime/base/errors.js'
import { pathOf, queryOf } from '../base/target.js'
import { createGuard, guardedHeaders } from '../http/listen/guard.js'
import { pageCode, pageIcon, pageStyle, pageText } from './page.js'

/** An action on the process of a row. */
export interface Act {
  readonly key: number
  readonly what: (typeof acts)[number]
}

const acts = ['kill', 'restart', 'reconnect', 'trace'] as const

interface HandlerParts {
  /** Undefined: whoever gets here may look. */
  readonly secret?: string
  readonly actions: boolean
  /** Answers a request for the stream. */
  look(response: ServerResponse): void
  /** Resolves with what was done. */
  act(act: Act): Promise<string>
}

const longestAct = 1_000
const headers = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}

/**
 * Answers requests for the page and its stream. Keeps out names of hosts that are not of this machine,
 * pages of other origins, and whoever has not the secret, first in the address, then in a cookie.
 */
export function createHandler(
  parts: HandlerParts,
): (request: IncomingMessage, response: ServerResponse) => unknown {
  const guard = createGuard({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] })
  return (request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const path = pathOf(request.url)
    const refuse = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
    }
    if (parts.secret !== undefined) {
      if (guard(guardedHeaders(request)) !== undefined)
        return refuse(403, 'Only under the names of this machine, and for no page of another origin')
      const cookie = `caduceus-${request.socket.localPort}`
      const given = new URLSearchParams(queryOf(request.url)).get('secret')
      if (given !== null) {
        if (!isEqual(given, parts.secret))
          return refuse(403, 'The secret in this address is not that of this program')
        const value = `${cookie}=${given}; HttpOnly; SameSite=Strict; Path=/`
        // never a path that a browser takes for another host
        const location = files[path] === undefined ? '/' : path
        return void response.writeHead(303, { location, 'set-cookie': value }).end()
      }
      if (!isEqual(cookieOf(request, cookie), parts.secret))
        return refuse(401, 'Open the address that the program tells when it starts: it has a secret')
    }
    if (request.method === 'POST' && path === '/act') return act(request, parts, refuse)
    if (request.method !== 'GET') return refuse(405, 'GET, or POST to /act')
    if (path === '/events') return parts.look(response)
    const file = files[path]
    if (file === undefined) return refuse(404, 'There is /, /events and /act')
    response.writeHead(200, { 'content-type': `${file.type}; charset=utf-8` }).end(file.text)
  }
}

const files: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/': { type: 'text/html', text: pageText },
  '/page.js': { type: 'text/javascript', text: pageCode },
  '/page.css': { type: 'text/css', text: pageStyle },
  '/icon.svg': { type: 'image/svg+xml', text: pageIcon },
}

async function act(
  request: IncomingMessage,
  parts: HandlerParts,
  answer: (status: number, text: string) => void,
): Promise<void> {
  if (!parts.actions) return answer(403, 'This program may only be looked at: observe({ actions: true })')
  // no page of another origin can set it unasked
  if (request.headers['x-caduceus'] !== 'act') return answer(403, 'The header X-Caduceus: act is missing')
  const wanted = readAct(await textOf(request))
  if (wanted === undefined) return answer(400, `Expected { "key": 1, "what": "${acts.join('" or "')}" }`)
  try {
    answer(200, await parts.act(wanted))
  } catch (error) {
    answer(409, messageOf(error))
  }
}

function readAct(text: string | undefined): Act | undefined {
  try {
    const { key, what } = JSON.parse(text ?? '') as Partial<Act>
    return Number.isInteger(key) && what !== undefined && acts.includes(what)
      ? { key: Number(key), what }
      : undefined
  } catch {
    return undefined // no JSON, or no object
  }
}

/** Undefined where it is too long, or cut off. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  let text = ''
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk
      if (text.length > longestAct) return undefined
    }
    return text
  } catch {
    return undefined // the connection was cut
  }
}

function cookieOf(request: IncomingMessage, name: string): string {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1] ?? ''
}

function isEqual(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)]
  return one.length === other.length && timingSafeEqual(one, other)
}
