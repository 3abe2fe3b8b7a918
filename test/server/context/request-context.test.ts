import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, json, startServer } from 'caduceus/server'
import { mount, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startParts } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'

const test = suite('server/context/request-context')

const facts = defineTool({
  name: 'facts',
  input: { type: 'object' },
  run(_args, { request, transport, session, assigns, user }) {
    const { name, headers, query, ip, scheme } = transport
    const seen = { tenant: headers.get('X-Tenant'), none: headers.get('x-none'), page: query.get('page') }
    return json({ request, session, seen, name, ip, scheme, assigns, user })
  },
})

const whoami = defineTool({
  name: 'whoami',
  run: (_args, { assigns, user }) => json({ assigns, user }),
})

const query = defineTool({
  name: 'query',
  run: (_args, ctx) => json({ query: [...ctx.transport.query] }),
})

test('a tool sees the request and its principal', async (t) => {
  const { client } = await startParts(t, { tools: [facts] })
  const params = { name: 'facts', arguments: { free: [1] }, _meta: { progressToken: 'p' } }
  const { result } = await client.ask('tools/call', params, 'id-7')
  const { request, session } = JSON.parse(result?.content?.[0]?.text ?? '')
  assert.equal(request, { id: 'id-7', method: 'tools/call', params })
  assert.is(session.id, client.sessionId)
  assert.equal([session.client.name, session.revision], ['raw', '2025-11-25'])
})

test('headers are found in any case, beside query, address and scheme', async (t) => {
  const { server } = await startParts(t, { tools: [facts] })
  const client = new RawClient(t, `${server.url}?page=2&q=a?b`)
  client.own = { 'x-TENANT': 'acme' }
  await client.open()
  const { seen, name, ip, scheme, assigns, user } = JSON.parse(await client.text('facts'))
  assert.equal(seen, { tenant: 'acme', none: null, page: '2' })
  assert.equal([name, ip, scheme], ['http', '127.0.0.1', 'http'])
  assert.equal([assigns, user], [{}, undefined])
})

test('the scheme comes from a trusted proxy, else from the connection', async (t) => {
  const open = async (trustProxy: number) => {
    const server = await startServer(defineServer({ name: 'test', version: '1', tools: [facts] }), {
      transport: serveHttp({ trustProxy }),
      logger: false,
    })
    t.after(() => server.stop())
    const client = new RawClient(t, server.url)
    client.own = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' }
    const { scheme, ip } = JSON.parse(await (await client.open()).text('facts'))
    return [scheme, ip]
  }
  assert.equal(await open(1), ['https', '203.0.113.9'])
  assert.equal(await open(0), ['http', '127.0.0.1'])
})

test('a request without a session has the same context', async (t) => {
  const { send } = await startStateless(t, { tools: [facts] })
  const [answer] = (
    await send(posted('tools/call', { name: 'facts', arguments: { a: 1 } }, { 'x-tenant': 'acme' }))
  ).messages
  const { request, seen } = JSON.parse(answer?.result?.content?.[0]?.text ?? '')
  assert.equal([request.id, request.method, request.params.arguments], [1, 'tools/call', { a: 1 }])
  assert.is(seen.tenant, 'acme')
})

test('a mounted server sees the whole query', async (t) => {
  const client = await new RawClient(t, `${await startMounted(t)}?page=2&q=a?b&page=3`).open()
  const { query } = JSON.parse(await client.text('query'))
  assert.equal(query, [
    ['page', '2'],
    ['q', 'a?b'],
    ['page', '3'],
  ])
})

test('facts of middleware belong to one request, even on a shared session', async (t) => {
  const url = await startMounted(t)
  const client = await new RawClient(t, url).open()
  for (const name of ['ada', 'bob', undefined, 'ada']) {
    client.own = name === undefined ? {} : { 'x-user': name }
    const { assigns, user } = JSON.parse(await client.text('whoami'))
    assert.equal([assigns, user], name === undefined ? [{}, undefined] : [{ user: { name } }, { name }])
  }
})

test.run()

async function startMounted(t: TestContext): Promise<string> {
  const mcp = mount()
  const server = await startServer(defineServer({ name: 'test', version: '1', tools: [whoami, query] }), {
    transport: mcp,
    logger: false,
  })
  t.after(() => server.stop())
  const host = createServer((request, response) => {
    const name = request.headers['x-user']
    mcp.handle(request, response, name === undefined ? {} : { assigns: { user: { name } } })
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => host.close(resolve)))
  return `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
}
