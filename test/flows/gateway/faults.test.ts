// second tier: time
import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { CaduceusError } from 'caduceus/runtime'
import {
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  gateway,
  type GatewayOptions,
  startServer,
  type Upstream,
  type UpstreamSource,
} from 'caduceus/server'
import { connect, type Connected, scriptedServer, until } from 'caduceus/testing'
import { http, serveHttp, stdio, subscribeTransport } from 'caduceus/transports'
import { startAllowance } from '../../support/allowance.mjs'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { byName } from '../../server/_principals.js'

const test = suite('gateway: faults', { timeout: 30_000 })

/** A server that is a child process. */
const child = (): ReturnType<typeof stdio> =>
  stdio({
    command: process.execPath,
    args: [inRoot('.t', 'test', 'flows', 'gateway', '_upstream-program.js')],
  })

test('a killed server fails its calls in flight; the next call works in the session', async (t) => {
  const client = await startClient({ name: 'raw', transport: child(), logger: false })
  t.after(() => client.close())
  const other = await connect(
    defineServer({ name: 'other', version: '1', tools: { ok: defineTool({ run: () => 'ok' }) } }),
  )
  t.after(() => other.close())
  const pair = await through(t, { raw: client, other: other.client })
  const pid = Number((await pair.client.callTool('raw__pid')).text)
  const { id } = (await pair.server.sessions())[0] ?? {}
  const hanging = pair.client.callTool('raw__hang').catch((error: unknown) => error)
  // the server has the call when it answers one that came after it
  await pair.client.callTool('raw__echo', { text: 'a' })
  process.kill(pid, 'SIGKILL')
  const lost = await hanging
  assert.ok(lost instanceof McpError && lost.code === -32603, String(lost))
  assert.equal((lost.data as { code: string }).code, 'CONNECTION_LOST')
  assert.is((await pair.client.callTool('other__ok')).text, 'ok')
  const allowed = startAllowance(5_000)
  const next = await pair.client.callTool('raw__pid')
  assert.is.not(Number(next.text), pid)
  assert.ok(allowed.left() > 0)
  assert.is((await pair.server.sessions())[0]?.id, id)
  const { tools } = await pair.client.listTools()
  assert.ok(tools.some(({ name }) => name === 'raw__pid'))
})

test('an unreachable server does not keep others from being offered', async (t) => {
  const client = await startClient({ name: 'gone', transport: http('http://127.0.0.1:9/mcp'), logger: false })
  t.after(() => client.close())
  const other = await connect(
    defineServer({ name: 'other', version: '1', tools: { ok: defineTool({ run: () => 'ok' }) } }),
  )
  t.after(() => other.close())
  const pair = await through(t, { gone: client, other: other.client }, { startTimeout: 200 })
  const { tools } = await pair.client.listTools()
  assert.equal(
    tools.map(({ name }) => name),
    ['other__ok'],
  )
})

for (const [what, script] of [
  ['mute', 'setInterval(() => {}, 60_000)'],
  ['in a loop of crashes', 'process.exit(1)'],
] as const)
  test(`while a server is ${what}, clients get answers`, async (t) => {
    const bad = startClient({
      name: 'bad',
      transport: stdio({ command: process.execPath, args: ['-e', script], stopTimeout: 200 }),
      logger: false,
    })
    const say = (word: string) =>
      connect(defineServer({ name: word, version: '1', tools: { [word]: defineTool({ run: () => word }) } }))
    const [good, slow] = await Promise.all([say('good'), say('slow')])
    t.after(() => Promise.all([bad.close(), good.close(), slow.close()]))
    let come: (client: Upstream) => void = () => {}
    const coming = new Promise<Upstream>((resolve) => {
      come = resolve
    })
    const listening = new Promise<string>((resolve) => {
      t.after(subscribeTransport('listener', ({ url }) => void (url !== undefined && resolve(url))))
    })
    const plan = gateway({ bad, good: good.client, slow: { start: () => coming } }, { startTimeout: 15_000 })
    let hasStarted = false
    const starting = startServer(plan, { transport: serveHttp(), logger: false }).finally(() => {
      hasStarted = true
    })
    t.after(async () => await (await starting).stop())
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = await import(
      '@modelcontextprotocol/sdk/client/streamableHttp.js'
    )
    const client = new Client({ name: 'official', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(await listening)) as never)
    t.after(() => client.close())
    const called = await client.callTool({ name: 'good__good', arguments: {} })
    assert.equal(called.content, [{ type: 'text', text: 'good' }])
    assert.not.ok(hasStarted)
    come(slow.client)
    if (what === 'mute') await bad.close()
    const { tools } = await client.listTools()
    assert.equal(
      tools.map(({ name }) => name),
      ['good__good', 'slow__slow'],
    )
    await starting
  })

test('a slow server joins the lists once it has started', async (t) => {
  const late = await connect(
    defineServer({ name: 'late', version: '1', tools: { b: defineTool({ run: () => 'b' }) } }),
  )
  t.after(() => late.close())
  let come: (client: Upstream) => void = () => {}
  const coming = new Promise<Upstream>((resolve) => {
    come = resolve
  })
  const pair = await through(t, { late: { start: () => coming } }, { startTimeout: 50 })
  const changed = new Promise<void>((resolve) => {
    pair.client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  assert.equal((await pair.client.listTools()).tools, [])
  come(late.client)
  await changed
  assert.equal(
    (await pair.client.listTools({ fresh: true })).tools.map(({ name }) => name),
    ['late__b'],
  )
})

test('an answer too long for the client of its server is reported with the limit', async (t) => {
  const script = `const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'long', version: '1' } },
  'tools/list': { tools: [{ name: 'long', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'a'.repeat(5_000) }] },
}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id !== undefined) answer(id, results[method] ?? {})
})`
  const transport = stdio({
    command: process.execPath,
    args: ['-e', script],
    limits: { messageBytes: 4_000 },
  })
  const client = startClient({ name: 'raw', transport, logger: false })
  t.after(() => client.close())
  const pair = await through(t, { raw: client })
  const failed = await pair.client.callTool('raw__long').catch((error: unknown) => error)
  assert.ok(failed instanceof McpError && failed.code === -32603, String(failed))
  assert.match(failed.message, /4000/)
})

test('a hidden server returns with its tools', async (t) => {
  const client = await startClient({ name: 'raw', transport: child(), logger: false })
  t.after(() => client.close())
  const pair = await through(t, { raw: client }, { servers: { raw: { whileAway: 'hide' } } })
  const pid = Number((await pair.client.callTool('raw__pid')).text)
  const counts: number[] = []
  const both = new Promise<void>((resolve) => {
    const look = async (): Promise<void> => {
      const { tools } = await pair.client.listTools({ fresh: true })
      counts.push(tools.length)
      if (counts.includes(0) && counts.at(-1) !== 0) resolve()
    }
    pair.client.onNotification('notifications/tools/list_changed', () => void look())
  })
  process.kill(pid, 'SIGKILL')
  await both
  assert.is.not((await pair.client.callTool('raw__pid')).text, String(pid))
})

test('servers come and go while clients are connected', async (t) => {
  const one = await connect(
    defineServer({ name: 'one', version: '1', tools: { a: defineTool({ run: () => 'a' }) } }),
  )
  const two = await connect(
    defineServer({ name: 'two', version: '1', tools: { b: defineTool({ run: () => 'b' }) } }),
  )
  t.after(() => Promise.all([one.close(), two.close()]))
  const clients = await startClients({ one: { transport: one.transport } }, { logger: false })
  t.after(() => clients.close())
  const pair = await through(t, clients)
  const names = async (): Promise<string> =>
    (await pair.client.listTools({ fresh: true })).tools.map(({ name }) => name).join()
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      const undo = pair.client.onNotification('notifications/tools/list_changed', () => {
        undo()
        resolve()
      })
    })
  assert.is(await names(), 'one__a')
  const added = next()
  await clients.add('two', { transport: two.transport })
  await added
  assert.is(await names(), 'one__a,two__b')
  const removed = next()
  await clients.remove('one')
  await removed
  assert.is(await names(), 'two__b')
  const gone = await pair.client.callTool('one__a').catch((error: unknown) => error)
  assert.ok(gone instanceof McpError && gone.code === -32602)
})

test('who has subscribed to a resource hears of it from the server that has it now', async (t) => {
  const notes = await connect(
    defineServer({
      name: 'notes',
      version: '1',
      resources: { one: defineResource({ uri: 'note://one', read: () => 'one' }) },
    }),
  )
  t.after(() => notes.close())
  const clients = await startClients({ two: { transport: notes.transport } }, { logger: false })
  t.after(() => clients.close())
  const pair = await through(t, clients)
  const modern = startClient({ transport: pair.transport, era: 'modern', logger: false })
  t.after(() => modern.close())
  const told: string[] = []
  for (const [name, client] of Object.entries({ session: pair.client, modern })) {
    client.onNotification('notifications/resources/updated', () => void told.push(name))
    await client.subscribe('note://one')
  }
  /** Both hear of a change; others before it may be told, too. */
  const change = async (): Promise<void> => {
    told.length = 0
    await until(async () => {
      await notes.server.resourceUpdated('note://one')
      return told.includes('session') && told.includes('modern')
    })
  }
  await change()
  for (const [before, after] of [
    ['two', 'zwei'],
    ['zwei', 'two'],
  ] as const) {
    await clients.remove(before)
    const next = await clients.add(after, { transport: notes.transport })
    await next.ready()
    await change()
  }
  await pair.client.unsubscribe('note://one')
  await modern.unsubscribe('note://one')
})

test('an error of the connection with a server is none of that with the gateway', async (t) => {
  const codes = [-32_022, -32_020, 401, 403, 429, -32_042]
  const odd = scriptedServer({
    'tools/list': () => ({ tools: [{ name: 'fail', inputSchema: { type: 'object' } }] }),
    'tools/call': ({ params }) => {
      const { code } = (params?.arguments ?? {}) as { code: number }
      throw new McpError(code, 'no', { data: { scopes: ['admin'], supported: ['2099-01-01'] } })
    },
  })
  const client = startClient({ transport: odd.transport, era: 'handshake', logger: false })
  t.after(() => client.close())
  const pair = await through(t, { odd: client })
  const got = await Promise.all(
    codes.map((code) => pair.client.callTool('odd__fail', { code }).catch((error: McpError) => error.code)),
  )
  assert.equal(got, [-32_603, -32_603, -32_603, -32_603, 429, -32_042])
})

test('a client that replaces another of its name receives the calls', async (t) => {
  const say = (word: string) =>
    connect(defineServer({ name: 'say', version: '1', tools: { say: defineTool({ run: () => word }) } }))
  const [one, two] = await Promise.all([say('first'), say('second')])
  t.after(() => Promise.all([one.close(), two.close()]))
  const clients = await startClients({ say: { transport: one.transport } }, { logger: false })
  t.after(() => clients.close())
  const pair = await through(t, clients)
  assert.is((await pair.client.callTool('say__say')).text, 'first')
  await clients.remove('say')
  const next = await clients.add('say', { transport: two.transport })
  await next.ready()
  await until(async () => (await pair.client.callTool('say__say').catch(() => undefined))?.text === 'second')
  const { tools } = await pair.client.listTools({ fresh: true })
  assert.equal(
    tools.map(({ name }) => name),
    ['say__say'],
  )
})

test('credentials never reach a server, and each principal has its own client', async (t) => {
  const seen: (string | undefined)[] = []
  const upstream = await startServer(
    defineServer({
      name: 'who',
      version: '1',
      tools: {
        who: defineTool({
          run(_args, ctx) {
            seen.push(...ctx.transport.headers.values())
            return String(ctx.transport.headers.get('x-for') ?? 'nobody')
          },
        }),
      },
    }),
    { transport: serveHttp(), logger: false },
  )
  t.after(() => upstream.stop())
  const url = String(upstream.url)
  const definition = gateway({
    who: {
      per: 'principal',
      start: ({ principal }) =>
        startClient({
          transport: http(url, { headers: { 'x-for': principal?.subject ?? 'nobody' } }),
          logger: false,
        }),
    },
  })
  const server = await startServer(definition, {
    transport: serveHttp({ authenticate: byName }),
    logger: false,
  })
  t.after(() => server.stop())
  const callers = await Promise.all(
    ['ada', 'bob'].map((name) =>
      startClient({
        name,
        transport: http(String(server.url), { headers: { authorization: `Bearer ${name}` } }),
        logger: false,
      }),
    ),
  )
  t.after(() => Promise.all(callers.map((caller) => caller.close())))
  const answers = await Promise.all(callers.map((caller) => caller.callTool('who__who')))
  assert.equal(
    answers.map(({ text }) => text),
    ['ada', 'bob'],
  )
  assert.not.ok(seen.some((header) => header?.includes('Bearer')))
})

const times: Readonly<Record<string, { options?: GatewayOptions; timeouts?: { readonly request: number } }>> =
  {
    'timeout of a server': { options: { servers: { up: { timeout: 300, breaker: { failures: 3 } } } } },
    'timeouts.request of the gateway': {
      options: { servers: { up: { breaker: { failures: 3 } } } },
      timeouts: { request: 300 },
    },
  }
for (const [what, { options = {}, timeouts = {} }] of Object.entries(times))
  test(`calls ended by the ${what} open the breaker of their tool`, async (t) => {
    let began = 0
    const upstream = await connect(
      defineServer({
        name: 'up',
        version: '1',
        tools: {
          hang: defineTool({
            run() {
              began += 1
              return new Promise<string>(() => {})
            },
          }),
        },
        prompts: [],
      }),
    )
    t.after(() => upstream.close())
    const below = await connect(gateway({ up: upstream.client }, options), { server: { timeouts } })
    t.after(() => below.close())
    const call = () =>
      below.client.callTool('up__hang', {}, { retry: 'never' }).catch((error: unknown) => error)
    for (let count = 0; count < 3; count++) {
      const error = await call()
      assert.ok(error instanceof McpError && error.code === -32_603, String(error))
      assert.equal(error.data, { code: 'TIMEOUT', retryable: true, sent: true })
    }
    const refused = await call()
    assert.ok(refused instanceof McpError && refused.code === -32_603, String(refused))
    assert.ok((refused.data as { retryAfter: number }).retryAfter > 0)
    assert.is(began, 3)
  })

for (const options of [{}, { prefix: false }, { toolSearch: true }] as readonly GatewayOptions[])
  test(`names of a server never reached give NOT_STARTED (${JSON.stringify(options)})`, async (t) => {
    const gone = await startClient({ name: 'gone', transport: http('http://127.0.0.1:9/mcp'), logger: false })
    t.after(() => gone.close())
    const other = await connect(
      defineServer({
        name: 'other',
        version: '1',
        tools: { ok: defineTool({ run: () => 'ok' }) },
        resources: [],
      }),
    )
    t.after(() => other.close())
    const below = await through(t, { gone, other: other.client }, { startTimeout: 50, ...options })
    const { client } = below
    const name = options.prefix === false ? 'read' : 'gone__read'
    const calls = [
      () => client.callTool(name, {}, { retry: 'never' }),
      () => client.getPrompt(name, {}, { retry: 'never' }),
      () => client.readResource('note://one', { retry: 'never' }),
      ...(options.toolSearch === true
        ? [() => client.callTool('call_tool', { name }, { retry: 'never' })]
        : []),
    ]
    for (const call of calls) {
      const error = await call().catch((failure: unknown) => failure)
      assert.ok(error instanceof McpError && error.code === -32_603, String(error))
      assert.equal(error.data, { code: 'NOT_STARTED', retryable: true, sent: false })
    }
    // of one that has told, there is no doubt
    if (options.prefix === false) return
    const unknown = await client
      .callTool('other__no', {}, { retry: 'never' })
      .catch((failure: unknown) => failure)
    assert.ok(unknown instanceof McpError && unknown.code === -32_602, String(unknown))
  })

/** A client by hand: its state and what it is asked are the test's. */
function byHand(tools: string[], failure?: Error) {
  const listeners = new Map<string, () => void>()
  let state: Upstream['state'] = { phase: 'ready', reason: undefined }
  const client: Upstream = {
    name: 'up',
    get state() {
      return state
    },
    server: {
      info: { name: 'up', version: '1' },
      capabilities: { tools: {} },
      instructions: undefined,
      revision: '2025-11-25',
    },
    async request(method) {
      if (method === 'tools/list')
        return { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }
      throw failure ?? new Error('nothing is called here')
    },
    callTool: async () => ({}),
    subscribe: async () => {},
    unsubscribe: async () => {},
    setLevel: async () => {},
    onState: (fn) => {
      listeners.set('state', () => fn(state))
      // one that tells all the same
      return () => {}
    },
    onNotification: (method, fn) => {
      listeners.set(method, () => fn({}))
      return () => listeners.delete(method)
    },
    close: async () => {},
  }
  const tell = (what: string, next = state): void => {
    state = next
    listeners.get(what)?.()
  }
  return { client, tell }
}

test('late state of a replaced client does not affect its server', async (t) => {
  const former = byHand(['one'])
  const tools = ['one']
  const next = byHand(tools)
  let now = former.client
  const listeners = new Set<(name: string) => void>()
  const set = {
    names: ['up'],
    has: () => true,
    get: () => now,
    onState(fn: (name: string) => void) {
      listeners.add(fn)
      return () => listeners.delete(fn)
    },
    close: async () => {},
  }
  const { client } = await through(t, set, { servers: { up: { whileAway: 'hide' } } })
  const names = async () => (await client.listTools({ fresh: true })).tools.map(({ name }) => name)
  assert.equal(await names(), ['up__one'])
  tools.push('two')
  now = next.client
  for (const fn of listeners) fn('up')
  await until(async () => (await names()).length === 2)
  former.tell('state', { phase: 'failed', reason: new Error('late') })
  tools.push('three')
  next.tell('notifications/tools/list_changed')
  await until(async () => (await names()).length === 3)
})

for (const [code, words, data] of [
  ['INVALID_RESPONSE', /^up: tools\/call: failed \(INVALID_RESPONSE\): canary$/, { sent: false }],
  ['TIMEOUT', /^up: tools\/call: the server did not answer in time$/, {}],
  ['SEND_FAILED', /^up: tools\/call: failed \(SEND_FAILED\)$/, { sent: true }],
] as const)
  test(`a client failure (${code}) is reported by its code`, async (t) => {
    const failure = new CaduceusError(code, 'canary', { data, retryable: true })
    const { client } = await through(t, { up: byHand(['one'], failure).client })
    const error = await client.callTool('up__one', {}, { retry: 'never' }).catch((lost: unknown) => lost)
    assert.ok(error instanceof McpError && error.code === -32_603, String(error))
    assert.match(error.message, words)
    assert.equal(error.data, { code, retryable: true, sent: code !== 'INVALID_RESPONSE' })
  })

test('results pass unchanged, with unknown fields', async (t) => {
  const result = {
    zeta: 1,
    content: [{ type: 'text', text: 'x', odd: { b: 1, a: [2] } }],
    structuredContent: { z: 1, a: null },
    _meta: { 'com.example/x': 1 },
    alpha: 'last',
    isError: true,
  }
  const upstream = await connect(
    defineServer({
      name: 'odd',
      version: '1',
      tools: { odd: defineTool({ run: () => 'unused' }) },
      handleRequest: ({ method }, _ctx, next) => (method === 'tools/call' ? result : next()),
    }),
    { server: { revisions: ['2025-11-25'] } },
  )
  t.after(() => upstream.close())
  const pair = await connect(gateway({ odd: upstream.client }), { server: { revisions: ['2025-11-25'] } })
  t.after(() => pair.close())
  const direct = JSON.stringify(await upstream.client.request('tools/call', { name: 'odd' }))
  assert.is(JSON.stringify(await pair.client.request('tools/call', { name: 'odd__odd' })), direct)
  assert.is(direct, JSON.stringify(result))
})

test('the breaker opens for a failing tool, and the others go on', async (t) => {
  const upstream = await connect(
    defineServer({
      name: 'slow',
      version: '1',
      tools: {
        hang: defineTool({ run: () => new Promise<string>(() => {}) }),
        ok: defineTool({ run: () => 'ok' }),
      },
    }),
  )
  t.after(() => upstream.close())
  const servers = { slow: { timeout: 200, breaker: { failures: 2, pause: 60_000 } } }
  const pair = await through(t, { slow: upstream.client }, { servers })
  const fail = async (): Promise<string> =>
    String(await pair.client.callTool('slow__hang').catch((error: Error) => error.message))
  assert.match(await fail(), /did not answer in time/)
  assert.match(await fail(), /did not answer in time/)
  assert.match(await fail(), /failed 2 times in a row, and rests/)
  assert.is((await pair.client.callTool('slow__ok')).text, 'ok')
})

test('a gateway among its own servers is asked once for what nobody has', async (t) => {
  const reads = { count: 0 }
  const other = await connect(
    defineServer({
      name: 'other',
      version: '1',
      resourceTemplates: {
        any: defineResourceTemplate({
          uriTemplate: 'note://{id}',
          read() {
            reads.count += 1
            throw McpError.notFound('Resource not found', { uri: 'note://1' })
          },
        }),
      },
    }),
  )
  t.after(() => other.close())
  const address = { url: '' }
  const plan = gateway({
    other: other.client,
    self: { start: () => startClient({ transport: http(address.url), logger: false }), lazy: true },
    again: { start: () => startClient({ transport: http(address.url), logger: false }), lazy: true },
  })
  const server = await startServer(plan, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  address.url = String(server.url)
  const client = startClient({ transport: http(address.url), logger: false })
  t.after(() => client.close())
  const failed = await client.readResource('nobody://1').catch((error: unknown) => error)
  assert.match(String(failed), 'Resource not found')
  await client.readResource('note://1').catch(() => {})
  assert.ok(reads.count <= 3, `${reads.count} reads`)
})

test.run()

async function through(
  t: TestContext,
  clients: UpstreamSource,
  options: GatewayOptions = {},
): Promise<Connected> {
  const connected = await connect(gateway(clients, options))
  t.after(() => connected.close())
  return connected
}
