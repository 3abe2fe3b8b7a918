import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { http, sse } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { json, listen, polite, result, type Seen, status, stream } from '../../transports/_http.js'
import { rejection, watch } from '../_raw.js'

const test = suite('headers', { timeout: 10_000 })

const always = { 'x-tenant': 'a', authorization: 'Bearer ours' }

test('S050: headers of the transport are on every request: POST, GET and DELETE', async (t) => {
  const { url, seen } = await listen(t, (one) => {
    if (one.method === 'GET') return void stream(one)
    return polite((call) => json(call, result(call, { content: [] })))(one)
  })
  const { client } = watch(t, {
    transport: http(url, { headers: { 'X-Tenant': 'a', Authorization: 'Bearer ours' } }),
  })
  await client.callTool('x')
  await seen.next(({ method }) => method === 'GET')
  await client.close()
  assert.equal(new Set(seen.all.map(({ method }) => method)), new Set(['POST', 'GET', 'DELETE']))
  for (const { headers } of seen.all) assert.equal(pick(headers), always)
})

test('headers of a call override those of the transport, for that call only', async (t) => {
  const { url, seen } = await listen(
    t,
    polite((call) => json(call, result(call, { content: [], tools: [] }))),
  )
  const { client } = watch(t, { transport: http(url, { headers: always }) })
  await client.callTool('x', {}, { headers: { 'X-Tenant': 'b', 'x-trace': '1' } })
  await client.listTools({ headers: { Authorization: 'Bearer theirs' } })
  await client.callTool('y')
  await client.close()
  const own = seen.all.filter(({ headers }) => JSON.stringify(pick(headers)) !== JSON.stringify(always))
  assert.equal(
    own.map(({ message, headers }) => [message.method, pick(headers)]),
    [
      ['tools/call', { 'x-tenant': 'b', authorization: 'Bearer ours', 'x-trace': '1' }],
      ['tools/list', { 'x-tenant': 'a', authorization: 'Bearer theirs' }],
    ],
  )
})

test('retries within a call keep its headers', async (t) => {
  let asked: Seen | undefined
  const { url, seen } = await listen(t, (one) => {
    if (one.method === 'GET')
      return void stream(one).end(`data: ${JSON.stringify(result(asked as Seen, { content: [] }))}\n\n`)
    return polite((call) => {
      asked = call
      stream(call).end('retry: 100\nid: 1\ndata: {"jsonrpc":"2.0","method":"a"}\n\n')
    })(one)
  })
  const { client } = watch(t, { transport: http(url, { stream: false }) })
  await client.callTool('x', {}, { headers: { 'x-tenant': 'b' } })
  const again = seen.all.find(({ method }) => method === 'GET')
  assert.equal([again?.headers['last-event-id'], again?.headers['x-tenant']], ['1', 'b'])
})

test('over HTTP+SSE a call has headers of its own, too', async (t) => {
  const posted = heard<Seen>()
  let told: Seen | undefined
  const { url } = await listen(t, (one) => {
    if (one.method === 'GET') {
      told = one
      return void stream(one).write('event: endpoint\ndata: /post\n\n')
    }
    status(one, 202)
    posted.add(one)
    const { id, method } = one.message
    if (id === undefined) return
    const serverInfo = { name: 'raw', version: '1' }
    const value =
      method === 'initialize'
        ? { protocolVersion: '2024-11-05', capabilities: {}, serverInfo }
        : { content: [] }
    told?.response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: value })}\n\n`)
  })
  const { client } = watch(t, { transport: sse(url, { headers: always }) })
  await client.callTool('x', {}, { headers: { 'x-tenant': 'b' } })
  assert.equal(
    posted.all.map(({ headers }) => headers['x-tenant']),
    ['a', 'a', 'b'],
  )
})

test('a cached answer is not shared between calls with and without own headers', async (t) => {
  const { url, seen } = await listen(t, (one) => {
    const { method } = one.message
    if (method === 'server/discover')
      return json(
        one,
        result(one, {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          serverInfo: { name: 'raw', version: '1' },
          ttlMs: 0,
          cacheScope: 'private',
        }),
      )
    return json(one, result(one, { resultType: 'complete', tools: [], ttlMs: 60_000, cacheScope: 'private' }))
  })
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  const asks = () => seen.all.filter(({ message }) => message.method === 'tools/list').length
  const headers = { 'x-tenant': 'b' }
  await client.listTools({ headers })
  assert.is(asks(), 1)
  await client.listTools()
  await client.listTools()
  assert.is(asks(), 2)
  await client.listTools({ headers })
  assert.is(asks(), 3)
})

for (const [field, headers] of [
  ['headers', 'x: y'],
  ['headers', { 'a b': 'c' }],
  ['headers.x', { x: 'a\nsecret' }],
  ['headers.Host', { Host: 'evil.example' }],
  ['headers.Mcp-Session-Id', { 'Mcp-Session-Id': 'secret' }],
] as const) {
  test(`a call rejects a wrong option: ${field} of ${JSON.stringify(headers)}`, async (t) => {
    const { url, seen } = await listen(t, polite())
    const { client } = watch(t, { transport: http(url, { stream: false }) })
    await client.ready()
    const before = seen.all.length
    const error = await rejection(client.callTool('x', {}, { headers: headers as never }))
    assert.ok(error instanceof ClientError && error.code === 'BAD_OPTION')
    assert.equal(error.data, { field, sent: false })
    assert.not.match(error.message, 'secret')
    assert.is(seen.all.length, before)
  })
}

function pick(headers: Seen['headers']): Record<string, unknown> {
  const names = ['x-tenant', 'authorization', 'x-trace']
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}

test('a throwing getter in the options throws to the caller unchanged', async (t) => {
  const { client } = watch(t)
  const own = new Error('mine')
  const headers = {
    get 'x-own'(): string {
      throw own
    },
  }
  assert.is(await rejection(client.ping({ headers })), own)
})

test.run()
