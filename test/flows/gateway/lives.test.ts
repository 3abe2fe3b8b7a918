// second tier: time
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { field, McpError } from 'caduceus/protocol'
import {
  definePrompt,
  defineResource,
  defineServer,
  defineTool,
  gateway,
  type GatewayOptions,
  type Seat,
  type StartedUpstream,
  startServer,
  type Upstream,
  type Upstreams,
} from 'caduceus/server'
import { connect, type Connected, crash, scriptedServer, until } from 'caduceus/testing'
import { memory, stdio } from 'caduceus/transports'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: the lives of clients', { timeout: 30_000 })

test('the first list starts a lazy server; its tools stay listed when it idles out', async (t) => {
  const starts = new Starts()
  const { client } = await through(t, { raw: { start: starts.program, lazy: true, idle: 500 } })
  await client.ping()
  assert.is(starts.all.length, 0)
  assert.equal(await names(client), ['raw__echo', 'raw__hang', 'raw__pid'])
  assert.is(starts.all.length, 1)
  await starts.all[0]?.closed
  assert.equal(await names(client), ['raw__echo', 'raw__hang', 'raw__pid'])
  assert.is(starts.all.length, 1)
  assert.is((await client.callTool('raw__echo', { text: 'back' })).text, 'back')
  assert.is(starts.all.length, 2)
})

test('an ending gateway waits at no cost, and clients that come late are closed', async (t) => {
  // lists that never come: what ends them is the end of the gateway
  const mute = scriptedServer({ 'tools/list': () => undefined })
  const upstream = startClient({ name: 'mute', transport: mute.transport, logger: false })
  t.after(() => upstream.close())
  const server = await startServer(gateway({ mute: upstream }), { transport: memory().serve, logger: false })
  await mute.next('tools/list')
  await server.stop()

  let give: (clients: Upstreams) => void = () => {}
  const given = new Promise<Upstreams>((resolve) => {
    give = resolve
  })
  const late = await startServer(
    gateway(() => given),
    { transport: memory().serve, logger: false },
  )
  await late.stop()
  let closed: () => void = () => {}
  const wasClosed = new Promise<void>((resolve) => {
    closed = resolve
  })
  give({
    names: [],
    has: () => false,
    get: () => upstream,
    onState: () => () => {},
    close: async () => closed(),
  })
  await wasClosed
})

test('a call of an unlisted tool starts lazy servers, once for fifty calls at once', async (t) => {
  const starts = new Starts()
  const { client } = await through(t, { raw: { start: starts.program, lazy: true } })
  const calls = Array.from({ length: 50 }, () => client.callTool('raw__pid'))
  const pids = new Set((await Promise.all(calls)).map(({ text }) => text))
  assert.equal([pids.size, starts.all.length], [1, 1])
  const unknown = await client.callTool('raw__no').catch((error: unknown) => error)
  assert.ok(unknown instanceof McpError && unknown.code === -32602)
})

test('a killed lazy server fails its calls and stays listed', async (t) => {
  const starts = new Starts()
  const { client } = await through(
    t,
    { raw: { start: starts.program, lazy: true } },
    { servers: { raw: { whileAway: 'keep' } } },
  )
  const pid = Number((await client.callTool('raw__pid')).text)
  const hanging = client.callTool('raw__hang').catch((error: unknown) => error)
  await client.callTool('raw__echo', { text: 'a' })
  process.kill(pid, 'SIGKILL')
  const lost = await hanging
  assert.ok(lost instanceof McpError && codeOf(lost) === 'CONNECTION_LOST', String(lost))
  assert.is((await names(client)).length, 3)
  assert.is.not(Number((await client.callTool('raw__pid')).text), pid)
})

test('a failed start is reported by kind, and the next call starts again', async (t) => {
  const starts = new Starts()
  let isBroken = false
  const start = (seat: Seat): Upstream => {
    const client = starts.program(seat)
    if (!isBroken) return client
    void client.close()
    throw new Error('canary')
  }
  const { client } = await through(t, { raw: { start, lazy: true, idle: 300 } })
  assert.is((await names(client)).length, 3)
  await starts.all[0]?.closed
  isBroken = true
  const failed = await client.callTool('raw__pid').catch((error: unknown) => error)
  assert.ok(failed instanceof McpError && failed.code === -32603, String(failed))
  assert.equal(failed.data, { code: 'NOT_STARTED', retryable: true, sent: false })
  assert.not.match(failed.message, /canary/)
  isBroken = false
  assert.is((await client.callTool('raw__echo', { text: 'back' })).text, 'back')
  assert.is(starts.all.length, 3)
})

test('resources and completions of an unstarted lazy server work', async (t) => {
  const upstream = await connect(
    defineServer({
      name: 'notes',
      version: '1',
      resources: { one: defineResource({ uri: 'note://one', read: () => 'one' }) },
      prompts: {
        review: definePrompt({
          arguments: { language: field.string() },
          get: ({ language }) => language,
          complete: { language: (start) => ['en', 'de'].filter((word) => word.startsWith(start)) },
        }),
      },
    }),
  )
  t.after(() => upstream.close())
  let starts = 0
  const start = () => {
    starts += 1
    return startClient({ transport: upstream.transport, logger: false })
  }
  const plan = { up: { start, lazy: true } }
  const reading = await through(t, plan)
  assert.is((await reading.client.readResource('note://one')).text, 'one')
  const completing = await through(t, plan)
  assert.ok(completing.client.server?.capabilities.completions)
  const ref = { type: 'ref/prompt', name: 'up__review' } as const
  const params = { ref, argument: { name: 'language', value: 'e' } }
  const { completion } = await completing.client.request('completion/complete', params)
  assert.equal(completion.values, ['en'])
  assert.is(starts, 2)
})

test('a list waits for a missing lazy server no longer than startTimeout', async (t) => {
  const start = (): Promise<Upstream> => new Promise(() => {})
  const { client } = await through(t, { never: { start, lazy: true } }, { startTimeout: 200 })
  assert.equal(await names(client), [])
  assert.equal(await names(client), [])
})

test('lists of lazy servers survive a crash of the gateway actor', async (t) => {
  const starts = new Starts()
  const pair = await through(t, { raw: { start: starts.program, lazy: true } }, { toolSearch: true })
  const { client } = pair
  const search = async () => (await client.callTool('search_tools', { query: 'pid' })).text ?? ''
  assert.match(await search(), /raw__pid/)
  const [first] = starts.all
  assert.ok(first)
  await crashGateway(pair)
  assert.match(await search(), /raw__pid/)
  assert.is(starts.all.length, 1)
  await first.closed
  const call = () => client.callTool('call_tool', { name: 'raw__echo', arguments: { text: 'again' } })
  assert.is((await call()).text, 'again')
  assert.is(starts.all.length, 2)
})

test('a permanently failed client is started again', async (t) => {
  const starts = new Starts()
  const { client } = await through(t, { raw: { start: starts.program, lazy: true } })
  assert.is((await client.callTool('raw__echo', { text: 'a' })).text, 'a')
  await starts.all[0]?.close()
  assert.is((await client.callTool('raw__echo', { text: 'b' })).text, 'b')
  assert.is(starts.all.length, 2)
})

test('with a client per session, a started lazy server is listed again', async (t) => {
  const upstream = await connect(
    defineServer({ name: 'say', version: '1', tools: { one: defineTool({ run: () => 'one' }) } }),
  )
  t.after(() => upstream.close())
  const tellers: ReturnType<typeof startClient>[] = []
  const start = ({ session }: Seat) => {
    const client = startClient({ transport: upstream.transport, logger: false })
    if (session === undefined) tellers.push(client)
    return client
  }
  const pair = await through(t, { up: { start, per: 'session', lazy: true, idle: 200 } })
  assert.equal(await names(pair.client), ['up__one'])
  await tellers[0]?.closed
  await upstream.server.addTool(defineTool({ name: 'two', run: () => 'two' }))
  assert.equal(await names(pair.client), ['up__one'])
  assert.is(tellers.length, 1)
  const changed = new Promise<void>((resolve) => {
    pair.client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  assert.is((await pair.client.callTool('up__one')).text, 'one')
  await changed
  assert.equal(await names(pair.client), ['up__one', 'up__two'])
  assert.is(tellers.length, 2)
})

test('options on the lives of clients are checked in the caller', () => {
  const start = (): Upstream => assert.unreachable() as never
  const wrong = [{ lazy: 'yes' }, { idle: -1 }, { max: 0 }, { keepAlive: true }]
  for (const how of wrong)
    assert.throws(
      () => gateway({ up: { start, ...how } as never }),
      (error: Error & { code?: unknown }) =>
        error.code === 'BAD_DEFINITION' && error.message.includes(Object.keys(how)[0] ?? ''),
    )
})

test('calls are spread over the clients of a server, and one more starts if all work', async (t) => {
  const starts = new Starts()
  const { client } = await through(t, { raw: { start: starts.program, max: 3 } })
  assert.is(starts.all.length, 1)
  const one = (await client.callTool('raw__pid')).text
  assert.is((await client.callTool('raw__pid')).text, one)
  const stop = new AbortController()
  const hang = () => client.callTool('raw__hang', {}, { signal: stop.signal }).catch(() => {})
  const hanging = [hang()]
  const two = (await client.callTool('raw__pid')).text
  hanging.push(hang())
  const three = (await client.callTool('raw__pid')).text
  assert.is(new Set([one, two, three]).size, 3)
  hanging.push(hang())
  assert.ok([one, two, three].includes((await client.callTool('raw__pid')).text))
  assert.is(starts.all.length, 3)
  stop.abort()
  await Promise.all(hanging)
})

test('the first call may start a server of a set; a new entry is a new server', async (t) => {
  const say = (word: string) =>
    connect(defineServer({ name: 'say', version: '1', tools: { say: defineTool({ run: () => word }) } }))
  const [one, two] = await Promise.all([say('first'), say('second')])
  t.after(() => Promise.all([one.close(), two.close()]))
  const started: string[] = []
  const entry = (name: string, { transport }: Connected): StartedUpstream => ({
    lazy: true,
    start() {
      started.push(name)
      return startClient({ name, transport, logger: false })
    },
  })
  const entries = new Map([['say', entry('one', one)]])
  const listeners = new Set<(name: string) => void>()
  const set: Upstreams = {
    get names() {
      return [...entries.keys()]
    },
    has: (name) => entries.has(name),
    get: (name) => entries.get(name) as StartedUpstream,
    onState(fn) {
      listeners.add(fn)
      return () => listeners.delete(fn)
    },
    close: async () => {},
  }
  const { client } = await through(t, set)
  await client.ping()
  assert.equal(started, [])
  assert.is((await client.callTool('say__say')).text, 'first')
  entries.set('say', entry('two', two))
  for (const fn of listeners) fn('say')
  await until(async () => (await client.callTool('say__say').catch(() => undefined))?.text === 'second')
  assert.equal(started, ['one', 'two'])
})

test('the last unsubscribe unsubscribes at the server, in both eras', async (t) => {
  const asked: string[] = []
  const upstream = await connect(
    defineServer({
      name: 'notes',
      version: '1',
      resources: { one: defineResource({ uri: 'note://one', read: () => 'one' }) },
    }),
    { server: { revisions: ['2025-11-25'] } },
  )
  t.after(() => upstream.close())
  // a client that tells what it is asked for
  const watched = {
    ...bound(upstream.client),
    subscribe: async (uri: string) => void asked.push(`+${uri}`),
    unsubscribe: async (uri: string) => void asked.push(`-${uri}`),
  }
  const pair = await through(t, { up: watched })
  const others = [
    startClient({ transport: pair.transport, logger: false }),
    startClient({ transport: pair.transport, era: 'modern', logger: false }),
  ]
  t.after(() => Promise.all(others.map((client) => client.close())))
  const [second, modern] = others
  assert.ok(second && modern)
  await Promise.all([pair.client.subscribe('note://one'), second.subscribe('note://one')])
  await modern.subscribe('note://one')
  assert.equal(asked, ['+note://one'])
  await pair.client.unsubscribe('note://one')
  await second.close()
  assert.equal(asked, ['+note://one'])
  await crashGateway(pair)
  await until(() => asked.length === 2)
  assert.equal(asked, ['+note://one', '+note://one'])
  await modern.unsubscribe('note://one')
  await until(() => asked.length === 3)
  assert.is(asked[2], '-note://one')
})

test.run()

/** The clients that have been started, of a server in a process of its own. */
class Starts {
  readonly all: ReturnType<typeof startClient>[] = []
  readonly program = ({ answers }: Seat): ReturnType<typeof startClient> => {
    const transport = stdio({
      command: process.execPath,
      args: [inRoot('.t', 'test', 'flows', 'gateway', '_upstream-program.js')],
    })
    const client = startClient({ ...answers(), name: `raw ${this.all.length}`, transport, logger: false })
    this.all.push(client)
    return client
  }
}

async function through(
  t: TestContext,
  clients: Parameters<typeof gateway>[0],
  options: GatewayOptions = {},
): Promise<Connected> {
  const connected = await connect(gateway(clients, { startTimeout: 15_000, ...options }))
  t.after(() => connected.close())
  return connected
}

async function crashGateway({ server: { registry } }: Connected): Promise<void> {
  const actor = registry.whereis('gateway/gateway')
  assert.ok(actor)
  await crash(actor)
  await registry.whenUp('gateway/gateway')
}

async function names(client: Connected['client']): Promise<string[]> {
  return (await client.listTools({ fresh: true })).tools.map(({ name }) => name).sort()
}

function codeOf({ data }: McpError): unknown {
  return (data as { readonly code?: unknown } | undefined)?.code
}

/** Its methods, each bound to it. */
function bound(client: Connected['client']): Upstream {
  return {
    name: client.name,
    get state() {
      return client.state
    },
    get server() {
      return client.server
    },
    request: client.request as Upstream['request'],
    callTool: client.callTool,
    subscribe: client.subscribe,
    unsubscribe: client.unsubscribe,
    setLevel: client.setLevel,
    onState: client.onState,
    onNotification: client.onNotification as Upstream['onNotification'],
    close: client.close,
  }
}
