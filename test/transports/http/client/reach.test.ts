import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http, type HttpOptions, serveHttp, TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { selfSigned } from '../../../support/certificate.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { end, greet, json, listen, polite, result, status } from '../../_http.js'
import { startSuiteServer } from '../../_suite-server.js'
import { startTunnel } from '../../_tunnel.js'

const test = suite('http client: how servers are reached', { timeout: 15_000 })

const own = selfSigned()

/** A supervised client that does not wait long. */
function start(t: TestContext, url: string, options: HttpOptions) {
  const backoff = { base: 1, cap: 5 }
  const client = startClient({ transport: http(url, options), logger: false, backoff, timeout: 60_000 })
  t.after(() => client.close())
  return client
}

/** Why a client failed for good. */
async function failure(client: ReturnType<typeof start>): Promise<TransportError> {
  const error = (await client.ready().catch((thrown: unknown) => thrown)) as Error
  assert.instance(error.cause, TransportError, String(error))
  return error.cause as TransportError
}

/** Why a client is not ready, told for the first time. */
function firstReason(client: ReturnType<typeof start>): Promise<Error> {
  const reasons = heard<Error>()
  client.onState(({ reason }) => reason && reasons.add(reason))
  return reasons.next()
}

async function port(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test('a self-signed server is refused, unless its certificate is an authority', async (t) => {
  const server = await startSuiteServer(serveHttp({ tls: own }))
  t.after(() => server.stop())
  const url = String(server.url)
  assert.match(url, /^https:/)
  const error = await failure(start(t, url, {}))
  assert.is(error.code, 'CONNECT_FAILED')
  for (const tls of [{ ca: own.cert }, { ca: [own.cert] }, { rejectUnauthorized: false }]) {
    const client = start(t, url, { tls })
    assert.is((await client.callTool('echo', { text: 'safe' })).text, 'safe')
  }
})

test('a client certificate is sent to a server that wants one', async (t) => {
  const subjects = heard<string>()
  const options = { ...own, ca: own.cert, requestCert: true, rejectUnauthorized: true }
  const server = createTlsServer(options, (request, response) => {
    subjects.add(
      (
        request.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
      ).getPeerCertificate().subject.CN,
    )
    response.writeHead(503).end()
  })
  const address = `https://127.0.0.1:${await port(server as unknown as Server)}/`
  t.after(() => end(server as unknown as Server))
  start(t, address, { tls: { ca: own.cert, ...own } })
  assert.is(await subjects.next(), 'localhost')
})

test('all traffic uses the given proxy with its credentials, TLS servers too', async (t) => {
  for (const tls of [undefined, own]) {
    const server = await startSuiteServer(serveHttp(tls === undefined ? {} : { tls }))
    t.after(() => server.stop())
    const proxy = await startTunnel(t, () => Number(server.port))
    const client = start(t, String(server.url), {
      proxy: proxy.url,
      ...(tls ? { tls: { ca: tls.cert } } : {}),
    })
    assert.is((await client.callTool('echo', { text: 'far' })).text, 'far')
    assert.is((await client.callTool('count')).text, '1')
    const credentials = `Basic ${Buffer.from('me:secret').toString('base64')}`
    for (const one of proxy.asked.all)
      assert.equal(one, { authority: `127.0.0.1:${server.port}`, credentials })
    assert.ok(proxy.asked.all.length > 0)
    assert.not.ok(JSON.stringify(client.inspect().transport).includes('secret'))
  }
})

/** A server that sends every request on, and notes what it got. */
async function startRedirector(t: TestContext, code: number, location: (path: string) => string) {
  const seen = heard<IncomingMessage>()
  const server = createServer((request, response) => {
    seen.add(request)
    request.resume()
    const to = location(request.url ?? '')
    if (to === '') response.writeHead(200).end()
    else response.writeHead(code, { location: to }).end()
  })
  const url = `http://127.0.0.1:${await port(server)}/mcp`
  t.after(() => end(server))
  return { url, seen }
}

test('a redirect within the origin keeps method, body and headers', async (t) => {
  const origin = await listen(t, (seen) => {
    if (seen.response.req.url !== '/mcp/') return status(seen, 307, { location: '/mcp/' })
    polite((call) => json(call, result(call, {})))(seen)
  })
  const client = start(t, new URL('/mcp', origin.url).href, {
    headers: { authorization: 'Bearer x' },
    stream: false,
  })
  await client.ping()
  await client.close()
  const arrived = origin.seen.all.filter(({ response }) => response.req.url === '/mcp/')
  assert.equal(
    arrived.map(({ method, message }) => message.method ?? method),
    ['initialize', 'notifications/initialized', 'ping', 'DELETE'],
  )
  for (const { headers } of arrived) assert.is(headers.authorization, 'Bearer x')
  for (const { headers } of arrived.slice(1)) assert.is(headers['mcp-session-id'], 'session-1')
})

test('fault 29: a redirect to another origin drops credentials and keeps its session', async (t) => {
  const target = await listen(
    t,
    polite((call) => json(call, result(call, {}))),
  )
  const first = await startRedirector(t, 308, () => target.url)
  const headers = { authorization: 'Bearer canary', cookie: 'a=canary', 'x-api-key': 'canary' }
  const client = start(t, first.url, { headers, stream: false })
  await client.ping()
  await client.close()
  for (const one of first.seen.all) assert.is(one.headers.authorization, 'Bearer canary')
  assert.not.ok(JSON.stringify(target.seen.all.map((one) => one.headers)).includes('canary'))
  const [, ...later] = target.seen.all
  assert.ok(later.length >= 3)
  for (const one of later) assert.is(one.headers['mcp-session-id'], 'session-1')
})

test('a session started at an origin is not sent to another', async (t) => {
  const target = await startRedirector(t, 307, () => '')
  const origin = await listen(t, (seen) => {
    if (seen.message.method === 'initialize') return greet(seen)
    status(seen, 307, { location: target.url })
  })
  const client = start(t, origin.url, { stream: false })
  await client.ping({ timeout: 2_000 }).catch(() => {})
  await target.seen.next()
  for (const one of target.seen.all) assert.is(one.headers['mcp-session-id'], undefined)
})

test('fault 29: a redirect from a public address to a private one is not followed', async (t) => {
  let reached = 0
  const secret = await listen(t, (seen) => {
    reached += 1
    status(seen, 200)
  })
  const { port: secretPort } = new URL(secret.url)
  for (const host of [
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    '169.254.169.254',
    '10.0.0.1',
  ]) {
    const front = await startRedirector(t, 307, () => `http://${host}:${secretPort}/latest`)
    const proxy = await startTunnel(t, () => Number(new URL(front.url).port))
    const client = start(t, 'http://203.0.114.5/mcp', { proxy: proxy.url })
    const reason = await firstReason(client)
    assert.match(reason.message, 'to an address of this machine or network', host)
    assert.equal([...new Set(proxy.asked.all.map(({ authority }) => authority))], ['203.0.114.5:80'])
    await client.close()
  }
  assert.is(reached, 0)
})

test('a redirect of one call to another host fails that call only and names the host', async (t) => {
  const guarded = await listen(t, (seen) => status(seen, 401, { 'www-authenticate': 'Bearer' }))
  const unknowing = await listen(t, (seen) => status(seen, 404))
  const doubting = await listen(t, (seen) => status(seen, 400))
  const untrusted = createTlsServer(own, (_, response) => response.end())
  const tlsPort = await port(untrusted as unknown as Server)
  t.after(() => end(untrusted as unknown as Server))
  const targets: Record<string, readonly [url: string, message: RegExp]> = {
    guarded: [guarded.url, /^tools\/call: .*ORIGIN, where HOME redirects to, answered with status 401/],
    unknowing: [unknowing.url, /^tools\/call: .*ORIGIN, where HOME redirects to, answered with status 404/],
    doubting: [doubting.url, /^tools\/call: .*ORIGIN, where HOME redirects to, answered with status 400/],
    untrusted: [`https://127.0.0.1:${tlsPort}/mcp`, /a redirect leads to ORIGIN, which cannot be reached/],
    // another process could be given a port that was free a moment ago
    gone: ['http://127.0.0.1:9/mcp', /a redirect leads to ORIGIN, which cannot be reached: connect ECONN/],
    metadata: ['http://169.254.169.254:9/latest', /a link-local address is not followed: ORIGIN$/],
  }
  const origin = await listen(
    t,
    polite((seen) => {
      const { name } = (seen.message.params ?? {}) as { readonly name: string }
      const target = targets[name]
      if (target === undefined) return json(seen, result(seen, { content: [{ type: 'text', text: 'ok' }] }))
      status(seen, 307, { location: target[0] })
    }),
  )
  for (const auth of [undefined, 'a-token']) {
    const client = start(t, origin.url, { stream: false, ...(auth === undefined ? {} : { auth }) })
    for (const [name, [url, message]] of Object.entries(targets)) {
      const error = (await client.callTool(name).catch((thrown) => thrown)) as Error
      const named = message.source
        .replace('ORIGIN', new URL(url).origin)
        .replace('HOME', new URL('/mcp', origin.url).href + '\\?\\.{3}')
      assert.ok(new RegExp(named).test(error.message), `${name}: ${error.message}, expected ${named}`)
      assert.is((await client.callTool('here')).text, 'ok', name)
      assert.equal([client.state.phase, client.inspect().counts.sessions], ['ready', 1], name)
    }
    await client.close()
  }
})

test('a redirect target that wants authorization is named with advice', async (t) => {
  const guarded = await listen(t, (seen) => status(seen, 401, { 'www-authenticate': 'Bearer' }))
  const first = await startRedirector(t, 307, () => guarded.url)
  const error = await failure(start(t, first.url, { auth: 'a-token' }))
  assert.is(error.code, 'UNAUTHORIZED')
  assert.match(error.message, `${new URL(guarded.url).origin}, where ${first.url} redirects to, wants`)
  assert.match(error.message, 'give its address to the transport')
})

test('no redirect to a link-local address is followed', async (t) => {
  for (const host of [
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
  ]) {
    const front = await startRedirector(t, 307, () => `http://${host}:9/latest/meta-data/`)
    const client = start(t, front.url, {})
    assert.match((await firstReason(client)).message, 'to a link-local address is not followed', host)
    await client.close()
  }
})

test('redirect loops, 303 and disabled redirects are refusals', async (t) => {
  const circle = await startRedirector(t, 307, (path) => (path === '/mcp' ? '/mcp2' : '/mcp'))
  for (const [url, options, expected, requests] of [
    [circle.url, {}, /more than 5 times/, 6],
    [circle.url, { maxRedirects: 1 }, /more than 1 times/, 2],
    [circle.url, { maxRedirects: 0 }, /status 307/, 1],
    [(await startRedirector(t, 303, () => '/x')).url, {}, /status 303/, undefined],
    [(await startRedirector(t, 307, () => 'ftp://127.0.0.1/x')).url, {}, /to another scheme/, undefined],
    [
      (await startRedirector(t, 307, () => 'http://a:b@127.0.0.1:1/')).url,
      {},
      /with a user and password/,
      undefined,
    ],
  ] as const) {
    const before = circle.seen.all.length
    const backoff = { base: 60_000, cap: 60_000, random: () => 1 }
    const client = startClient({ transport: http(url, options), logger: false, backoff })
    t.after(() => client.close())
    const reason = await firstReason(client)
    assert.match(reason.message + String((reason.cause as Error | undefined)?.message), expected)
    if (requests !== undefined) assert.is(circle.seen.all.length - before, requests)
  }
})

test.run()
