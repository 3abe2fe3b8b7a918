import { createServer, type IncomingMessage } from 'node:http'
import express from 'express'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { record } from 'caduceus/testing'
import { http, mount, type MountOptions, TransportError } from 'caduceus/transports'
import { initialize, RawClient } from '../../../server/_client.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange } from '../../_listener.js'
import { connected, text } from '../../_suite.js'
import { startSuiteServer } from '../../_suite-server.js'
import { everyTransportMounted, hosts, listenNode } from './_hosts.js'

for (const name of ['node:http', 'Hono']) everyTransportMounted(name)

const test = suite('mount', { timeout: 15_000 })

async function start(t: TestContext, host: string, options: MountOptions = {}) {
  const mcp = mount(options)
  const url = await hosts[host]?.(t, mcp)
  const server = await startSuiteServer(mcp)
  t.after(() => server.stop())
  return { mcp, url: String(url), server }
}

for (const name of Object.keys(hosts)) {
  test(`${name}: Host, Origin and bodies are checked`, async (t) => {
    const { url } = await start(t, name)
    const client = await new RawClient(t, url).open()
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const headers = client.headers()
    const statusOf = async (extra: Record<string, string>, body = ping, method = 'POST') =>
      (await client.send(method, body, { ...headers, ...extra })).status
    assert.is(await statusOf({ host: 'evil.example' }), 403)
    assert.is(await statusOf({ origin: 'https://evil.example' }), 403)
    assert.is(await statusOf({ accept: 'application/json' }), 406)
    assert.is(await statusOf({ 'mcp-session-id': 'made-up' }), 404)
    assert.is(await statusOf({}, '{"jsonrpc":"1.0"}'), 400)
    assert.is(await statusOf({}, ping, 'PUT'), 405)
    assert.is(await statusOf({}), 200)
    // a client that ends its session sends no body, and says so
    const { 'content-type': _, ...bodiless } = headers
    assert.is((await client.send('DELETE', undefined, bodiless)).status, 204)
    assert.is(await statusOf({}), 404)
  })
}

for (const name of Object.keys(hosts)) {
  test(`${name}: a broken stream resumes for its session`, async (t) => {
    let leave = (): void => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const gate = defineTool({
      name: 'gate',
      async run(_args, ctx) {
        ctx.progress(1)
        await left
        ctx.progress(2)
        return 'left'
      },
    })
    const mcp = mount()
    const url = String(await hosts[name]?.(t, mcp))
    const definition = defineServer({ name: 'resuming', version: '1', tools: [gate] })
    const server = await startServer(definition, { transport: mcp, logger: false })
    t.after(() => server.stop())
    const [client, other] = [await new RawClient(t, url).open(), await new RawClient(t, url).open()]
    const params = { name: 'gate', _meta: { progressToken: 'p' } }
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params }
    const broken = await exchange(t, url, { body, headers: client.headers() })
    const [first, progress] = [await broken.next(), await broken.next()]
    assert.equal([first.data, JSON.parse(progress.data).params.progress], ['', 1])
    broken.cut()
    await broken.ended
    leave()
    const comeBack = (who: RawClient) =>
      exchange(t, url, { method: 'GET', headers: { ...who.headers(), 'last-event-id': String(progress.id) } })
    const again = await comeBack(client)
    assert.is(JSON.parse((await again.next()).data).params.progress, 2)
    assert.is(JSON.parse((await again.next()).data).result.content[0].text, 'left')
    await again.ended
    assert.is((await comeBack(other)).status, 400)
  })
}

test('a body beyond the limit is 413, through fetch too', async (t) => {
  for (const name of ['node:http', 'Hono']) {
    const { url } = await start(t, name, { limits: { messageBytes: 1_000 } })
    const client = new RawClient(t, url)
    const answer = await client.send('POST', 'x'.repeat(2_000), client.headers())
    assert.is(answer.status, 413, name)
  }
})

test('an event stream opened by fetch carries list changes and ends with the server', async (t) => {
  const { url, server } = await start(t, 'Hono')
  const client = await new RawClient(t, url).open()
  const stream = await client.listen()
  await client.call('grow')
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  await server.stop()
  await stream.ended
})

test('facts of middleware reach the tools of their own request only', async (t) => {
  const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => String(ctx.peer.assigns?.user) })
  const mcp = mount()
  const app = express()
  app.use((request, _response, next) => {
    Object.assign(request, { user: request.headers['x-user'] })
    next()
  })
  app.use('/deep/mcp', (request, response) => {
    const { user, body } = request as IncomingMessage & { user?: string; body?: unknown }
    mcp.handle(request, response, { body, assigns: { user } })
  })
  const url = await listenNode(t, createServer(app))
  const server = await startServer(defineServer({ name: 'assigns', version: '1.0.0', tools: [whoami] }), {
    transport: mcp,
    logger: false,
  })
  t.after(() => server.stop())
  const client = await new RawClient(t, url).open()
  const ask = async (user: string) => {
    const call = { jsonrpc: '2.0', id: user, method: 'tools/call', params: { name: 'whoami' } }
    return (await client.post(call, { 'x-user': user })).messages[0]?.result?.content?.[0]?.text
  }
  assert.equal(await Promise.all([ask('ada'), ask('grace')]), ['ada', 'grace'])
})

test('before its server has started, and after it has ended, a mount answers 503', async (t) => {
  const mcp = mount()
  const url = await hosts['node:http']?.(t, mcp)
  const client = new RawClient(t, url)
  const greet = () => client.post(initialize())
  assert.is((await greet()).status, 503)
  const server = await startSuiteServer(mcp)
  assert.is((await greet()).status, 200)
  await server.stop()
  const { status, headers } = await greet()
  assert.equal([status, headers['retry-after']], [503, '1'])
  const request = new Request('http://localhost/mcp', { method: 'POST', body: '{}' })
  assert.is((await mcp.fetch(request)).status, 503)
})

test('a host beyond loopback is let in when it is allowed', async (t) => {
  const { mcp } = await start(t, 'node:http', { allowedHosts: ['mcp.example.com'] })
  const ask = async (host: string) => {
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const body = JSON.stringify(initialize())
    return (await mcp.fetch(new Request(`https://${host}/any/path`, { method: 'POST', headers, body })))
      .status
  }
  assert.equal([await ask('mcp.example.com'), await ask('other.example.com')], [200, 403])
})

test('what middleware hands over is held to what tokens are', async (t) => {
  const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => ctx.principal?.scopes?.join() ?? 'none' })
  const auth = {
    resource: 'http://127.0.0.1/mcp',
    authorizationServers: ['https://as.example'],
    verify: () => undefined,
    scopes: ['read'],
  }
  const mcp = mount({ auth })
  const reports = record('stray')
  const server = await startServer(defineServer({ name: 's', version: '1', tools: [whoami] }), {
    transport: mcp,
    logger: false,
  })
  t.after(() => server.stop())
  const ada = { issuer: 'i', subject: 'ada', scopes: ['read'] }
  const ask = async (principal: unknown) => {
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers,
      body: JSON.stringify(initialize()),
    })
    const response = await mcp.fetch(request, { principal: principal as never })
    return [response.status, response.headers.get('www-authenticate')?.split(',')[0]]
  }
  assert.equal(await ask(ada), [200, undefined])
  assert.equal(await ask({ ...ada, expiresAt: 1 }), [401, 'Bearer error="invalid_token"'])
  assert.equal(await ask({ ...ada, scopes: ['other'] }), [403, 'Bearer error="insufficient_scope"'])
  assert.equal(await ask({ ...ada, scopes: undefined }), [403, 'Bearer error="insufficient_scope"'])
  for (const wrong of [{}, { issuer: 'i', subject: '' }, { ...ada, expiresAt: Number.NaN }, 7])
    assert.equal(await ask(wrong), [500, undefined])
  assert.match(String((await reports.next()).error), 'expected')
})

test('a client uses a mount beside the other pages of its web server', async (t) => {
  const { url } = await start(t, 'Express, body parsed')
  assert.is((await fetch(new URL('/', url))).status, 404)
  assert.is(await text(await connected(t, { connect: () => http(url) }), 'count'), '1')
})

test('options are checked', () => {
  assert.throws(
    () => mount({ allowedHosts: 'all' } as never),
    (error: unknown) => error instanceof TransportError && error.code === 'BAD_OPTION',
  )
})

test.run()
