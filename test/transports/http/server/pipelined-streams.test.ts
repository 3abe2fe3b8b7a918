import { connect } from 'node:net'
import { serveHttp, serveSse, subscribeTransport } from 'caduceus/transports'
import { initialize } from '../../../server/_client.js'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { startSuiteServer } from '../../_suite-server.js'
import * as assert from 'uvu/assert'

const test = suite('requests that are sent ahead')

/** Sends bytes on a connection of its own; `cut` ends it. */
function sendAll(t: TestContext, port: number | undefined, text: string) {
  const came = heard<string>()
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    for (const [line] of chunk.matchAll(/HTTP\/1\.1 \d+/g)) came.add(line)
  })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  return { came, cut: () => socket.destroy() }
}

test('an HTTP+SSE client that leaves ends its streams queued on the connection', async (t) => {
  const openings = heard<string>()
  t.after(subscribeTransport('connection', ({ type }) => openings.add(type)))
  const server = await startSuiteServer(serveSse({ limits: { connectionsPerClient: 5 } }))
  t.after(() => server.stop())
  const open = 'GET /sse HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n'
  const { cut } = sendAll(t, server.port, open.repeat(5))
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'opened')
  cut()
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'closed')
  // nothing is counted any more: the address may have as many as before
  const again = sendAll(t, server.port, open.repeat(5))
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'opened')
  again.cut()
  for (let i = 0; i < 5; i++) await openings.next((type) => type === 'closed')
})

test('a hundred requests on one connection are answered without a Node warning', async (t) => {
  const warnings: string[] = []
  const warned = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  const body = JSON.stringify(initialize())
  const head =
    'host: 127.0.0.1\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json'
  const one = `POST /mcp HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const { came } = sendAll(t, server.port, one.repeat(100))
  for (let i = 0; i < 100; i++) assert.is(await came.next(), 'HTTP/1.1 200')
  assert.equal(warnings, [])
})

test.run()
