import * as assert from 'uvu/assert'
import { defineServer } from 'caduceus/server'
import { connect, crash, fakeClock, record, type TestingEvents, until } from 'caduceus/testing'
import { rejection } from '../client/_raw.js'
import { count } from '../server/_servers.js'
import { suite } from '../support/suite.js'

const test = suite('testing: until')

const counting = defineServer({ name: 'counting', version: '1', tools: [count] })

test('until() waits for an event by name, on every floor', async (t) => {
  const listening = until('transport.listener', ({ server }) => server === 'counting')
  const opened = until('server.session', ({ type }) => type === 'opened')
  const called = until('server.request', ({ type, method }) => type === 'stop' && method === 'tools/call')
  const { client, close } = await connect(counting)
  t.after(close)
  assert.is((await listening).transport, 'memory')
  assert.is((await opened).revision, '2025-11-25')
  const restarted = until('progress', ({ child, restarted }) => restarted && child.id === 'client')
  await client.callTool('count')
  assert.is((await called).server, 'counting')
  await crash(client)
  assert.is((await restarted).supervisor, 'client client')
})

test('until checks its condition after events, also if the check is async', async (t) => {
  const { client, server, close } = await connect(counting)
  t.after(close)
  await until(async () => (await server.sessions()).length === 1)
  const gone = until(async () => (await server.sessions()).length === 0)
  await client.close()
  await gone
  await until(() => true)
  const thrown = await rejection(
    until(() => {
      throw new Error('a bug in the test')
    }),
  )
  assert.is(thrown.message, 'a bug in the test')
})

test('until() waits for client states, from the present one on', async (t) => {
  const { client, server, close } = await connect(counting, { client: { backoff: { base: 1, cap: 1 } } })
  t.after(close)
  const ready = await until(client, ({ phase }) => phase === 'ready')
  assert.is(ready, client.state)
  const lost = until(client, ({ phase }) => phase === 'disconnected')
  await server.stop()
  assert.ok((await lost).reason instanceof Error)
})

test('a timed out until() names what came instead', async (t) => {
  const clock = fakeClock()
  const { client, close } = await connect(counting)
  t.after(close)
  const missed = rejection(
    until('server.request', ({ method }) => method === 'prompts/get', { timeout: 50, clock }),
  )
  await client.ping()
  await client.listTools()
  await clock.advance(50)
  const { code, message, data } = await missed
  assert.is(code, 'TIMEOUT')
  assert.match(message, 'server.request: nothing that fits came within 50 ms (')
  const { seen } = data as { seen: TestingEvents['server.request'][] }
  assert.ok(seen.some(({ method }) => method === 'tools/list'))
  const never = rejection(until(() => false, { timeout: 10, clock }))
  await clock.advance(10)
  assert.is((await never).code, 'TIMEOUT')
  const controller = new AbortController()
  const aborted = rejection(until('crash', undefined, { signal: controller.signal }))
  controller.abort(new Error('enough'))
  assert.is((await aborted).message, 'enough')
  assert.is((await rejection(until('crash', undefined, { signal: controller.signal }))).message, 'enough')
})

test('a recording has each event between start and end, and gives it once', async (t) => {
  const { client, close } = await connect(counting)
  t.after(close)
  const requests = record('server.request')
  await client.ping()
  await client.listTools()
  requests.stop()
  await client.callTool('count')
  const methods = requests.all.filter(({ type }) => type === 'stop').map(({ method }) => method)
  assert.equal(methods, ['ping', 'tools/list'])
  const first = await requests.next(({ method }) => method === 'tools/list')
  assert.is(first.type, 'start')
  assert.is((await requests.next()).method, 'ping')
  assert.is((await requests.next(({ method }) => method === 'tools/list')).type, 'stop')
  assert.is((await requests.next()).type, 'stop')
  const more = rejection(requests.next(undefined, { timeout: 0 }))
  assert.match(
    (await more).message,
    'server.request: nothing that fits came within 0 ms (4 came so far, 0 left)',
  )
})

test('unknown event names and wrong options are refused', async () => {
  assert.throws(() => record('nothing' as 'crash'), /event: expected one of crash, supervisor/)
  assert.is((await rejection(until('nothing' as 'crash'))).code, 'BAD_OPTION')
  assert.is((await rejection(until('crash', 1 as never))).code, 'BAD_OPTION')
  assert.is((await rejection(until('crash', undefined, { timeout: -1 }))).code, 'BAD_OPTION')
  assert.is((await rejection(until(() => true, { after: 1 } as object))).code, 'BAD_OPTION')
})

test.run()
