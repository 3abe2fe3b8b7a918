import * as assert from 'uvu/assert'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import {
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  records,
  sealed,
  type Server,
  type ServerOptions,
  type SessionRecord,
  startServer,
  type ToolDefinition,
} from 'caduceus/server'
import { crash, record, until } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { as, byName } from '../_principals.js'
import { initialize, RawClient } from '../_client.js'
import { count, startParts, startTestServer, untilBack } from '../_servers.js'

const test = suite('hibernation')

/** Milliseconds after which a session that nobody uses hibernates, and those after which it ends. */
const [quiet, idle] = [30_000, 600_000]
const note = defineResourceTemplate({
  uriTemplate: 'note://{id}',
  name: 'note',
  read: ({ id }) => String(id),
})
const noted = {
  resourceTemplates: [note],
  resources: [defineResource({ uri: 'a:b', name: 'b', read: () => 'b' })],
}

interface Held {
  readonly clock: FakeClock
  readonly server: Server
}

async function start(
  t: TestContext,
  options: Partial<ServerOptions> & { readonly http?: object } = {},
  tools: readonly ToolDefinition[] = [count],
): Promise<Held> {
  const clock = createFakeClock()
  const timeouts = { idle, ...options.timeouts }
  return { clock, server: await startTestServer(t, tools, { clock, ...options, timeouts }) }
}

/** Of each session, whether it hibernates. */
async function asleep(server: Server): Promise<boolean[]> {
  return (await server.sessions()).map(({ ref }) => ref === undefined)
}

async function statusOf(client: RawClient): Promise<number> {
  return (await client.tell('notifications/cancelled', { requestId: 9 })).status
}

test('a session that nobody uses is only its record, and the next message wakes it', async (t) => {
  const { clock, server } = await start(t)
  using events = record('server.session')
  const client = await new RawClient(t, server.url).open('sleeper')
  assert.is(await client.text('count'), '1')
  const [before] = await server.sessions()
  await clock.advance(quiet - 1)
  assert.equal(await asleep(server), [false])
  await clock.advance(1)
  const [during] = await server.sessions()
  assert.equal({ ...during, ref: before?.ref }, before)
  assert.equal([during?.ref, before?.ref?.alive], [undefined, false])
  assert.is(await client.text('count'), '2')
  const [after] = await server.sessions()
  assert.equal({ ...after, ref: before?.ref }, before)
  assert.is(after?.ref?.alive, true)
  const [, slept, woken] = events.all
  assert.equal(
    events.all.map(({ type }) => type),
    ['opened', 'hibernated', 'woken'],
  )
  assert.equal([woken?.was, woken?.process === slept?.process], [slept?.process, false])
  // and again
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true])
  assert.is(await client.text('count'), '3')
})

test('log level and subscriptions are there when a session wakes', async (t) => {
  const clock = createFakeClock()
  const say = defineTool({
    name: 'say',
    run(_args, ctx) {
      ctx.log('info', 'a')
      return 'said'
    },
  })
  const { server, client } = await startParts(t, { logging: true, tools: [say], ...noted }, {
    clock,
  } as object)
  await client.ask('logging/setLevel', { level: 'error' })
  await client.ask('resources/subscribe', { uri: 'note://1' })
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true])
  const { messages } = await client.post({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'say' },
  })
  assert.equal(
    messages.map(({ id }) => id),
    [1],
  )
  await client.ask('logging/setLevel', { level: 'debug' })
  const louder = await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'say' } })
  assert.equal(
    louder.messages.map(({ method, id }) => method ?? id),
    ['notifications/message', 2],
  )
  const stream = await client.listen()
  await server.resourceUpdated('note://2')
  await server.resourceUpdated('note://1')
  assert.equal((await stream.next()).params, { uri: 'note://1' })
  stream.close()
})

test('a client is told what it was owed and what came meanwhile, no more', async (t) => {
  const clock = createFakeClock()
  const { server, client } = await startParts(t, { tools: [], ...noted }, { clock } as object)
  const other = await new RawClient(t, server.url).open('other')
  for (const id of [1, 2, 3, 4]) await client.ask('resources/subscribe', { uri: `note://${id}` })
  await server.resourceUpdated('note://1') // nobody reads
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true, true])
  for (const id of [3, 5]) await server.resourceUpdated(`note://${id}`)
  await clock.advance(quiet)
  await client.ask('ping')
  assert.equal((await asleep(server)).sort(), [false, true])
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true, true])
  const stream = await client.listen()
  const told = [await stream.next(), await stream.next()]
  assert.equal(
    told.map(({ method, params }) => [method, params?.uri]),
    [
      ['notifications/resources/updated', 'note://1'],
      ['notifications/resources/updated', 'note://3'],
    ],
  )
  await server.addTool(count)
  await clock.advance(10)
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  stream.close()
  // the other was asleep all the time, and hears once
  const late = await other.listen()
  assert.is((await late.next()).method, 'notifications/tools/list_changed')
  await server.listChanged('resources')
  await clock.advance(10)
  assert.is((await late.next()).method, 'notifications/resources/list_changed')
  late.close()
})

test('a request, a reader and a handler of a notification keep a session awake', async (t) => {
  const clock = createFakeClock()
  const gates: (() => void)[] = []
  const wait = (): Promise<void> => new Promise((resolve) => void gates.push(resolve))
  const waits = defineTool({ name: 'waits', run: async () => wait().then(() => 'done') })
  const parts = { tools: [waits], notifications: { 'test/wait': wait } }
  const { server, client } = await startParts(t, parts, { clock } as object)
  const call = client.call('waits')
  while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(5 * quiet)
  assert.equal(await asleep(server), [false])
  gates.shift()?.()
  await call
  const stream = await client.listen()
  await clock.advance(5 * quiet)
  assert.equal(await asleep(server), [false])
  stream.close()
  await until(async () => {
    // the client may come back to its stream for 5 min, from when the server has heard of its end
    await clock.advance(6 * 60_000)
    return (await server.sessions()).every(({ readers }) => readers === 0)
  })
  await client.tell('test/wait')
  await clock.advance(50_000)
  assert.equal(await asleep(server), [false])
  gates.shift()?.()
  await clock.advance(2 * quiet)
  assert.equal(await asleep(server), [true])
})

test('what no record has keeps a session awake: values of ctx.assign, and hooks', async (t) => {
  const clock = createFakeClock()
  const assign = defineTool({
    name: 'assign',
    run(_args, ctx) {
      ctx.assign({ live: true })
      return 'done'
    },
  })
  const { server, client } = await startParts(t, { tools: [assign] }, { clock } as object)
  await client.call('assign')
  const ended: string[] = []
  const session = {
    terminate: (_ended: unknown, { type }: { readonly type: string }) => void ended.push(type),
  }
  const hooked = await startParts(t, { tools: [], session }, { clock } as object)
  await clock.advance(10 * quiet)
  assert.equal([await asleep(server), await asleep(hooked.server), ended], [[false], [false], []])
})

test('a client that has not confirmed is not kept asleep', async (t) => {
  const { clock, server } = await start(t)
  await new RawClient(t, server.url).post(initialize())
  await clock.advance(quiet)
  assert.equal(await server.sessions(), [])
})

test('a session that hibernates ends after the idle time, or with DELETE', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const engine = records({
    load: (id) => kept.get(id),
    save: (saved) => void kept.set(saved.id, saved),
    delete: (id) => void kept.delete(id),
  })
  const { clock, server } = await start(t, { engine })
  const [idler, late, ender] = [
    await new RawClient(t, server.url).open(),
    await new RawClient(t, server.url).open(),
    await new RawClient(t, server.url).open(),
  ]
  await clock.advance(idle - 1)
  assert.equal(await asleep(server), [true, true, true])
  using events = record('server.session')
  assert.is(await late.text('count'), '1') // just in time
  assert.is((await ender.send('DELETE', undefined, ender.headers())).status, 204)
  await clock.advance(1)
  assert.equal(await asleep(server), [false])
  assert.equal([await statusOf(idler), await statusOf(ender), await statusOf(late)], [404, 404, 202])
  assert.equal([...kept.keys()], [late.sessionId])
  assert.equal(
    events.all.map(({ type, reason }) => reason ?? type),
    ['woken', 'normal', 'normal'],
  )
})

test('sessions that end at about the same time are gone at about their time', async (t) => {
  const { clock, server } = await start(t)
  const first = await new RawClient(t, server.url).open()
  await clock.advance(100)
  const second = await new RawClient(t, server.url).open()
  await clock.advance(idle - 100)
  assert.equal([await statusOf(first), await asleep(server)], [404, [true]])
  await clock.advance(idle / 1_000)
  assert.equal([await statusOf(second), await asleep(server)], [404, []])
})

test('sessions that hibernate count for the limits of the server and of a client', async (t) => {
  const { clock, server } = await start(t, {
    limits: { sessions: 3, sessionsPerClient: 2 },
    http: { authenticate: byName },
  })
  const open = async (name: string) => {
    const client = new RawClient(t, server.url)
    client.own = as(name)
    const { status, headers } = await client.post(initialize())
    client.sessionId = headers['mcp-session-id'] as string | undefined
    if (status === 200) await client.tell('notifications/initialized')
    return { status, client }
  }
  const [one, two] = [await open('ada'), await open('ada')]
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true, true])
  assert.is((await open('ada')).status, 429)
  assert.is((await open('bob')).status, 200)
  await clock.advance(quiet)
  assert.is((await open('eve')).status, 503)
  // waking and sleeping again changes no count
  for (let times = 0; times < 3; times += 1) {
    assert.is(await statusOf(one.client), 202)
    await clock.advance(quiet)
  }
  assert.equal([await asleep(server), (await open('eve')).status], [[true, true, true], 503])
  await two.client.send('DELETE', undefined, two.client.headers())
  assert.is((await open('ada')).status, 200)
  assert.is((await open('ada')).status, 429)
  await clock.advance(idle)
  assert.equal(await server.sessions(), [])
  assert.equal(
    [(await open('ada')).status, (await open('ada')).status, (await open('ada')).status],
    [200, 200, 429],
  )
})

test('nobody else wakes a session, nor does a token that is refused', async (t) => {
  const { clock, server } = await start(t, { http: { authenticate: byName } })
  const client = new RawClient(t, server.url)
  client.own = as('ada')
  await client.open()
  await clock.advance(quiet)
  const tries = { bob: 404, 'ada@https://other.example': 404, unknown: 401, expired: 401 }
  for (const [name, status] of Object.entries(tries)) {
    client.own = as(name)
    assert.is(await statusOf(client), status, name)
    assert.is((await client.listen()).status, status, name)
    assert.is((await client.send('DELETE', undefined, client.headers())).status, status, name)
  }
  client.own = {}
  assert.is(await statusOf(client), 404)
  assert.equal(await asleep(server), [true])
  client.own = as('ada')
  assert.is(await statusOf(client), 202)
})

test('messages that come together wake a session once', async (t) => {
  const { clock, server } = await start(t)
  using events = record('server.session')
  const client = await new RawClient(t, server.url).open()
  await clock.advance(quiet)
  const counted = await Promise.all(Array.from({ length: 10 }, () => client.text('count')))
  assert.equal(
    counted.map(Number).sort((a, b) => a - b),
    Array.from({ length: 10 }, (_, at) => at + 1),
  )
  assert.is(events.all.filter(({ type }) => type === 'woken').length, 1)
})

test('sessions go on hibernating when the group is restarted', async (t) => {
  const { clock, server } = await start(t, { limits: { sessions: 1 } })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  await clock.advance(quiet)
  await untilBack(() => crash(server, { part: 'base' }))
  assert.equal(await asleep(server), [true])
  assert.is((await new RawClient(t, server.url).post(initialize())).status, 503)
  assert.is(await client.text('count'), '2')
  await clock.advance(quiet)
  await untilBack(() => crash(server, { part: 'base' }))
  await clock.advance(idle)
  assert.equal([await server.sessions(), await statusOf(client)], [[], 404])
})

test('a session without a process cannot be made to crash', async (t) => {
  const { clock, server } = await start(t)
  await new RawClient(t, server.url).open()
  await clock.advance(quiet)
  const [session] = await server.sessions()
  const failed = await crash(session as NonNullable<typeof session>).catch(
    ({ code }: { code: string }) => code,
  )
  assert.is(failed, 'NOPROC')
})

test('a session stays awake as long as it cannot be saved', async (t) => {
  const kept = new Map<string, SessionRecord>()
  let isBroken = false
  const engine = records({
    load: (id) => kept.get(id),
    save(saved) {
      if (isBroken) throw new Error('the store is broken')
      kept.set(saved.id, saved)
    },
    delete: (id) => void kept.delete(id),
  })
  const { clock, server } = await start(t, { engine })
  const client = await new RawClient(t, server.url).open()
  isBroken = true
  await clock.advance(3 * quiet)
  assert.equal(await asleep(server), [false])
  isBroken = false
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true])
  assert.is(await client.text('count'), '1')
})

test('a session with what its store refuses is as it was saved last', async (t) => {
  const kept = new Map<string, string>()
  const engine = records({
    load: (id) => JSON.parse(kept.get(id) ?? 'null') as SessionRecord | undefined,
    save: (saved) => kept.set(saved.id, JSON.stringify(saved)),
    delete: (id) => void kept.delete(id),
  })
  const fails = defineTool({
    name: 'fails',
    async run(_args, ctx): Promise<string> {
      await ctx.update('odd', () => 10n)
      throw new Error('by itself')
    },
  })
  const { clock, server } = await start(t, { engine }, [count, fails])
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  assert.is((await client.call('fails')).result?.isError, true)
  await clock.advance(quiet)
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true])
  assert.is(await client.text('count'), '2')
  assert.is((await client.call('fails')).result?.isError, true)
  assert.is((await client.call('count')).error?.code, -32603)
  assert.equal(await asleep(server), [true], 'it counts')
  await clock.advance(idle)
  assert.equal([await asleep(server), kept.size], [[], 0], 'and ends in time')
})

test('a message that comes while a session is being saved keeps it awake', async (t) => {
  const kept = new Map<string, SessionRecord>()
  let held: (() => void) | undefined
  let holds = false
  const engine = records({
    load: (id) => kept.get(id),
    save(saved) {
      kept.set(saved.id, saved)
      if (!holds) return undefined
      return new Promise<void>((resolve) => {
        held = resolve
      })
    },
    delete: (id) => void kept.delete(id),
  })
  const { clock, server } = await start(t, { engine })
  const client = await new RawClient(t, server.url).open()
  holds = true
  await clock.advance(quiet)
  assert.type(held, 'function')
  holds = false
  assert.equal((await client.ask('ping')).result, {})
  held?.()
  await clock.advance(quiet - 1)
  assert.equal(await asleep(server), [false])
  await clock.advance(1)
  assert.equal(await asleep(server), [true])
})

test('a message that comes in time is served, however long the store takes', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const loads: (() => void)[] = []
  const engine = records({
    load: (id) => new Promise((resolve) => void loads.push(() => resolve(kept.get(id)))),
    save: (saved) => void kept.set(saved.id, saved),
    delete: (id) => void kept.delete(id),
  })
  const { clock, server } = await start(t, { engine })
  const client = await new RawClient(t, server.url).open()
  await clock.advance(idle - 1)
  const counted = client.text('count')
  while (loads.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(1_000)
  loads.shift()?.()
  assert.is(await counted, '1')
})

test('another program that has gone on with a session is not forgotten', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const engine = () =>
    records({
      shared: true,
      load: (id) => kept.get(id),
      save: (saved) =>
        void ((kept.get(saved.id)?.version ?? 0) <= saved.version && kept.set(saved.id, saved)),
      delete: (id) => void kept.delete(id),
    })
  const begin = async () => {
    const clock = createFakeClock()
    const timeouts = { idle }
    const begun = await startParts(t, { tools: [count], ...noted }, {
      clock,
      timeouts,
      engine: engine(),
    } as object)
    return { ...begun, clock }
  }
  const [here, there] = [await begin(), await begin()]
  const [{ client }, { client: same }] = [here, there]
  same.sessionId = client.sessionId
  assert.is(await client.text('count'), '1')
  await client.ask('resources/subscribe', { uri: 'note://1' })
  await here.clock.advance(quiet)
  assert.ok((await asleep(here.server)).every(Boolean))
  assert.is(await same.text('count'), '2')
  assert.is(await client.text('count'), '3')
  // what the other has told is not known here
  const stream = await client.listen()
  const told = [await stream.next(), await stream.next(), await stream.next()]
  assert.equal(told.map(({ method }) => method).sort(), [
    'notifications/resources/list_changed',
    'notifications/resources/updated',
    'notifications/tools/list_changed',
  ])
  stream.close()
  // here it ends for want of use, once its server has heard of the end of the stream, and goes on there
  await until(async () => {
    await here.clock.advance(2 * idle)
    return (await here.server.sessions()).length === 0
  })
  assert.is(await same.text('count'), '4')
})

test('a sealed session hibernates no longer than its id lasts', async (t) => {
  const engine = sealed({ keys: ['a secret of the tests, and of nobody else'], maxAge: 100_000 })
  const { clock, server } = await start(t, { engine })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  await clock.advance(quiet)
  assert.equal(await asleep(server), [true])
  assert.is(await client.text('count'), '2')
  await clock.advance(102_000)
  assert.equal(await server.sessions(), [])
  // by the date, which this clock does not move, its id is still good
  assert.is(await client.text('count'), '3')
})

test('sessions do not hibernate where the option says so, or sooner', async (t) => {
  const clock = createFakeClock()
  const definition = defineServer({ name: 'test', version: '1', tools: [count] })
  const begin = async (name: string, hibernateAfter: number) => {
    const timeouts = { idle, hibernateAfter }
    const server = await startServer(definition, {
      name,
      clock,
      timeouts,
      transport: serveHttp(),
      logger: false,
    })
    t.after(() => server.stop())
    await new RawClient(t, server.url).open()
    return server
  }
  const [never, soon] = [await begin('never', Number.POSITIVE_INFINITY), await begin('soon', 1_000)]
  await clock.advance(1_000)
  assert.equal([await asleep(never), await asleep(soon)], [[false], [true]])
  await clock.advance(idle - 1_001)
  assert.equal(await asleep(never), [false])
  await clock.advance(1)
  assert.equal([await asleep(never), await asleep(soon)], [[], []])
})

test.run()
