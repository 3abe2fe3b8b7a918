import * as assert from 'uvu/assert'
import { startClient } from '../../../client/handle/supervisor.js'
import type { ClientTransport, ServerTransport } from '../../../transports/contract/contract.js'
import { http } from '../../../transports/http/client/client.js'
import { serveHttp } from '../../../transports/http/server/serve.js'
import { sse } from '../../../transports/http/client/sse.js'
import { serveSse } from '../../../transports/sse/serve.js'
import { stdio } from '../../../transports/stdio/client.js'
import { socketLimits } from '../../../transports/websocket/connection.js'
import { websocket } from '../../../transports/websocket/client.js'
import { serveWebSocket } from '../../../transports/websocket/serve.js'
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
        headersTimeout: ms,
        bodyTimeout: ms,
        keepAliveTimeout: ms,
        commentInterval: ms,
        retryInterval: ms,
      }),
    connect: (url, ms) =>
      http(url, { connectTimeout: ms, headersTimeout: ms, idleTimeout: ms, streamIdleTimeout: ms }),
  },
  'HTTP+SSE': {
    serve: (ms) =>
      serveSse({ headersTimeout: ms, keepAliveTimeout: ms, openTimeout: ms, commentInterval: ms }),
    connect: (url, ms) => sse(url, { connectTimeout: ms, streamIdleTimeout: ms }),
  },
  WebSocket: {
    serve: (ms) =>
      serveWebSocket({ headersTimeout: ms, keepAliveTimeout: ms, openTimeout: ms, pingInterval: ms }),
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

test('the message limit of a socket is capped at what ws can count', () => {
  for (const most of [2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER])
    assert.is(socketLimits(most).maxPayload | 0, 2 ** 31 - 1)
  assert.is(socketLimits(1_000).maxPayload, 1_000)
})

test.run()
