import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import {
  defineResource,
  defineServer,
  defineTool,
  files,
  records,
  type Server,
  type SessionRecord,
  type SessionStore,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { makeFolder } from '../support/folder.js'
import { count, echo, startTestServer } from './_servers.js'

const test = suite('server whose program starts again')

/** What the next program does: a server of its own on the same folder. */
function startNext(
  t: TestContext,
  folder: string,
  options: Omit<NonNullable<Parameters<typeof startTestServer>[2]>, 'engine'> = {},
): Promise<Server> {
  return startTestServer(t, [count], { ...options, engine: files({ folder }) })
}

function elsewhere(t: TestContext, { sessionId }: RawClient, server: Server): RawClient {
  const client = new RawClient(t, server.url)
  client.sessionId = sessionId
  return client
}

async function statusOf(client: RawClient): Promise<number> {
  return (await client.tell('notifications/initialized')).status
}

test('sessions of a server that was stopped go on in the next one', async (t) => {
  const folder = makeFolder(t)
  const first = await startNext(t, folder)
  const clients = await Promise.all(['a', 'b'].map((name) => new RawClient(t, first.url).open(name)))
  for (const client of clients) await client.text('count', { by: 3 })
  await first.stop()
  const second = await startNext(t, folder)
  const same = clients.map((client) => elsewhere(t, client, second))
  assert.equal(await Promise.all(same.map((client) => client.text('count'))), ['4', '4'])
  const sessions = (await second.sessions()).map(({ id, client, revision, capabilities, phase }) => [
    id,
    [client.name, revision, capabilities, phase],
  ])
  assert.equal(
    Object.fromEntries(sessions),
    Object.fromEntries(
      clients.map(({ sessionId }, index) => [
        sessionId,
        [['a', 'b'][index], '2025-11-25', { roots: {} }, 'ready'],
      ]),
    ),
  )
})

test('log level and subscriptions of a client survive a restart', async (t) => {
  const folder = makeFolder(t)
  const resource = defineResource({ name: 'news', uri: 'news://today', read: () => 'nothing new' })
  const speak = defineTool({
    name: 'speak',
    run(_args, ctx) {
      for (const level of ['info', 'warning', 'error'] as const) ctx.log(level, level)
      return 'spoken'
    },
  })
  const definition = defineServer({
    name: 'wishes',
    version: '1.0.0',
    tools: [speak],
    resources: [resource],
    logging: true,
  })
  const start = async () => {
    const engine = files({ folder })
    const server = await startServer(definition, { transport: serveHttp(), engine, logger: false })
    t.after(() => server.stop())
    return server
  }
  const first = await start()
  const client = await new RawClient(t, first.url).open()
  assert.equal((await client.ask('logging/setLevel', { level: 'warning' })).result, {})
  assert.equal((await client.ask('resources/subscribe', { uri: 'news://today' })).result, {})
  await first.stop()
  const second = await start()
  const same = elsewhere(t, client, second)
  const { messages } = await same.post({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'speak', arguments: {} },
  })
  assert.equal(
    messages.map(({ params, result }) => params?.level ?? result?.content?.[0]?.text),
    ['warning', 'error', 'spoken'],
  )
  const stream = await same.listen()
  await second.resourceUpdated('news://today')
  let news = await stream.next()
  while (news.method !== 'notifications/resources/updated') news = await stream.next()
  assert.equal(news.params, { uri: 'news://today' })
  stream.close()
})

test('a client is told that the lists of the next program may differ', async (t) => {
  const folder = makeFolder(t)
  const first = await startNext(t, folder)
  const client = await new RawClient(t, first.url).open()
  await first.stop()
  const second = await startTestServer(t, [count, echo], { engine: files({ folder }) })
  const same = elsewhere(t, client, second)
  const stream = await same.listen()
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  assert.equal(await same.list(), ['count', 'echo'])
  stream.close()
})

test('a session ended by DELETE or by idle time is 404 in the next program', async (t) => {
  const folder = makeFolder(t)
  const clock = createFakeClock()
  const first = await startNext(t, folder, { timeouts: { idle: 400 }, clock })
  const [deleted, idle] = await Promise.all([
    new RawClient(t, first.url).open('deleted'),
    new RawClient(t, first.url).open('idle'),
  ])
  assert.is((await deleted.send('DELETE', undefined, deleted.headers())).status, 204)
  await clock.advance(400)
  assert.equal(await first.sessions(), [])
  await first.stop()
  const second = await startNext(t, folder)
  for (const client of [deleted, idle]) assert.is(await statusOf(elsewhere(t, client, second)), 404)
  assert.equal(readdirSync(join(folder, 'sessions')), [])
})

test('a session with a torn file is 404, and others continue', async (t) => {
  const folder = makeFolder(t)
  const first = await startNext(t, folder)
  const torn = await new RawClient(t, first.url).open('torn')
  const [file = ''] = readdirSync(join(folder, 'sessions'))
  const other = await new RawClient(t, first.url).open('other')
  await other.text('count')
  await first.stop()
  truncateSync(join(folder, 'sessions', file), 100)
  const second = await startNext(t, folder)
  assert.is(await statusOf(elsewhere(t, torn, second)), 404)
  assert.is(await elsewhere(t, other, second).text('count'), '2')
})

test('a removed store folder is created again by the next save', async (t) => {
  const folder = makeFolder(t)
  const server = await startNext(t, folder)
  const client = await new RawClient(t, server.url).open()
  const sessions = join(folder, 'sessions')
  rmSync(sessions, { recursive: true })
  assert.is((await client.call('count')).error, undefined)
  assert.is(readdirSync(sessions).length, 1)
  await new RawClient(t, server.url).open()
})

test('an impossible store folder fails saves only', async (t) => {
  const folder = makeFolder(t)
  t.expectStray(0)
  const server = await startNext(t, folder)
  const client = await new RawClient(t, server.url).open()
  const sessions = join(folder, 'sessions')
  rmSync(sessions, { recursive: true })
  writeFileSync(sessions, '')
  assert.is((await client.call('count')).error?.code, -32603)
  assert.equal(await client.list(), ['count'])
  assert.is((await new RawClient(t, server.url).post({ jsonrpc: '2.0', id: 1, method: 'x' })).status, 400)
})

test('a session that only listens is saved now and then, so it is not forgotten', async (t) => {
  const saved: SessionRecord[] = []
  const store: SessionStore = {
    load: (id) => saved.findLast((record) => record.id === id),
    save: (record) => void saved.push(record),
    delete: () => {},
  }
  const clock = createFakeClock()
  const engine = records(store)
  const server = await startTestServer(t, [count], { engine, timeouts: { idle: 60_000 }, clock })
  const client = await new RawClient(t, server.url).open()
  const stream = await client.listen()
  const before = saved.length
  await clock.advance(60_000)
  assert.ok(saved.length > before)
  await clock.advance(60_000)
  assert.ok(saved.length >= before + 2)
  assert.ok(saved.every(({ version }, index) => version === index))
  stream.close()
})

test.run()
