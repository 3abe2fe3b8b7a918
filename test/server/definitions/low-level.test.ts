import * as assert from 'uvu/assert'
import { field, McpError } from 'caduceus/protocol'
import { defineMethod, defineServer, defineTool, type ServerError } from 'caduceus/server'
import { type Peer, serveHttp } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { echo, startParts } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'

const test = suite('server/definitions/low-level')

const sum = defineMethod({
  params: { list: field.list(field.number()) },
  run: ({ list }, ctx) => ({ sum: list.reduce((a, b) => a + b, 0), by: ctx.request.method }),
})

for (const revision of ['2025-11-25', '2025-06-18', '2024-11-05']) {
  test(`a method of the author's own is answered in ${revision}`, async (t) => {
    const { server } = await startParts(t, { methods: { 'acme/sum': sum } })
    const client = await new RawClient(t, server.url).open('raw', revision)
    const { result } = await client.ask('acme/sum', { list: [1, 2], _meta: { progressToken: 1 } })
    assert.equal(result, { sum: 3, by: 'acme/sum' })
  })
}

test('a custom method is answered in 2026-07-28, too', async (t) => {
  const { send } = await startStateless(t, { methods: { 'acme/sum': sum } })
  const [answer] = (await send(posted('acme/sum', { list: [1, 2] }))).messages
  assert.equal([answer?.result?.sum, answer?.result?.resultType], [3, 'complete'])
})

test('bad params are -32602 with paths, a bad result is a crash, undefined is {}', async (t) => {
  const { client } = await startParts(t, {
    methods: {
      'acme/sum': sum,
      'acme/wrong': defineMethod({ run: () => 'text' as never }),
      'acme/nothing': defineMethod({ run: () => undefined }),
      'acme/raw': defineMethod({ run: (params) => ({ ...params }) }),
    },
  })
  const { error } = await client.ask('acme/sum', { list: [1, 'x'] })
  assert.is(error?.code, -32602)
  assert.is(error?.message, 'The params of acme/sum are not valid: list[1]: expected a number, got a string')
  assert.is((await client.ask('acme/wrong')).error?.message, 'Internal error')
  assert.equal((await client.ask('acme/nothing')).result, {})
  assert.equal((await client.ask('acme/raw', { any: 1 })).result, { any: 1 })
  assert.is((await client.ask('acme/other')).error?.code, -32601)
})

test('a server with only a low-level handler answers a method of its own', async (t) => {
  const { client } = await startParts(t, {
    handleRequest(request, _ctx, next) {
      return request.method === 'acme/hello' ? { hello: request.params.who } : next()
    },
  })
  assert.equal((await client.ask('acme/hello', { who: 'ada' })).result, { hello: 'ada' })
  assert.is((await client.ask('acme/other')).error?.code, -32601)
  assert.equal((await client.ask('tools/list')).result, { tools: [] })
  assert.equal((await client.ask('ping')).result, {})
})

test('a handler answers a request or passes it on, and can change the answer', async (t) => {
  const { client } = await startParts(t, {
    tools: [echo],
    async handleRequest({ method, params }, ctx, next) {
      if (method === 'tools/call' && params.name === 'dynamic')
        return { content: [{ type: 'text', text: `made up for ${ctx.session.client.name}` }] }
      if (method !== 'tools/list') return next()
      const { tools } = (await next()) as { tools: object[] }
      return { tools: [...tools, { name: 'dynamic', inputSchema: { type: 'object' } }] }
    },
  })
  assert.equal(await client.list(), ['echo', 'dynamic'])
  assert.is(await client.text('dynamic'), 'made up for raw')
  assert.is(await client.text('echo', { text: 'hi' }), 'hi')
  assert.is((await client.call('unknown')).error?.message, 'Unknown tool: "unknown"')
})

test('a throw or a wrong result of a handler fails its request only', async (t) => {
  const { client } = await startParts(
    t,
    {
      handleRequest({ method }, _ctx, next) {
        if (method === 'acme/refused') throw new McpError(-32050, 'Not today', { data: { day: 1 } })
        if (method === 'acme/broken') throw new Error('secret')
        return method === 'tools/list' ? { tools: 'none' } : next()
      },
    },
    { exposeErrors: true },
  )
  const { error } = await client.ask('acme/refused')
  assert.equal([error?.code, error?.message, error?.data], [-32050, 'Not today', { day: 1 }])
  assert.match((await client.ask('acme/broken')).error?.message ?? '', /^Internal error: secret/)
  assert.match((await client.ask('tools/list')).error?.message ?? '', /tools: expected an array/)
  assert.equal((await client.ask('ping')).result, {})
})

test('a tool keeps its own time under a handler', async (t) => {
  const slow = defineTool({ name: 'slow', timeout: 20, run: (_args, ctx) => ctx.defer().answer })
  const { client } = await startParts(t, { tools: [slow], handleRequest: (_request, _ctx, next) => next() })
  const { result } = await client.call('slow')
  assert.is(result?.isError, true)
})

test('custom notifications reach their handler, which may change session state', async (t) => {
  const news = heard<unknown>()
  const seen = defineTool({ name: 'seen', run: async (_args, ctx) => String(await ctx.get('seen')) })
  const { client } = await startParts(t, {
    tools: [seen],
    notifications: {
      async 'acme/moved'(params, ctx) {
        await ctx.update('seen', (n = 0) => n + 1)
        news.add([params, ctx.session.client.name, ctx.transport.name])
      },
      'notifications/roots/list_changed': () => news.add('roots'),
    },
  })
  assert.is((await client.tell('acme/moved', { to: 7 })).status, 202)
  assert.equal(await news.next(), [{ to: 7 }, 'raw', 'http'])
  assert.is(await client.text('seen'), '1')
  await client.tell('notifications/roots/list_changed')
  assert.is(await news.next(), 'roots')
})

test('a handler of notifications that fails costs nothing else', async (t) => {
  const news = heard<string>()
  const { client } = await startParts(t, {
    notifications: {
      'acme/bad': () => {
        news.add('bad')
        throw new Error('boom')
      },
    },
  })
  await client.tell('acme/bad')
  await news.next()
  assert.equal((await client.ask('ping')).result, {})
  assert.is((await client.tell('acme/nobody')).status, 202)
})

test('a method with scopes needs them, whatever a handler says', async (t) => {
  const guarded = defineMethod({ scopes: ['admin'], run: () => ({ done: true }) })
  const parts = {
    methods: { 'acme/guarded': guarded },
    handleRequest: (_request: object, _ctx: object, next: () => Promise<object>) => next(),
  }
  const authenticate = ({ headers }: Peer) => ({
    issuer: 'test',
    subject: 'ada',
    scopes: headers['x-admin'] === undefined ? [] : ['admin'],
  })
  const { server } = await startParts(t, parts, { transport: serveHttp({ authenticate }) })
  const client = await new RawClient(t, server.url).open()
  const refused = await client.post({ jsonrpc: '2.0', id: 1, method: 'acme/guarded' })
  assert.not.equal(refused.messages[0]?.result, { done: true })
  assert.match(refused.body + refused.status, '403')
  client.own = { 'x-admin': 'yes' }
  assert.equal((await client.ask('acme/guarded')).result, { done: true })
})

const run = () => undefined
const bad: [object, string, RegExp][] = [
  [{ methods: [] }, 'methods', /^server "s": methods: expected an object of methods/],
  [
    { methods: { 'tools/call': sum } },
    'methods',
    /expected names that are not of the protocol.*got "tools\/call"$/,
  ],
  [{ methods: { 'rpc.x': sum } }, 'methods', /got "rpc\.x"$/],
  [{ methods: { 'notifications/x': sum } }, 'methods', /got "notifications\/x"$/],
  [{ methods: { 'acme/x': { run } } }, 'methods["acme/x"]', /expected what defineMethod returns/],
  [
    { notifications: { 'notifications/cancelled': run } },
    'notifications',
    /or notifications\/roots\/list_changed/,
  ],
  [{ notifications: { 'tools/list': run } }, 'notifications', /got "tools\/list"$/],
  [{ notifications: { '': run } }, 'notifications', /got ""$/],
  [{ notifications: { 'acme/x': 1 } }, 'notifications["acme/x"]', /expected a function/],
  [{ handleRequest: {} }, 'handleRequest', /^server "s": handleRequest: expected a function/],
]

for (const [parts, name, message] of bad) {
  test(`low-level handlers are checked at definition: ${message.source}`, () => {
    assert.throws(
      () => defineServer({ name: 's', version: '1', ...parts } as never),
      ({ code, data, message: text }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === name && message.test(text),
    )
  })
}

test('a method that cannot be one is refused at definition', () => {
  for (const options of [
    null,
    { run: 1 },
    { run, name: 'x' },
    { run, timeout: 0 },
    { run, params: 7 },
    { run, scopes: 'a' },
  ])
    assert.throws(
      () => defineMethod(options as never),
      (error: ServerError) => error.code === 'BAD_DEFINITION' && /^method: /.test(error.message),
    )
})

test.run()
