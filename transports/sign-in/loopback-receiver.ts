import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { outside } from '../../runtime/faults/containment.js'
import { type Clock, systemClock } from '../../runtime/time/clock.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { TransportError } from '../base/errors.js'

interface ReceiverOptions {
  /** 0: any free one. */
  readonly port: number
  readonly path: string
  /** Default: that of this machine. */
  readonly clock?: Clock
}

/** A listening socket on this machine for one redirect of a browser (RFC 8252, section 7.3). */
export interface LoopbackReceiver {
  /** The address to be redirected to. */
  readonly url: string
  /** The parameters of the first request to its path that has a `state`; rejects once the signal aborts. */
  next(signal: AbortSignal): Promise<URLSearchParams>
  close(): Promise<void>
}

const page = `<!doctype html><meta charset="utf-8"><title>Signed in</title><p>This window can be closed: the program goes on by itself.`

/** Opens a receiver on 127.0.0.1. Rejects with LISTEN_FAILED when the port is taken. */
export function openReceiver({
  port,
  path,
  clock = systemClock,
}: ReceiverOptions): Promise<LoopbackReceiver> {
  return outside(async () => {
    const { createServer } = await import('node:http')
    let took: (parameters: URLSearchParams) => void = () => {}
    const first = new Promise<URLSearchParams>((resolve) => {
      took = resolve
    })
    const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const fits = request.method === 'GET' && url.pathname === path && url.searchParams.has('state')
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'referrer-policy': 'no-referrer',
        connection: 'close',
      }
      response.writeHead(fits ? 200 : 404, headers).end(fits ? page : '')
      if (fits) took(url.searchParams)
    })
    await listen(server, port)
    const { port: actual } = server.address() as AddressInfo
    return {
      url: `http://127.0.0.1:${actual}${path}`,
      next(signal: AbortSignal) {
        const limits = { clock, ms: Number.POSITIVE_INFINITY, late: () => first, signal }
        return waitWithin<URLSearchParams>(limits, (resolve) => void first.then(resolve))
      },
      close() {
        server.closeAllConnections()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      },
    }
  })
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `127.0.0.1:${port} cannot be listened on for the sign-in: ${cause.message}`
      reject(new TransportError('LISTEN_FAILED', message, { cause }))
    })
    server.listen(port, '127.0.0.1', () => resolve())
  })
}
