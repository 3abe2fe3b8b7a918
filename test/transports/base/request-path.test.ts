import { once } from 'node:events'
import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { serveHttp, serveSse, serveWebSocket } from 'caduceus/transports'
import { pathOf, urlAt } from '../../../transports/base/target.js'
import { initialize } from '../../server/_client.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startSuiteServer } from '../_suite-server.js'

const test = suite('the path of a request')

for (const [target, path] of [
  ['/mcp', '/mcp'],
  ['/mcp?a=1?b', '/mcp'],
  ['http://127.0.0.1:3000/mcp', '/mcp'],
  ['HTTPS://host/mcp?x=/y', '/mcp'],
  ['http://host/', '/'],
  ['http://host', 'http://host'],
  ['http://host?/mcp', 'http://host'],
  ['http:///mcp', '/mcp'],
  ['ftp://host/mcp', 'ftp://host/mcp'],
  ['*', '*'],
  ['mcp', 'mcp'],
  ['', ''],
  [undefined, ''],
] as const)
  test(`the path of target ${target} is ${path}`, () => assert.is(pathOf(target), path))

test('a path is never read as another host, and never throws', () => {
  for (const [path, href] of [
    ['/mcp?a=1', 'http://host:1/mcp?a=1'],
    ['//evil.example/x', 'http://host:1//evil.example/x'],
    ['//', 'http://host:1//'],
    ['//[', 'http://host:1//['],
  ] as const)
    assert.is(urlAt('http://host:1', path).href, href)
})

/** The status of the answer to what is sent on a connection of its own. */
async function statusOf(t: TestContext, port: number | undefined, text: string): Promise<string | undefined> {
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
  t.after(() => socket.destroy())
  const [chunk] = await once(socket.setEncoding('latin1'), 'data', { signal: t.signal })
  return /^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1]
}

test('each listener takes an absolute target, with its host instead of the header', async (t) => {
  const [http, sse, websocket] = await Promise.all(
    [serveHttp({ health: true }), serveSse(), serveWebSocket()].map((each) => startSuiteServer(each)),
  )
  for (const server of [http, sse, websocket]) t.after(() => server?.stop())
  const [own, foreign] = ['127.0.0.1', 'evil.example']
  const asked = (verb: string, path: string, rest = '', { target = own, host = own } = {}): string =>
    `${verb} http://${target}${path} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json, text/event-stream\r\n${rest}\r\n`
  const body = JSON.stringify(initialize())
  const json = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
  const upgrade =
    'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: mcp\r\n'
  const post = asked('POST', '/mcp', json) + body
  assert.is(await statusOf(t, http?.port, post), '200')
  assert.is(await statusOf(t, http?.port, asked('GET', '/healthz')), '200')
  assert.is(await statusOf(t, http?.port, asked('GET', '/other')), '404')
  assert.is(await statusOf(t, sse?.port, asked('GET', '/sse')), '200')
  assert.is(await statusOf(t, websocket?.port, asked('GET', '/mcp', upgrade)), '101')
  for (const [server, verb, path, rest, taken] of [
    [http, 'POST', '/mcp', json, '200'],
    [sse, 'GET', '/sse', '', '200'],
    [websocket, 'GET', '/mcp', upgrade, '101'],
  ] as const) {
    const status = (hosts: object): Promise<string | undefined> =>
      statusOf(t, server?.port, asked(verb, path, rest, hosts) + (verb === 'POST' ? body : ''))
    assert.is(await status({ target: foreign }), '403')
    // RFC 9112, section 3.2.2: such a header is ignored
    assert.is(await status({ host: foreign }), taken)
  }
})

test.run()
