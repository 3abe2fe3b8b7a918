// second tier: time
import * as assert from 'uvu/assert'
import { setTimeout as pause } from 'node:timers/promises'
import { field } from 'caduceus'
import { startClient } from 'caduceus/client'
import type { McpError } from 'caduceus/protocol'
import { defineServer, defineTool, type ServerOptions } from 'caduceus/server'
import { connect, type Connected } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { as, byName } from '../_principals.js'
import { startTestServer } from '../_servers.js'

const test = suite('the pool of isolated handlers', { timeout: 30_000 })
const input = { what: field.string(), text: field.string().optional() }
const module = new URL('./_heavy.js', import.meta.url)

test('isolated calls of several clients take turns', async (t) => {
  const pair = await start(t, { isolation: { threads: 1 } })
  const other = startClient({ name: 'other', transport: pair.transport, logger: false })
  t.after(() => other.close())
  await other.ready()
  await call(pair.client, 'ping')
  const done: string[] = []
  const all = Array.from({ length: 8 }, (_, index) =>
    // the first one lasts until the others wait, also on a busy machine
    call(pair.client, 'pause', index === 0 ? '1000' : '30').then(() => done.push(`one ${index}`)),
  )
  await until(() => about(pair.server).includes('7 calls wait'))
  all.push(...[0, 1].map((index) => call(other, 'pause', '30').then(() => done.push(`other ${index}`))))
  await Promise.all(all)
  const places = [done.indexOf('other 0'), done.indexOf('other 1')]
  assert.ok(places[0] !== undefined && places[0] <= 2 && Number(places[1]) <= 4, done.join(', '))
  assert.equal(
    done.filter((one) => one.startsWith('one')),
    Array.from({ length: 8 }, (_, index) => `one ${index}`),
  )
})

test('slow calls of one principal leave a worker for others', async (t) => {
  const tools = [defineTool({ name: 'heavy', input, isolate: 'thread', module })]
  const isolation = { threads: 2 }
  const server = await startTestServer(t, tools, { isolation, http: { authenticate: byName } })
  const openAs = (name: string): Promise<RawClient> => {
    const client = new RawClient(t, server.url)
    client.own = as(name)
    return client.open()
  }
  const [eve, ada] = [await openAs('eve'), await openAs('ada')]
  const slow = ['first', 'second'].map((id) => eve.call('heavy', { what: 'forever' }, id).catch(() => {}))
  await until(() => about(server).includes('1 at work, 1 calls wait'))
  assert.is(await ada.text('heavy', { what: 'ping' }), 'pong')
  // what waits for its share begins when that has room
  await eve.tell('notifications/cancelled', { requestId: 'first' })
  await until(() => about(server).includes('1 at work, 0 calls wait'))
  await eve.tell('notifications/cancelled', { requestId: 'second' })
  await Promise.all(slow)
})

test('the timeout of an isolated call runs while it waits', async (t) => {
  const { client } = await start(t, { isolation: { threads: 1 } })
  const ending = new AbortController()
  const first = client
    .callTool('heavy', { what: 'forever' }, { signal: ending.signal })
    .catch(() => 'cancelled')
  assert.is(
    (await client.callTool('brief', { what: 'echo' })).text,
    'The tool brief took longer than 300 ms and was stopped.',
  )
  ending.abort()
  assert.is(await first, 'cancelled')
  assert.is(await call(client, 'echo', 'fine'), 'fine')
})

test('a call that waits when the pool crashes rejects as not begun', async (t) => {
  const { client, server } = await start(t, { isolation: { threads: 1 } })
  await call(client, 'ping')
  const running = call(client, 'pause', '60000')
  const waiting = client.callTool('heavy', { what: 'echo', text: 'late' }).catch((error: McpError) => error)
  await until(() => about(server).includes('1 calls wait') || about(server).includes('1 call waits'))
  server.registry.whereis('test/isolation')?.kill()
  const error = (await waiting) as McpError
  assert.equal([error.code, error.data], [-32603, { retryable: true }])
  assert.match(await running, /part of the work may be done/)
})

test('calls beyond the queue limit are refused', async (t) => {
  const { client } = await start(t, { isolation: { threads: 1 }, limits: { waiting: 2 } })
  await call(client, 'ping')
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => call(client, 'pause', '50')))
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  assert.is(refused.length, 2)
  for (const { code, data } of refused) assert.equal([code, data], [429, { retryable: true }])
})

test('an idle worker beyond the spares ends, and a lost one is replaced', async (t) => {
  const { client, server } = await start(t, { isolation: { threads: 2, idleTimeout: 100 } })
  await Promise.all([call(client, 'pause', '100'), call(client, 'pause', '100')])
  await until(() => workers(server) === 1)
  await client.callTool('heavy', { what: 'exit', text: '1' })
  await until(() => workers(server) === 1)
  assert.is(await call(client, 'echo', 'fine'), 'fine')
})

test('without spares no worker starts before the first call', async (t) => {
  const { client, server } = await start(t, { isolation: { spares: 0 } })
  assert.is(workers(server), 0)
  assert.is(await call(client, 'echo', 'fine'), 'fine')
})

test('a server without isolated components has no pool', async (t) => {
  const pair = await connect(defineServer({ name: 'test', version: '1' }))
  t.after(() => pair.close())
  assert.is(pair.server.registry.whereis('test/isolation'), undefined)
})

test('warm workers survive a restart of the group', async (t) => {
  const { client, server } = await start(t, { isolation: { threads: 1 } })
  const where = await call(client, 'where')
  server.registry.whereis('test/base')?.kill()
  await until(async () => (await call(client, 'where').catch(() => '')) === where)
})

async function start(t: TestContext, server: Omit<ServerOptions, 'transport'>): Promise<Connected> {
  const tools = [
    defineTool({ name: 'heavy', input, isolate: 'thread', module }),
    defineTool({ name: 'brief', input, isolate: 'thread', module, timeout: 300 }),
  ]
  const pair = await connect(defineServer({ name: 'test', version: '1', tools }), { server })
  t.after(() => pair.close())
  return pair
}

async function call(client: Connected['client'], what: string, text?: string): Promise<string> {
  return (await client.callTool('heavy', { what, ...(text !== undefined && { text }) })).text
}

/** How many threads and processes a server has. */
function workers(server: Connected['server']): number {
  return Number(/threads: (\d+)/.exec(about(server))?.[1])
}

function about(server: Connected['server']): string {
  return server.inspect().children.find(({ name }) => name === 'isolation')?.about ?? ''
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(10)
}

test.run()
