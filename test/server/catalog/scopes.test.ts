import { withClient } from 'caduceus/client'
import { defineServer, defineTool, type Server, startServer } from 'caduceus/server'
import {
  type Authenticate,
  memory,
  serveHttp,
  type ServerTransport,
  serveWebSocket,
} from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../support/suite.js'
import { greet, open } from '../../transports/websocket/_websocket.js'
import { parts } from './_scoped.js'
import { RawClient, type Wire } from '../_client.js'
import { posted } from '../_stateless.js'

const test = suite('scopes', { timeout: 15_000 })

/** Takes `Bearer NAME SCOPE…`, joined by dots. */
const byScopes: Authenticate = ({ headers }) => {
  const [subject = '', ...scopes] = String(headers.authorization).slice('Bearer '.length).split('.')
  return headers.authorization === undefined ? 'anonymous' : { issuer: 'test', subject, scopes }
}

async function start(t: TestContext, transport: ServerTransport, more = {}): Promise<Server> {
  const definition = defineServer({ name: 'test', version: '1', ...parts, ...more })
  const server = await startServer(definition, { transport, logger: false })
  t.after(() => server.stop())
  return server
}

async function startHttp(t: TestContext, more = {}) {
  const server = await start(t, serveHttp({ authenticate: byScopes }), more)
  const client = (token?: string, sessionId?: string): RawClient => {
    const raw = new RawClient(t, server.url)
    if (token !== undefined) raw.own = { authorization: `Bearer ${token}` }
    raw.sessionId = sessionId
    return raw
  }
  return { server, client }
}

/** Everything that a client can list. */
async function listed(ask: (method: string) => Promise<Wire>): Promise<unknown[]> {
  const methods = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']
  const results = await Promise.all(methods.map(ask))
  const components = results.flatMap(({ result }) =>
    Object.values(result ?? {}).flatMap((value) => (Array.isArray(value) ? value : [])),
  )
  return components.map(({ name }: { name: string }) => name)
}

/** Every request that uses something which takes a scope. */
const uses: readonly (readonly [string, object])[] = [
  ['tools/call', { name: 'both', arguments: {} }],
  ['resources/read', { uri: 'x://kept' }],
  ['resources/read', { uri: 'kept://a' }],
  ['resources/subscribe', { uri: 'kept://a' }],
  ['prompts/get', { name: 'secret' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'secret' }, argument: { name: 'a', value: '' } },
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'kept://{name}' }, argument: { name: 'name', value: '' } },
  ],
]

test('a list shows what its reader may use', async (t) => {
  const { client } = await startHttp(t)
  const all = ['open', 'write', 'both', 'open', 'kept', 'family', 'secret']
  const shown: { readonly [token: string]: unknown } = {
    'ada.files:write.files:read': all,
    'bob.files:read': ['open', 'open', 'kept', 'family', 'secret'],
    'eve.files:write.else': ['open', 'write', 'open'],
    'joe.files': ['open', 'open'],
    nobody: ['open', 'open'],
  }
  for (const round of [1, 2])
    for (const [token, names] of Object.entries(shown)) {
      const raw = await client(token).open()
      assert.equal(await listed((method) => raw.ask(method)), names, `${token}, round ${round}`)
    }
  const anybody = await client().open()
  assert.equal(await listed((method) => anybody.ask(method)), ['open', 'open'])
})

test('a request without a session is judged by its own token', async (t) => {
  const { client } = await startHttp(t)
  const ask = (token: string) => async (method: string) => {
    const { body, headers } = posted(method)
    const [message] = (await client(token).post(body, headers)).messages
    return message as Wire
  }
  assert.equal(await listed(ask('joe')), ['open', 'open'])
  assert.equal(await listed(ask('ada.files:write')), ['open', 'write', 'open'])
})

test('a call without the scope is 403 with a challenge, and nothing of it runs', async (t) => {
  const { client } = await startHttp(t)
  const raw = await client('joe.else').open()
  for (const [method, params] of uses) {
    const { status, headers, messages, body } = await raw.post({ jsonrpc: '2.0', id: 7, method, params })
    assert.is(status, 403, method)
    assert.match(
      String(headers['www-authenticate']),
      /^Bearer error="insufficient_scope", error_description="[^"]+", scope="files:(write files:)?read else"$/,
    )
    assert.equal([messages[0]?.id, messages[0]?.error?.code], [7, 403], method)
    assert.not.match(body, /canary/)
  }
  for (const [method, params] of uses.filter(([name]) => name !== 'resources/subscribe')) {
    const { body, headers } = posted(method, params)
    const answer = await client('joe').post(body, headers)
    assert.equal([answer.status, answer.messages[0]?.error?.code], [403, 403], `${method} without a session`)
    assert.match(String(answer.headers['www-authenticate']), /scope="files:(write files:)?read"/)
  }
  assert.is((await raw.ask('ping')).error, undefined, 'the session goes on')
})

test('a session continues with a token of more or fewer scopes', async (t) => {
  const { client } = await startHttp(t)
  const before = await client('ada').open()
  assert.is(
    (await before.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write' } })).status,
    403,
  )
  const stepped = client('ada.files:write', before.sessionId)
  assert.is(await stepped.text('write'), 'written')
  assert.equal(await stepped.list(), ['open', 'write'])
  assert.equal(await before.list(), ['open'])
})

test('a request needs all scopes of all it uses', async (t) => {
  const { client } = await startHttp(t)
  const raw = await client('ada.files:write.files:read').open()
  for (const [method, params] of uses) assert.is((await raw.ask(method, params)).error, undefined, method)
})

test('pages of a filtered list go on where they stopped', async (t) => {
  const tools = Array.from({ length: 6 }, (_, n) =>
    defineTool({ name: `t${n}`, ...(n % 2 === 1 && { scopes: ['odd'] }), run: () => '' }),
  )
  const definition = defineServer({ name: 'test', version: '1', tools })
  const transport = serveHttp({ authenticate: byScopes })
  const server = await startServer(definition, { transport, logger: false, limits: { pageSize: 2 } })
  t.after(() => server.stop())
  const raw = new RawClient(t, server.url)
  raw.own = { authorization: 'Bearer joe' }
  const first = await (await raw.open()).ask('tools/list')
  assert.equal(await raw.list(), ['t0', 't2'])
  assert.equal(await raw.list(first.result?.nextCursor), ['t4'])
})

test('components added at run time are filtered by scope, too', async (t) => {
  const { client, server } = await startHttp(t)
  const joe = await client('joe').open()
  const ada = await client('ada.late').open()
  assert.equal(await joe.list(), ['open'])
  await server.addTool(defineTool({ name: 'late', scopes: ['late'], run: () => 'late' }))
  assert.equal([await joe.list(), await ada.list()], [['open'], ['open', 'late']])
  assert.is(await ada.text('late'), 'late')
})

test('filtered lists are never publicly cacheable', async (t) => {
  const cache = { ttl: 60_000, scope: 'public' } as const
  const { client } = await startHttp(t, { cache })
  const hints = async (method: string, params?: object) => {
    const { body, headers } = posted(method, params)
    const { result } = (await client('ada.files:read').post(body, headers)).messages[0] as Wire
    return [result?.ttlMs, result?.cacheScope]
  }
  assert.equal(await hints('tools/list'), [60_000, 'private'])
  assert.equal(await hints('prompts/list'), [60_000, 'private'])
  assert.equal(await hints('resources/read', { uri: 'x://kept' }), [60_000, 'private'])
  assert.equal(await hints('resources/read', { uri: 'kept://a' }), [60_000, 'private'])
  assert.equal(await hints('resources/read', { uri: 'x://open' }), [60_000, 'public'])
  const { client: other } = await startHttp(t, { cache, tools: [defineTool({ name: 'a', run: () => '' })] })
  const { body, headers } = posted('tools/list')
  const { result } = (await other('ada').post(body, headers)).messages[0] as Wire
  assert.is(result?.cacheScope, 'public', 'where all see the same it may be')
})

test('a subscription hides resources that its reader may not see', async (t) => {
  const { client, server } = await startHttp(t)
  const uris = ['x://kept', 'kept://a', 'x://open']
  const { body, headers } = posted('subscriptions/listen', { notifications: { resourceSubscriptions: uris } })
  const raw = client('joe')
  raw.own = { ...raw.own, ...headers }
  const stream = await raw.stream(body)
  const acknowledged = await stream.next()
  assert.match(JSON.stringify(acknowledged), /"resourceSubscriptions":\["x:\/\/open"\]/)
  for (const uri of uris) await server.resourceUpdated(uri)
  assert.is((await stream.next()).params?.uri, 'x://open')
  stream.close()
})

test('a tool may ask for scopes that depend on its arguments', async (t) => {
  const remove = defineTool({
    name: 'remove',
    input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    run({ path }, ctx) {
      if (path.startsWith('/etc')) ctx.requireScopes('admin', 'files:write')
      return 'removed'
    },
  })
  const { client } = await startHttp(t, { tools: [remove] })
  const raw = await client('ada.files:write').open()
  assert.is(await raw.text('remove', { path: '/tmp/x' }), 'removed')
  const params = { name: 'remove', arguments: { path: '/etc/x' } }
  const modern = posted('tools/call', params)
  for (const { status, headers } of [
    await raw.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    await client('ada.files:write').post(modern.body, modern.headers),
  ]) {
    assert.is(status, 403)
    assert.match(String(headers['www-authenticate']), /scope="admin files:write"$/)
  }
  const admin = await client('ada.files:write.admin').open()
  assert.is(await admin.text('remove', { path: '/etc/x' }), 'removed')
})

test('WebSocket: missing scopes are a JSON-RPC error', async (t) => {
  const server = await start(t, serveWebSocket({ authenticate: byScopes }))
  const raw = await open(t, server, { headers: { authorization: 'Bearer joe' } })
  await greet(raw)
  raw.socket.send(
    JSON.stringify({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'write' } }),
  )
  const { error } = await raw.messages.next(({ id }) => id === 'w')
  assert.equal(error, { code: 403, message: 'Insufficient scope', data: { scopes: ['files:write'] } })
})

test('the memory transport checks no scopes', async (t) => {
  const { serve, connect } = memory()
  await start(t, serve)
  await withClient({ transport: connect }, async (client) => {
    assert.is((await client.callTool('write')).text, 'written')
    assert.is((await client.listTools()).tools.length, 3)
  })
})

test.run()
