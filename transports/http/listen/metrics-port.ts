import type { RequestListener } from 'node:http'
import { outside } from '../../../runtime/faults/containment.js'
import type { LinkScope } from '../../contract/contract.js'
import { createGuard, guardedHeaders, isLoopback } from './guard.js'
import { listen } from './listening.js'
import type { HttpServer } from './options.js'

/** Connections at once: whoever collects has one. */
const maxConnections = 100

/**
 * Answers `/metrics`, and nothing else, at a port of its own, until `scope` ends. Rejects with TransportError
 * LISTEN_FAILED.
 */
export async function listenForMetrics(
  place: { readonly port: number; readonly host: string },
  scope: LinkScope,
  answer: (...args: Parameters<RequestListener>) => boolean,
): Promise<void> {
  const { createServer } = process.getBuiltinModule('node:http')
  // a page whose name leads here must not read them; beyond loopback collectors use any name
  const allowedHosts = isLoopback(place.host) ? [] : ['*']
  const guard = createGuard({ host: place.host, allowedHosts, allowedOrigins: [] })
  const limits = { headersTimeout: 10_000, requestTimeout: 10_000 }
  const server: HttpServer = outside(() =>
    createServer(limits, (request, response) => {
      const problem = guard(guardedHeaders(request))
      if (problem === undefined && answer(request, response)) return
      response.writeHead(problem === undefined ? 404 : 403, { 'content-type': 'text/plain' })
      response.end(`${problem ?? 'only /metrics is here'}\n`)
    }),
  )
  server.maxConnections = maxConnections
  scope.own(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  await listen(server, place, scope)
}
