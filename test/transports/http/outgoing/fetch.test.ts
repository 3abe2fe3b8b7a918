import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import type { LookupAll } from '../../../../transports/base/private-address.js'
import { type SafeRequest, safeFetch } from '../../../../transports/http/outgoing/fetch.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { end } from '../../_http.js'

const test = suite('requests to addresses that others name')

async function serve(
  t: TestContext,
  handle: RequestListener,
): Promise<{ port: number; asked: string[]; server: Server }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  return { port: (server.address() as AddressInfo).port, asked, server }
}

function ask(address: string, more: Partial<SafeRequest> = {}) {
  const { signal } = new AbortController()
  return safeFetch(address, { signal, timeout: 4_000, privateNetwork: false, ...more })
}

/** Resolves once nobody is connected any more. */
async function whenLeft(server: Server): Promise<void> {
  const count = () => new Promise<number>((resolve) => server.getConnections((_, now) => resolve(now)))
  while ((await count()) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
}

async function refusal(
  work: Promise<unknown>,
): Promise<{ code?: string; retryable?: boolean; message: string }> {
  return work.then(
    () => assert.unreachable() as never,
    (error) => error,
  )
}

test('private addresses are refused in every notation and never dialled', async (t) => {
  const { port, asked } = await serve(t, (_request, response) => response.end('{}'))
  const hosts = [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '127.1',
    '[::1]',
    'localhost',
    '[::ffff:127.0.0.1]',
  ]
  for (const host of hosts) {
    const error = await refusal(ask(`http://${host}:${port}/`))
    assert.equal([error.code, error.retryable], ['AUTHORIZATION_UNAVAILABLE', false], host)
  }
  for (const host of ['169.254.169.254', '10.0.0.1', '[fd00::1]', '192.168.1.1', '[::ffff:a9fe:a9fe]'])
    assert.is((await refusal(ask(`https://${host}:${port}/`))).retryable, false, host)
  assert.equal(asked, [])
})

test('a DNS name rebound to this machine is refused when dialled', async (t) => {
  const { port, asked } = await serve(t, (_request, response) => response.end('{}'))
  const lookup: LookupAll = (_name, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }])
  const error = await refusal(ask(`https://rebound.example:${port}/`, { lookup }))
  assert.equal([error.code, error.retryable], ['AUTHORIZATION_UNAVAILABLE', false])
  assert.equal(asked, [])
})

test('http, scripts, files and passwords are refused', async () => {
  const bad = [
    'http://example.com/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://a:b@example.com/',
    'x',
    '',
  ]
  for (const address of bad) {
    const error = await refusal(ask(address, { privateNetwork: true }))
    assert.is(error.retryable, false, address)
    assert.not.match(error.message, /a:b/)
  }
})

test('redirects are followed three times at most, each checked, and a POST never', async (t) => {
  const { port, asked } = await serve(t, (request, response) => {
    const left = Number(request.url?.slice(1))
    const away = left > 0 ? `/${left - 1}` : left < 0 ? 'http://169.254.169.254/latest' : undefined
    if (away === undefined) response.end('{"there":true}')
    else response.writeHead(302, { location: away }).end()
  })
  const [url, privateNetwork] = [`http://127.0.0.1:${port}`, true]
  assert.is((await ask(`${url}/3`, { privateNetwork })).text, '{"there":true}')
  assert.match((await refusal(ask(`${url}/4`, { privateNetwork }))).message, /redirects more than 3/)
  assert.match(
    (await refusal(ask(`${url}/-1`, { privateNetwork }))).message,
    /169\.254\.169\.254.* not asked/,
  )
  asked.length = 0
  assert.is((await ask(`${url}/1`, { privateNetwork, method: 'POST', body: 'secret' })).status, 302)
  assert.equal(asked, ['POST /1'])
})

test('no connection stays open, despite keep-alive', async (t) => {
  const { port, server } = await serve(t, (_request, response) => response.end('{}'))
  server.keepAliveTimeout = 600_000
  assert.is((await ask(`http://127.0.0.1:${port}/`, { privateNetwork: true })).text, '{}')
  await whenLeft(server)
})

test('an answer that is too long, or never comes, is given up', async (t) => {
  const long = await serve(t, (_request, response) => response.end('x'.repeat(2 * 1024 * 1024)))
  const error = await refusal(ask(`http://127.0.0.1:${long.port}/`, { privateNetwork: true }))
  assert.match(error.message, /bytes/)
  const never = await serve(t, () => {})
  const late = await refusal(ask(`http://127.0.0.1:${never.port}/`, { privateNetwork: true, timeout: 50 }))
  assert.is(late.retryable, true)
})

test('with privateNetwork a fetch of link-local addresses is refused', async (t) => {
  for (const host of ['169.254.169.254', '0xa9fea9fe', '[fe80::1]']) {
    const location = `http://${host}/latest/meta-data`
    const { port } = await serve(t, (_request, response) => response.writeHead(302, { location }).end())
    const error = await refusal(ask(`http://127.0.0.1:${port}/`, { privateNetwork: true }))
    assert.equal([error.code, error.retryable], ['AUTHORIZATION_UNAVAILABLE', false], host)
  }
  const lookup: LookupAll = (_, __, callback) => callback(null, [{ address: '169.254.169.254', family: 4 }])
  const named = await refusal(ask('https://metadata.example/x', { privateNetwork: true, lookup }))
  assert.match(named.message, 'is a link-local address')
})

test('a redirect that leads nowhere is passed on, and its body is not read', async (t) => {
  const state = { status: 300 }
  const server = createServer((_request, response) => {
    response.writeHead(state.status, { 'content-type': 'text/plain' })
    response.end('the body')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const ask = () => safeFetch(address, { signal: t.signal, timeout: 5_000, privateNetwork: true })
  for (const [status, text] of [
    [299, 'the body'],
    [300, ''],
    [302, ''],
    [399, ''],
    [400, 'the body'],
  ] as const) {
    state.status = status
    const answer = await ask()
    assert.equal([answer.status, answer.text], [status, text])
  }
})

test.run()
