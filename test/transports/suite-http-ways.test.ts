// second tier: time
// shares a process
// time limit: 120 s
import { http, serveHttp } from 'caduceus/transports'
import { selfSigned } from '../support/certificate.js'
import { startTunnel } from './_tunnel.js'
import { inProcess, transportSuite } from './_suite.js'

const own = selfSigned()

const secure = transportSuite('Streamable HTTP with TLS', (t) =>
  inProcess(t, {
    serve: ({ port = 0 }) => serveHttp({ port, tls: own }),
    connect: (url) => http(url, { tls: { ca: own.cert } }),
  }),
)
secure.run()

const tunnelled = transportSuite('Streamable HTTP through a proxy', async (t) => {
  const proxy = await startTunnel(t)
  return inProcess(t, {
    serve: ({ port = 0 }) => serveHttp({ port }),
    connect: (url) => http(url, { proxy: proxy.url }),
  })
})
tunnelled.run()

const polled = transportSuite('Streamable HTTP, every stream of it ended early', (t) =>
  inProcess(t, {
    serve: ({ port = 0 }) => serveHttp({ port, streams: { openAfter: 1, endAfter: 50, retryInterval: 1 } }),
    connect: (url) => http(url),
  }),
)
polled.run()
