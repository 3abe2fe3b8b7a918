import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import {
  type ClientTransport,
  http,
  serveHttp,
  type ServerTransport,
  serveSse,
  serveWebSocket,
  sse,
  stdio,
  websocket,
} from 'caduceus/transports'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startSuiteServer } from '../_suite-server.js'

const test = suite('times beyond those of the timers of Node', { timeout: 15_000 })

/** What Node warns of while the test runs. */
function warnings(t: TestContext): Error[] {
  const all: Error[] = []
  const note = (warning: Error): void => void all.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  return all
}

type Ends = { serve(ms: number): ServerTransport; connect(url: string, ms: number): ClientTransport }

const ends: { readonly [Name in 'HTTP' | 'HTTP+SSE' | 'WebSocket']: Ends } = {
  HTTP: {
    serve: (ms) =>
      serveHttp({
        timeouts: { headers: ms, body: ms, keepAlive: ms },
        streams: { commentInterval: ms, retryInterval: ms },
      }),
    connect: (url, ms) =>
      http(url, { connectTimeout: ms, headersTimeout: ms, idleTimeout: ms, streamIdleTimeout: ms }),
  },
  'HTTP+SSE': {
    serve: (ms) => serveSse({ timeouts: { headers: ms, keepAlive: ms, open: ms }, commentInterval: ms }),
    connect: (url, ms) => sse(url, { connectTimeout: ms, streamIdleTimeout: ms }),
  },
  WebSocket: {
    serve: (ms) => serveWebSocket({ timeouts: { headers: ms, keepAlive: ms, open: ms }, pingInterval: ms }),
    connect: (url, ms) => websocket(url, { connectTimeout: ms, pingInterval: ms }),
  },
}

for (const [name, { serve, connect }] of Object.entries(ends)) {
  for (const ms of [2 ** 31, 1e13, Number.POSITIVE_INFINITY, 4_000_000_000.5]) {
    test(`${name}: times of ${ms} ms work on both sides without a Node warning`, async (t) => {
      const warned = warnings(t)
      const server = await startSuiteServer(serve(ms))
      t.after(() => server.stop())
      const client = startClient({ transport: connect(String(server.url), ms), logger: false })
      t.after(() => client.close())
      for (const text of ['a', 'b', 'c']) assert.is((await client.callTool('echo', { text })).text, text)
      assert.is(client.inspect().counts.sessions, 1)
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(warned.map(String), [])
    })
  }
}

test('stdio: a server with an infinite stopTimeout is not killed', async (t) => {
  const warned = warnings(t)
  const args = [inRoot('test', 'support', 'raw-server.mjs')]
  const stopTimeout = Number.POSITIVE_INFINITY
  const client = startClient({
    transport: stdio({ command: process.execPath, args, stopTimeout }),
    logger: false,
  })
  t.after(() => client.close())
  await client.callTool('count')
  await client.close()
  assert.equal(warned.map(String), [])
})

test.run()
