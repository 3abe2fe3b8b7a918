import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stackOf } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { type Clock, systemClock } from '../../runtime/time/clock.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { contained } from '../base/contained.js'
import { TransportError } from '../base/errors.js'
import { pathOf, queryOf } from '../base/target.js'

interface ReceiverOptions {
  /** 0: any free one. */
  readonly port: number
  readonly path: string
  /** Default: that of this machine. */
  readonly clock?: Clock
}

interface Expected {
  /** The `state` of the sign-in: a redirect with any other is a stranger's. */
  readonly state: string
  readonly signal: AbortSignal
}

/** A listening socket on this machine for redirects of a browser (RFC 8252, section 7.3). */
export interface LoopbackReceiver {
  /** The address to be redirected to. */
  readonly url: string
  /**
   * The parameters of the first request to its path with this `state`; all others are refused, and cost
   * nothing. Rejects once the signal aborts.
   */
  next(expected: Expected): Promise<URLSearchParams>
  close(): Promise<void>
}

const page = (title: string, text: string): string =>
  `<!doctype html><meta charset="utf-8"><title>${title}</title><p>${text}`

/** What the browser shows; nothing of it comes from a request. */
const pages: Readonly<Record<number, string>> = {
  200: page('Signed in', 'This window can be closed: the program goes on by itself.'),
  400: page('Not signed in', 'This is not the sign-in that the program waits for.'),
}
const brokenPage = page('Not signed in', 'The answer has no code. The program says why.')
const refusedPage = page('Not signed in', 'The sign-in was refused. The program says why.')

/** Opens a receiver on 127.0.0.1. Rejects with LISTEN_FAILED when the port is taken. */
export function openReceiver({
  port,
  path,
  clock = systemClock,
}: ReceiverOptions): Promise<LoopbackReceiver> {
  return outside(async () => {
    const { createServer } = await import('node:http')
    const awaited: Awaited = new Map()
    const server = createServer(
      { requestTimeout: 10_000, requireHostHeader: false },
      contained((request, response) => {
        const given = parametersOf(request, { port: portOf(server), path })
        if (typeof given === 'number') return answer(response, given)
        const take = takerOf(given, awaited)
        if (take === undefined) return answer(response, 400, pages[400])
        answer(response, 200, pageFor(given))
        take(given)
      }, warn),
    )
    await listen(server, port)
    return {
      url: `http://127.0.0.1:${portOf(server)}${path}`,
      next({ state, signal }: Expected) {
        const limits = { clock, ms: Number.POSITIVE_INFINITY, late: () => new URLSearchParams(), signal }
        return waitWithin<URLSearchParams>(limits, (take) => {
          awaited.set(state, take)
          return () => void awaited.delete(state)
        })
      },
      close() {
        server.closeAllConnections()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      },
    }
  })
}

/** The redirects that are waited for, by their `state`. */
type Awaited = Map<string, (parameters: URLSearchParams) => void>

/** What a request to our path says; the status of any other. */
function parametersOf(
  { method, url, headers: { host } }: IncomingMessage,
  ours: { readonly port: number; readonly path: string },
): URLSearchParams | number {
  // a name that leads here is not enough: a page of a stranger may have one (DNS rebinding)
  if (host !== `127.0.0.1:${ours.port}` && host !== `localhost:${ours.port}`) return 403
  if (pathOf(url) !== ours.path) return 404
  return method === 'GET' ? new URLSearchParams(queryOf(url)) : 405
}

function pageFor(given: URLSearchParams): string | undefined {
  if (given.has('error')) return refusedPage
  const [code = '', ...more] = given.getAll('code')
  return code === '' || more.length > 0 ? brokenPage : pages[200]
}

function takerOf(given: URLSearchParams, awaited: Awaited): ReturnType<Awaited['get']> {
  const [state, ...more] = given.getAll('state')
  return state === undefined || more.length > 0 ? undefined : awaited.get(state)
}

function answer(response: ServerResponse, status: number, text = ''): void {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  }
  response.writeHead(status, headers).end(text)
}

/** It belongs to no process: whoever signs in waits for the browser, and not for this request. */
function warn(error: unknown): void {
  process.emitWarning(`a request to the address of a sign-in failed: ${stackOf(error)}`, {
    code: 'CADUCEUS_STRAY',
  })
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `127.0.0.1:${port} cannot be listened on for the sign-in: ${cause.message}`
      reject(new TransportError('LISTEN_FAILED', message, { cause }))
    })
    server.listen(port, '127.0.0.1', () => {
      // a connection that cannot be accepted is the browser's to make again
      server.on('error', warn)
      resolve()
    })
  })
}
