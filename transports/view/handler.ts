import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '../../runtime/base/errors.js'
import { pathOf } from '../base/target.js'
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
 * pages of other origins, and, but for the page itself, whoever has not the secret.
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
    if (parts.secret !== undefined && guard(guardedHeaders(request)) !== undefined)
      return refuse(403, 'Only under the names of this machine, and for no page of another origin')
    const file = request.method === 'GET' ? files[path] : undefined
    // the page knows nothing of this program
    if (file !== undefined)
      return void response.writeHead(200, { 'content-type': `${file.type}; charset=utf-8` }).end(file.text)
    if (parts.secret !== undefined && !isEqual(bearerOf(request), parts.secret))
      return refuse(401, 'Open the address that the program tells when it starts: it has a secret')
    if (request.method === 'POST' && path === '/act') return act(request, parts, refuse)
    if (request.method !== 'GET') return refuse(405, 'GET, or POST to /act')
    if (path === '/events') return parts.look(response)
    refuse(404, 'There is /, /events and /act')
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

/** In a header that the page alone sends: a cookie would go to every port of this machine. */
function bearerOf({ headers: { authorization = '' } }: IncomingMessage): string {
  return authorization.replace(/^Bearer /, '')
}

function isEqual(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)]
  return one.length === other.length && timingSafeEqual(one, other)
}
