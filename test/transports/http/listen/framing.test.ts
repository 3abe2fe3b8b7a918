import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { serveHttp, type ServerTransport, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite, type TestContext } from '../../../support/suite.js'

const test = suite('http framing', { timeout: 15_000 })
const kinds: readonly [string, string, () => ServerTransport][] = [
  ['http', 'POST', () => serveHttp()],
  ['sse', 'POST', () => serveSse({ path: '/sse', messagesPath: '/mcp' })],
  ['websocket', 'GET', () => serveWebSocket()],
]

async function ask(t: TestContext, port: number, line: string, headers: readonly string[]): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write([line, `host: 127.0.0.1:${port}`, ...headers, '', '0', '', ''].join('\r\n'))
  const answer = await new Promise<Buffer>((resolve, reject) =>
    socket.once('data', resolve).once('error', reject),
  )
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString())?.[1])
}

for (const [name, method, make] of kinds) {
  test(`${name}: other host in the target, other HTTP version or coding is refused`, async (t) => {
    const definition = defineServer({ name: 'x', version: '1', tools: [] })
    const server = await startServer(definition, { transport: make(), logger: false, signals: false })
    t.after(() => server.stop())
    const port = Number(server.port)
    const upgrade = [
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ]
    const more =
      name === 'websocket' ? [...upgrade, 'sec-websocket-version: 13'] : ['content-type: application/json']
    const chunked = [...more, 'transfer-encoding: chunked']
    assert.is(await ask(t, port, `${method} http://evil.example/mcp HTTP/1.1`, chunked), 403)
    const own = await ask(t, port, `${method} http://127.0.0.1:${port}/mcp HTTP/1.1`, chunked)
    assert.ok(own !== 403 && own < 500, String(own))
    assert.is(await ask(t, port, `${method} /mcp HTTP/2.0`, chunked), 505)
    assert.is(
      await ask(t, port, `${method} /mcp HTTP/1.1`, [...more, 'transfer-encoding: gzip, chunked']),
      501,
    )
  })
}

test.run()
