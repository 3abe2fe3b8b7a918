import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, startListener } from '../../_listener.js'

const test = suite('http cors')
const origin = 'https://app.example.com'
const options = { cors: true, allowedOrigins: [origin] }

test('a preflight of an allowed origin lists what it may send', async (t) => {
  const { url } = await startListener(t, {}, options)
  const wanted =
    'Content-Type, mcp-protocol-version, Mcp-Session-Id, mcp-method, mcp-name, Mcp-Param-Region, last-event-id, authorization, x-evil, cookie'
  const { status, headers, ended } = await preflight(t, url, { 'access-control-request-headers': wanted })
  assert.equal([status, await ended], [204, ''])
  assert.is(headers['access-control-allow-origin'], origin)
  assert.is(headers['access-control-allow-methods'], 'POST, GET, DELETE')
  assert.is(
    headers['access-control-allow-headers'],
    'content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, mcp-param-region, last-event-id, authorization',
  )
  assert.match(String(headers.vary), 'Origin')
  assert.is(headers['access-control-allow-credentials'], undefined)
  assert.is(headers['access-control-allow-private-network'], undefined)
  const local = await preflight(t, url, { 'access-control-request-private-network': 'true' })
  assert.is(local.headers['access-control-allow-private-network'], 'true')
})

test('each answer to an allowed origin is readable, refusals and streams included', async (t) => {
  const { url } = await startListener(t, {}, options)
  const asked = {
    body: { jsonrpc: '2.0', id: 1, method: 'initialize' },
    headers: { 'mcp-session-id': undefined },
  }
  for (const [what, how, status] of [
    ['an answer', {}, 200],
    ['a session', asked, 200],
    ['a refusal', { body: 'no json' }, 400],
    ['a stream', { method: 'GET' }, 200],
    ['a wrong type', { headers: { 'content-type': 'text/plain' } }, 415],
    ['another method', { method: 'PUT' }, 405],
  ] as const) {
    const answer = await exchange(t, url, {
      ...how,
      headers: { ...('headers' in how && how.headers), origin },
    })
    assert.is(answer.status, status, what)
    assert.is(answer.headers['access-control-allow-origin'], origin, what)
    assert.match(
      String(answer.headers['access-control-expose-headers']),
      'Mcp-Session-Id, WWW-Authenticate',
      what,
    )
    assert.match(String(answer.headers.vary), 'Origin', what)
  }
})

test('other origins are refused without CORS headers', async (t) => {
  const { url } = await startListener(t, {}, options)
  for (const other of [
    'https://evil.example',
    'null',
    'https://app.example.com:444',
    'http://app.example.com',
  ]) {
    const refused = [
      await preflight(t, url, { origin: other }),
      await exchange(t, url, { headers: { origin: other } }),
    ]
    for (const { status, headers } of refused) {
      assert.is(status, 403, other)
      assert.is(headers['access-control-allow-origin'], undefined)
    }
  }
})

test('a foreign host is refused before CORS', async (t) => {
  const { url } = await startListener(t, {}, options)
  const { status, headers } = await preflight(t, url, { host: 'evil.example' })
  assert.equal([status, headers['access-control-allow-origin']], [403, undefined])
})

test('without the option there are no CORS headers', async (t) => {
  const { url } = await startListener(t, {}, { allowedOrigins: [origin] })
  assert.is((await preflight(t, url)).status, 405)
  const { status, headers } = await exchange(t, url, { headers: { origin } })
  assert.equal([status, headers['access-control-allow-origin']], [200, undefined])
})

test('requests without an origin are not affected', async (t) => {
  const { url } = await startListener(t, {}, options)
  const { headers } = await exchange(t, url)
  assert.equal([headers['access-control-allow-origin'], headers.vary], [undefined, undefined])
  assert.is((await exchange(t, url, { method: 'OPTIONS' })).status, 405)
})

function preflight(t: TestContext, url: string, headers: Record<string, string> = {}) {
  const asking = { origin, 'access-control-request-method': 'POST', 'mcp-session-id': undefined }
  return exchange(t, url, { method: 'OPTIONS', headers: { ...asking, ...headers } })
}

test.run()
