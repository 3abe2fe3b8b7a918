import { defineResource, defineServer, defineTool, type Server, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { fileSessions, makeRecord } from './engine/_file-store.js'
import { makeFolder } from '../support/folder.js'

const test = suite('what a server keeps is let go of', { timeout: 20_000 })

async function start(t: TestContext, options: object): Promise<Server> {
  const definition = defineServer({ name: 'test', version: '1', ...options })
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  return server
}

test('a session is forgotten once its hooks have run', async (t) => {
  const ended = heard<string>()
  const session = {
    init: () => {},
    terminate: ({ session: { id } }: { session: { id: string } }) => ended.add(id),
  }
  const server = await start(t, { tools: [], session })
  for (let round = 0; round < 20; round++) {
    const client = await new RawClient(t, server.url).open()
    await client.send('DELETE', undefined, client.headers())
    await ended.next()
  }
  const hooks = (): string | undefined => server.inspect().children.find(({ id }) => id === 'hooks')?.about
  assert.match(String(hooks()), /\d+ sessions, \d+ ending/)
  while (hooks() !== '0 sessions, 0 ending') await new Promise((resolve) => setImmediate(resolve))
})

test('a save ends once excess records are deleted, and a newer save stays', async (t) => {
  const folder = makeFolder(t)
  const store = fileSessions({ folder, maxSessions: 2 })
  for (let round = 1; round <= 30; round++) {
    await store.save(makeRecord(`session ${round}`, 1))
    assert.is(readdirSync(folder).length, Math.min(2, round))
  }
  for (let round = 1; round <= 30; round++) {
    await Promise.all(['a', 'b', 'c', 'a', 'b'].map((id) => store.save(makeRecord(id, round))))
    const found = await Promise.all(['a', 'b', 'c'].map((id) => store.load(id)))
    assert.is(found.filter((record) => record !== undefined).length, 2)
    assert.is(readdirSync(folder).length, 2)
  }
})

test('a temporary file is removed after a minute without writes, not before', async (t) => {
  const folder = makeFolder(t)
  const now = 1_000_000_000
  const names = {
    exact: '.0b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp',
    older: '.1b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp',
  }
  for (const [name, age] of [
    [names.exact, 60],
    [names.older, 61],
  ] as const) {
    writeFileSync(join(folder, name), 'half')
    utimesSync(join(folder, name), now / 1000 - age, now / 1000 - age)
  }
  await fileSessions({ folder }, () => now).save(makeRecord('one', 1))
  assert.equal(
    readdirSync(folder).filter((name) => name.endsWith('.tmp')),
    [names.exact],
  )
})

test('a session runs 64 notification handlers; the next is dropped until one ends', async (t) => {
  const news = heard<number>()
  const leave: (() => void)[] = []
  const ping = defineTool({ name: 'ping', run: () => 'pong' })
  const server = await start(t, {
    tools: [ping],
    notifications: {
      async 'acme/wait'({ n }: { n: number }) {
        news.add(n)
        await new Promise<void>((resolve) => leave.push(resolve))
      },
    },
  })
  const client = await new RawClient(t, server.url).open()
  for (let n = 1; n <= 65; n++) await client.tell('acme/wait', { n })
  for (let n = 1; n <= 64; n++) assert.is(await news.next(), n)
  await client.text('ping')
  assert.is(news.all.length, 64)
  for (const go of leave.splice(0)) go()
  await client.text('ping')
  await client.tell('acme/wait', { n: 66 })
  assert.is(await news.next(), 66)
  for (const go of leave.splice(0)) go()
})

test('a log of undefined is sent as null', async (t) => {
  const tool = defineTool({ name: 'odd', run: (_args, ctx) => String(ctx.log('error', undefined)) })
  const server = await start(t, { tools: [tool], logging: true })
  const client = await new RawClient(t, server.url).open()
  const { messages } = await client.post({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name: 'odd' },
  })
  assert.equal(messages[0]?.params, { level: 'error', data: null })
})

test('the priority of a resource is a number from 0 to 1, both included', () => {
  const define = (priority: number) =>
    defineResource({ uri: 'x:r', name: 'r', annotations: { priority }, read: () => '' })
  for (const priority of [0, 0.5, 1]) assert.is(define(priority).annotations?.priority, priority)
  for (const priority of [-0.001, 1.001, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => define(priority), /annotations\.priority/, String(priority))
})

test.run()
