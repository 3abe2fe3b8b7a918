import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  gateway,
  startServer,
} from 'caduceus/server'
import { connect, crash, until } from 'caduceus/testing'
import { http, serveHttp } from 'caduceus/transports'
import { RawClient } from '../../server/_client.js'
import { as, byName } from '../../server/_principals.js'
import { posted } from '../../server/_stateless.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { through } from './_pairs.js'

const test = suite('gateway: guards', { timeout: 15_000 })

test('a question goes to its own client only, even if ids and addresses are equal', async (t) => {
  let both: () => void = () => {}
  const underWay = new Promise<void>((resolve) => {
    both = resolve
  })
  let began = 0
  const definition = defineServer({
    name: 'asking',
    version: '1.0.0',
    tools: {
      ask: defineTool({
        async run(_args, ctx) {
          began += 1
          if (began === 2) both()
          await underWay
          const requestedSchema = { type: 'object' as const, properties: {} }
          return (await ctx.elicit('sure', { message: 'Sure?', requestedSchema })).action
        },
      }),
    },
  })
  const upstream = await connect(definition, { server: { revisions: ['2025-11-25'] } })
  t.after(() => upstream.close())
  const plan = gateway({
    up: ({ answers }) => startClient({ ...answers(), transport: upstream.transport, logger: false }),
  })
  const server = await startServer(plan, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  let asked = 0
  const onElicit = () => {
    asked += 1
    return { action: 'accept' as const, content: {} }
  }
  const clients = ['one', 'two'].map((name) =>
    startClient({ name, transport: http(String(server.url)), era: 'modern', onElicit, logger: false }),
  )
  t.after(() => Promise.all(clients.map((client) => client.close())))
  const results = await Promise.all(clients.map((client) => client.callTool('up__ask')))
  // the first question finds two callers; the second one may find its own alone
  assert.ok(results.some(({ isError }) => isError === true))
  assert.ok(asked <= 1)
})

test('a question goes to no other program of its principal; one may have two calls', async (t) => {
  let both: () => void = () => {}
  const underWay = new Promise<void>((resolve) => {
    both = resolve
  })
  let began = 0
  const ask = defineTool({
    name: 'ask',
    async run(_args, ctx) {
      began += 1
      if (began === 2) both()
      await underWay
      const requestedSchema = { type: 'object' as const, properties: {} }
      return (await ctx.elicit('sure', { message: 'Sure?', requestedSchema })).action
    },
  })
  const upstream = await connect(defineServer({ name: 'asking', version: '1.0.0', tools: [ask] }), {
    server: { revisions: ['2025-11-25'] },
  })
  t.after(() => upstream.close())
  const plan = gateway({
    up: ({ answers }) => startClient({ ...answers(), transport: upstream.transport, logger: false }),
  })
  const server = await startServer(plan, { transport: serveHttp({ authenticate: byName }), logger: false })
  t.after(() => server.stop())
  const asked: string[] = []
  const clients = ['one', 'two'].map((name) => {
    const onElicit = () => {
      asked.push(name)
      return { action: 'accept' as const, content: {} }
    }
    const transport = http(String(server.url), { headers: as('ada') })
    const clientInfo = { name, version: '1' }
    return startClient({ name, clientInfo, transport, era: 'modern', onElicit, logger: false })
  })
  t.after(() => Promise.all(clients.map((client) => client.close())))
  const results = await Promise.all(clients.map((client) => client.callTool('up__ask')))
  assert.ok(results.some(({ isError }) => isError === true))
  assert.ok(asked.length <= 1)
  began = 0
  const [one] = clients
  const both2 = await Promise.all([one?.callTool('up__ask'), one?.callTool('up__ask')])
  assert.equal(
    both2.map((result) => result?.text),
    ['accept', 'accept'],
  )
})

test('one principal has one share, whatever number of sessions it opens', async (t) => {
  const begun = heard<() => void>()
  const wait = defineTool({
    name: 'wait',
    run: () => new Promise<string>((resolve) => begun.add(() => resolve('done'))),
  })
  const upstream = await connect(defineServer({ name: 'slow', version: '1.0.0', tools: [wait] }))
  t.after(() => upstream.close())
  const source = ({ answers }: { answers(): object }) =>
    startClient({ ...answers(), transport: upstream.transport, logger: false })
  const plan = gateway({ up: source }, { servers: { up: { maxCallsPerCaller: 1 } } })
  const transport = serveHttp({ authenticate: byName })
  const server = await startServer(plan, { transport, logger: false, signals: false })
  t.after(() => server.stop())
  const clients = ['ada', 'ada', 'bob'].map((name) => {
    const headers = as(name)
    return startClient({ transport: http(String(server.url), { headers }), logger: false })
  })
  t.after(() => Promise.all(clients.map((client) => client.close())))
  const [one, two, other] = clients as [Client, Client, Client]
  const first = one.callTool('up__wait')
  const finish = await begun.next()
  const refused = await two.callTool('up__wait', {}, { retry: 'never' }).catch((error) => error)
  assert.match(String(refused.message), /for one caller/)
  const others = other.callTool('up__wait')
  ;(await begun.next())()
  assert.is((await others).text, 'done')
  finish()
  assert.is((await first).text, 'done')
})

test('an unlisted resource is read only from servers whose scopes the caller has', async (t) => {
  const reads: string[] = []
  const notes = (name: string) =>
    defineServer({
      name,
      version: '1.0.0',
      resources: [
        defineResource({
          uri: 'note://x',
          name: 'x',
          read() {
            reads.push(name)
            if (name === 'open') throw McpError.notFound('no such note', { uri: 'note://x' })
            return `secret of ${name}`
          },
        }),
      ],
      handleRequest: ({ method }, _ctx, next) => (method === 'resources/list' ? { resources: [] } : next()),
    })
  const [open, closed] = await Promise.all([connect(notes('open')), connect(notes('closed'))])
  t.after(() => Promise.all([open.close(), closed.close()]))
  const clients = { open: open.client, closed: closed.client }
  const plan = gateway(clients, { servers: { closed: { scopes: ['secrets'] } } })
  const server = await startServer(plan, { transport: serveHttp({ authenticate: byName }), logger: false })
  t.after(() => server.stop())
  const client = startClient({
    transport: http(String(server.url), { headers: as('ada') }),
    logger: false,
  })
  t.after(() => client.close())
  for (const uri of ['note://x', 'closed+note://x']) {
    const refused = await client.readResource(uri).catch((error: unknown) => error)
    assert.ok(refused instanceof Error, uri)
  }
  assert.equal(reads, ['open'])
  await client.subscribe('note://x').catch(() => {})
})

test('arguments that headers repeat are checked in front of the gateway, too', async (t) => {
  const region = { type: 'string', 'x-mcp-header': 'Region' } as const
  const way = { type: 'object', 'x-mcp-header': 'a b' } as const
  const run = (args: object): string => JSON.stringify(args)
  const upstream = await connect(
    defineServer({
      name: 'maps',
      version: '1',
      tools: { find: defineTool({ input: { type: 'object', properties: { region } }, run }) },
      // a tool that breaks the rules for them
      handleRequest: async (request, ctx, next) => {
        const result = (await next()) as { tools?: object[] }
        if (request.method !== 'tools/list') return result
        return {
          tools: [
            ...(result.tools ?? []),
            { name: 'odd', inputSchema: { type: 'object', properties: { way } } },
          ],
        }
      },
    }),
  )
  t.after(() => upstream.close())
  const server = await startServer(gateway({ maps: upstream.client }), {
    transport: serveHttp(),
    logger: false,
  })
  t.after(() => server.stop())
  const raw = new RawClient(t, server.url)
  const status = async (name: string, given: Record<string, string>): Promise<number> => {
    const { body, headers } = posted(
      'tools/call',
      { name: `maps__${name}`, arguments: { region: 'us' } },
      given,
    )
    return (await raw.post(body, headers)).status
  }
  const asked = [{}, { 'mcp-param-region': 'eu' }, { 'mcp-param-region': 'us' }]
  assert.equal(await Promise.all(asked.map((headers) => status('find', headers))), [400, 400, 200])
  assert.is(await status('odd', {}), 200)
})

test.slow('of reads whose judgement takes long, one begins in a turn of the event loop', async (t) => {
  const upstream = await connect(
    defineServer({
      name: 'files',
      version: '1',
      resourceTemplates: {
        any: defineResourceTemplate({ uriTemplate: 'file:///{+path}', read: () => 'read' }),
      },
    }),
  )
  t.after(() => upstream.close())
  const seen = new Set<string>()
  const permits = (_principal: unknown, name: string): boolean => {
    const until = performance.now() + 21
    while (performance.now() < until) seen.add(name)
    return true
  }
  const plan = gateway({ files: upstream.client }, { servers: { files: { permits } } })
  const { client, close } = await connect(plan, { client: { era: 'modern' } })
  t.after(close)
  // the turn that follows the start, if that took a while, is over: a read would begin before it, and one in it
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate)
  const uris = Array.from({ length: 8 }, (_, n) => `file:///${n}`)
  let isOver = false
  let most = 0
  let before = 0
  const look = (): void => {
    const now = uris.filter((uri) => seen.has(uri)).length
    most = Math.max(most, now - before)
    before = now
    if (!isOver) setImmediate(look)
  }
  look()
  for (const { text } of await Promise.all(uris.map((uri) => client.readResource(uri))))
    assert.is(text, 'read')
  isOver = true
  assert.equal([seen.size >= 8, most], [true, 1])
})

test('visibility and use are decided per principal, and a failed decision denies', async (t) => {
  const definition = defineServer({
    name: 'tools',
    version: '1.0.0',
    instructions: 'Ask before you write.',
    tools: {
      read: defineTool({ run: () => 'read' }),
      write: defineTool({ run: () => 'written' }),
    },
    resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'first' })],
    prompts: [definePrompt({ name: 'greet', get: () => 'Hello' })],
  })
  const upstream = await connect(definition)
  t.after(() => upstream.close())
  const permits = (principal: { subject: string } | undefined, name: string): boolean => {
    if (principal === undefined) throw new Error('nobody')
    return principal.subject === 'ada' || name === 'read'
  }
  const plan = gateway({ up: upstream.client }, { servers: { up: { permits } } })
  const server = await startServer(plan, { transport: serveHttp({ authenticate: byName }), logger: false })
  t.after(() => server.stop())
  const see = async (headers: Record<string, string>, era: 'modern' | 'handshake') => {
    const client = startClient({ transport: http(String(server.url), { headers }), era, logger: false })
    t.after(() => client.close())
    const tools = (await client.listTools()).tools.map(({ name }) => name)
    const { resources } = await client.listResources()
    const { prompts } = await client.listPrompts()
    const called = await client.callTool('up__write').then(
      ({ text }) => text,
      (error: Error) => error.message,
    )
    const read = await client.readResource('note://one').then(
      ({ text }) => text,
      (error: Error) => error.message,
    )
    const other = await client.readResource('up+note://one').catch((error: Error) => error)
    return {
      tools,
      isTold: client.server?.instructions !== undefined,
      resources: resources.length,
      prompts: prompts.length,
      called,
      read,
      isRead: !(other instanceof Error),
    }
  }
  // as what there is not: nobody learns what others have
  const no = { called: 'Unknown tool: "up__write"', read: 'Resource not found' }
  for (const era of ['modern', 'handshake'] as const) {
    assert.equal(await see(as('ada'), era), {
      tools: ['up__read', 'up__write'],
      isTold: true,
      ...{ resources: 1, prompts: 1, called: 'written', read: 'first', isRead: true },
    })
    assert.equal(await see(as('bob'), era), {
      tools: ['up__read'],
      isTold: true,
      ...{ resources: 0, prompts: 0, ...no, isRead: false },
    })
    assert.equal(await see({}, era), {
      tools: [],
      isTold: false,
      ...{ resources: 0, prompts: 0, ...no, isRead: false },
    })
  }
})

/** What stands at these addresses is secret, however they are written. */
const secrets = [
  'file:///secret',
  'file:///%73ecret',
  'up+file:///%73ecret',
  'file:///x%2F..%2Fsecret',
  'FILE:///secret',
  'file:////secret',
  'file:///\\secret',
  'file:///secret?x',
  'up+file:///x\\..//secret',
]

/** A template that is not offered fits what a server reads, not what is written alone. */
const hidden = ['hidden://x', 'up+hidden://x', 'HIDDEN://x', 'hidden:/x', 'hidden%3A//x', 'up+hidden:\\\\x']

for (const [what, options] of Object.entries({
  deny: { deny: ['file:///secret', 'hidden://{x}'] },
  allow: { allow: ['file:///open', 'file:///also*'] },
  permits: { permits: (_who: unknown, name: string) => !['file:///secret', 'hidden://{x}'].includes(name) },
}))
  test(`${what} covers every spelling, templates and their matches`, async (t) => {
    const definition = defineServer({
      name: 'files',
      version: '1.0.0',
      tools: { read: defineTool({ run: () => 'read' }) },
      resources: ['open', 'secret'].map((name) =>
        defineResource({ uri: `file:///${name}`, name, read: () => name }),
      ),
      resourceTemplates: ['file:///{+path}', 'hidden://{x}'].map((uriTemplate) =>
        defineResourceTemplate({
          uriTemplate,
          name: uriTemplate,
          read: (all) => `secret ${JSON.stringify(all)}`,
        }),
      ),
    })
    const upstream = await connect(definition)
    t.after(() => upstream.close())
    const below = await connect(gateway({ up: upstream.client }, { servers: { up: options } }))
    t.after(() => below.close())
    const { client } = below
    const { resources } = await client.listResources()
    assert.equal(
      resources.map(({ uri }) => uri),
      ['file:///open'],
    )
    const { resourceTemplates } = await client.request('resources/templates/list', {})
    assert.equal(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      what === 'allow' ? [] : ['file:///{+path}'],
    )
    assert.is((await client.readResource('file:///open')).text, 'open')
    assert.match((await client.readResource('file:///also%20this')).text, /^secret/)
    for (const uri of [...secrets, ...hidden]) {
      const read = await client.readResource(uri).catch((error: unknown) => error)
      assert.ok(read instanceof McpError, uri)
      const subscribed = await client.subscribe(uri).catch((error: unknown) => error)
      assert.ok(subscribed instanceof McpError, uri)
    }
  })

test('a crash of the gateway actor keeps names, and calls go on', async (t) => {
  const definition = defineServer({
    name: 'files',
    version: '1.0.0',
    tools: { read: defineTool({ run: () => 'content' }) },
    resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'first' })],
  })
  const { below } = await through(t, definition, { up: '2025-11-25', down: '2025-11-25' })
  const { client, server } = below
  const names = async () => (await client.listTools({ fresh: true })).tools.map(({ name }) => name)
  assert.equal(await names(), ['up__read'])
  const { registry } = server
  const actor = registry.whereis('gateway/gateway')
  assert.ok(actor)
  await crash(actor)
  await registry.whenUp('gateway/gateway')
  await until(async () => (await client.callTool('up__read').catch(() => undefined))?.text === 'content')
  assert.equal(await names(), ['up__read'])
  assert.is((await client.readResource('note://one')).text, 'first')
})

test('a client of one session ends with it, and others go on', async (t) => {
  const upstream = await connect(
    defineServer({ name: 'ids', version: '1.0.0', tools: { hi: defineTool({ run: () => 'hi' }) } }),
  )
  t.after(() => upstream.close())
  const closed = heard<string>()
  const plan = gateway({
    up: {
      per: 'session',
      start({ session = 'nobody' }) {
        const client = startClient({ name: session, transport: upstream.transport, logger: false })
        void client.closed.then(() => closed.add(session))
        return client
      },
    },
  })
  const server = await startServer(plan, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  const begin = () => {
    const client = startClient({ transport: http(String(server.url)), logger: false })
    t.after(() => client.close())
    return client
  }
  const one = begin()
  assert.is((await one.callTool('up__hi')).text, 'hi')
  const [first] = await server.sessions()
  assert.ok(first)
  const two = begin()
  assert.is((await two.callTool('up__hi')).text, 'hi')
  await one.close()
  assert.is(await closed.next(), first.id)
  assert.is((await two.callTool('up__hi')).text, 'hi')
  assert.is(closed.all.length, 1)
})

test('a caller without progress asks for none; the server timeout bounds its calls', async (t) => {
  const tokens: unknown[] = []
  const definition = defineServer({
    name: 'slow',
    version: '1.0.0',
    tools: {
      token: defineTool({
        run(_args, ctx) {
          const { _meta: meta } = ctx.request.params as { _meta?: { progressToken?: unknown } }
          tokens.push(meta?.progressToken)
          return 'ok'
        },
      }),
      hang: defineTool({ run: () => new Promise<string>(() => {}) }),
    },
  })
  const pair = { up: '2025-11-25', down: '2025-11-25' } as const
  const { below } = await through(t, definition, pair, { options: { servers: { up: { timeout: 60_000 } } } })
  await below.client.callTool('up__token')
  await below.client.callTool('up__token', {}, { onProgress: () => {} })
  assert.equal(
    tokens.map((token) => token !== undefined),
    [false, true],
  )
})

test('a completed URL page is reported by its id', async (t) => {
  const definition = defineServer({
    name: 'pages',
    version: '1.0.0',
    tools: {
      visit: defineTool({
        async run(_args, ctx) {
          const page = {
            mode: 'url',
            message: 'Sign in.',
            url: 'https://x.example/',
            elicitationId: 'e1',
          } as const
          const { action } = await ctx.elicit('page', page)
          ctx.elicitationComplete('e1')
          return action
        },
      }),
    },
  })
  const told: string[] = []
  const pair = { up: '2025-11-25', down: '2025-11-25' } as const
  const { below } = await through(t, definition, pair, {
    client: { onElicit: { url: () => ({ action: 'accept' }) } },
  })
  below.client.onNotification(
    'notifications/elicitation/complete',
    ({ elicitationId }) => void told.push(elicitationId),
  )
  assert.is((await below.client.callTool('up__visit')).text, 'accept')
  assert.equal(told, ['e1'])
})

test.run()
