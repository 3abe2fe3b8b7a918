import type { RequestListener } from 'node:http'
import { outside } from '../../../runtime/faults/containment.js'
import type { LinkScope } from '../../contract/contract.js'
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
  const limits = { headersTimeout: 10_000, requestTimeout: 10_000 }
  const server: HttpServer = outside(() =>
    createServer(limits, (request, response) => {
      if (answer(request, response)) return
      response.writeHead(404, { 'content-type': 'text/plain' })
      response.end('only /metrics is here\n')
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
