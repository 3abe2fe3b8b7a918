import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Milliseconds between two looks whether a node serves. */
const lookEvery = 100
/** Milliseconds that a node has to say so. */
const lookTimeout = 1_000

/** An answer of a node, or of the balancer itself where there was none. */
export interface Answered {
  readonly node: number
  readonly status: number
  /** Milliseconds from the request, whole, to the head of its answer. */
  readonly ms: number
  readonly retryAfter: string | undefined
}

/** A plain way to several nodes that serve the same: they take turns. Nothing is tried twice. */
export interface Balancer {
  readonly url: string
  /** Nodes that are asked at the moment. */
  readonly serving: readonly number[]
  close(): Promise<void>
}

/** A node, as the balancer sees it. */
interface Backend {
  readonly port: number
  isReady: boolean
  /** Since the last look that found it. */
  isRefused: boolean
}

/** Listens on a port of loopback, 0 for any, and passes requests on to these ports, one after the other. */
export async function startBalancer(
  ports: readonly number[],
  onAnswer: (answered: Answered) => void,
  listenAt = 0,
): Promise<Balancer> {
  const backends = ports.map((port): Backend => ({ port, isReady: false, isRefused: false }))
  const turn = { next: 0 }
  const server = createServer((incoming, outgoing) => pass(incoming, outgoing))
  server.requestTimeout = 0
  // Its keep-alive must outlast that of clients: whoever sends into a connection that closes gets no answer.
  server.keepAliveTimeout = 300_000
  server.listen(listenAt, '127.0.0.1')
  await once(server, 'listening')
  const looks = backends.map((backend) => watch(backend))
  await Promise.all(looks.map(({ first }) => first))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    get serving() {
      return backends.flatMap(({ isReady }, index) => (isReady ? [index] : []))
    },
    async close() {
      for (const look of looks) look.stop()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }

  /** Those that say that they serve; if there is none, those that say anything at all. */
  function pick(): number {
    const ready = backends.flatMap(({ isReady }, index) => (isReady ? [index] : []))
    const reached = backends.flatMap(({ isRefused }, index) => (isRefused ? [] : [index]))
    const from = ready.length > 0 ? ready : reached.length > 0 ? reached : backends.map((_, index) => index)
    turn.next += 1
    return from[turn.next % from.length] ?? 0
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const node = pick()
    const backend = backends[node]
    if (backend === undefined) return
    const { method, url, headers } = incoming
    const began = { at: performance.now() }
    incoming.once('end', () => {
      began.at = performance.now()
    })
    const upstream = request({
      host: '127.0.0.1',
      port: backend.port,
      method,
      path: url,
      headers,
      agent: false,
    })
    const answered = (status: number, retryAfter?: string): void =>
      onAnswer({ node, status, ms: performance.now() - began.at, retryAfter })
    upstream.once('response', (response) => {
      const { statusCode = 502, headers: answer } = response
      answered(statusCode, answer['retry-after'])
      outgoing.writeHead(statusCode, answer)
      outgoing.flushHeaders()
      response.pipe(outgoing)
      response.once('error', () => outgoing.destroy())
      response.once('close', () => response.complete || outgoing.destroy())
    })
    upstream.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') {
        backend.isReady = false
        backend.isRefused = true
      }
      if (outgoing.headersSent) return void outgoing.destroy()
      if (outgoing.destroyed) return
      answered(502)
      outgoing.writeHead(502, { 'content-type': 'text/plain' }).end('bad gateway')
    })
    outgoing.once('close', () => upstream.destroy())
    incoming.pipe(upstream)
  }
}

/** Looks at a node again and again. */
function watch(backend: Backend): { readonly first: Promise<void>; stop(): void } {
  const over = new AbortController()
  const look = async (): Promise<void> => {
    try {
      const signal = AbortSignal.any([over.signal, AbortSignal.timeout(lookTimeout)])
      const { status } = await fetch(`http://127.0.0.1:${backend.port}/readyz`, { signal })
      backend.isReady = status === 200
      backend.isRefused = false
    } catch (error) {
      backend.isReady = false
      backend.isRefused = !(error instanceof DOMException)
    }
  }
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, lookEvery))
    }
  }
  const first = look()
  void first.then(run)
  return { first, stop: () => over.abort() }
}
