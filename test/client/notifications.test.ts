import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { defineActor, startActor, type StrayEvent, subscribe } from 'caduceus/runtime'
import { scriptedServer } from 'caduceus/testing'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { watchNear } from './_raw.js'

const test = suite('news for a client')

test('progress reaches its own call and only increases', async (t) => {
  const { client } = watchNear(t)
  const first: number[] = []
  const second: unknown[] = []
  await Promise.all([
    client.callTool(
      'progress',
      { steps: [1, 2, 2, 1, 3] },
      { onProgress: ({ progress }) => first.push(progress) },
    ),
    client.callTool('progress', { steps: [1] }, { onProgress: (progress) => second.push(progress) }),
  ])
  assert.equal(first, [1, 2, 3])
  assert.equal(second, [{ progress: 1, total: 3 }])
})

test('progress with an unknown, mistyped or finished token reaches no handler', async (t) => {
  const { client } = watchNear(t)
  const told: number[] = []
  const onProgress = ({ progress }: { progress: number }) => told.push(progress)
  const hanging = new AbortController()
  const call = client.callTool('hang', {}, { onProgress, signal: hanging.signal }).catch(() => {})
  const tell = (progressToken: unknown, progress: number) =>
    client.callTool('tell', {
      method: 'notifications/progress',
      params: { progressToken, progress },
    })
  for (const token of ['1', 2, 0, '', -1]) await tell(token, 10)
  assert.equal(told, [])
  await tell(1, 10)
  assert.equal(told, [10], 'the token of the call itself')
  for (const junk of [null, 1.5, {}]) await tell(junk, 11)
  hanging.abort()
  await call
  await tell(1, 12)
  assert.equal([told, client.inspect().counts.junk], [[10], 3])
})

test('notifications outside of the revision are junk; custom ones reach handlers', async (t) => {
  const { client } = watchNear(t, {}, { init: '2025-06-18' })
  const heardOf: string[] = []
  const methods = ['notifications/elicitation/complete', 'notifications/initialized', 'notifications/custom']
  for (const method of methods) {
    client.onNotification<string>(method, () => heardOf.push(method))
    await client.callTool('tell', { method, params: { elicitationId: 7 } })
  }
  await client.ping()
  assert.equal([heardOf, client.inspect().counts.junk], [['notifications/custom'], 2])
})

test('a throwing progress handler is reported and stops nothing', async (t) => {
  const { client } = watchNear(t)
  const reports: number[] = []
  const onProgress = ({ progress }: { progress: number }): void => {
    reports.push(progress)
    throw new Error('a bug in a handler')
  }
  assert.is((await client.callTool('progress', {}, { onProgress })).text, 'done')
  assert.equal(reports, [1, 2, 3])
})

test('notification handlers run concurrently, and one that throws stops no other', async (t) => {
  const { client } = watchNear(t)
  const changes = heard<object>()
  const customs = heard<object>()
  client.onNotification('notifications/tools/list_changed', () => {
    throw new Error('a bug in a handler')
  })
  client.onNotification('notifications/tools/list_changed', changes.add)
  const off = client.onNotification('custom/news', customs.add)
  await client.callTool('tell', { method: 'notifications/tools/list_changed' })
  await client.callTool('tell', { method: 'custom/news', params: { n: 1 } })
  await client.callTool('tell', { method: 'custom/unheard', params: { n: 1 } })
  assert.equal(await changes.next(), {})
  assert.equal(await customs.next(), { n: 1 })
  off()
  await client.callTool('tell', { method: 'custom/news', params: { n: 2 } })
  await client.ping()
  assert.is(customs.all.length, 1)
})

test('S076: a throw of the second of three handlers does not stop the first and third', async (t) => {
  const { client } = watchNear(t)
  const calls: string[] = []
  client.onNotification('custom/news', () => calls.push('first'))
  client.onNotification('custom/news', () => {
    calls.push('second')
    throw new Error('a bug in a handler')
  })
  const third = heard<object>()
  client.onNotification('custom/news', (params) => {
    calls.push('third')
    third.add(params)
  })
  await client.callTool('tell', { method: 'custom/news', params: { n: 1 } })
  assert.equal(await third.next(), { n: 1 })
  assert.equal(calls, ['first', 'second', 'third'])
})

test('S077: a slow subscriber delays no other and misses nothing', async (t) => {
  const { client } = watchNear(t)
  const slow = client.notifications('custom/news')
  const quick = heard<object>()
  client.onNotification('custom/news', quick.add)
  for (const n of [1, 2, 3]) await client.callTool('tell', { method: 'custom/news', params: { n } })
  for (const n of [1, 2, 3]) assert.equal(await quick.next(), { n })
  const late: unknown[] = []
  for await (const news of slow) if (late.push(news) === 3) break
  assert.equal(late, [{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('S092: unknown methods and error codes pass unchanged', async (t) => {
  const refusal = new McpError(4711, 'the moon is not full', { data: { phase: 0.3 } })
  const server = scriptedServer({ 'moon/howl': refusal, 'moon/phase': { phase: 0.3 } })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  assert.equal(await client.request('moon/phase', { at: 'now' }), { phase: 0.3 })
  const error = await client.request('moon/howl').catch((cause) => cause)
  assert.instance(error, McpError)
  assert.equal([error.code, error.message, error.data], [4711, 'the moon is not full', { phase: 0.3 }])
})

test('a throw or a stray rejection of a handler is reported with its registrant', async (t) => {
  t.expectStray(1)
  const strays = heard<StrayEvent>()
  t.after(subscribe('stray', strays.add))
  const { client } = watchNear(t, { name: 'loud' })
  const tell = () => client.callTool('tell', { method: 'custom/news' })
  const off = client.onNotification(
    'custom/news',
    () => void Promise.reject(new Error('a promise nobody awaits')),
  )
  await tell()
  const own = await strays.next()
  assert.equal([own.owner, own.kind, own.outcome], ['loud: handler', 'rejection', 'reported'])
  off()
  const listener = defineActor({
    name: 'listener',
    stray: 'report',
    init: () => {
      client.onNotification('custom/news', () => {
        throw new Error('a bug in the handler of an actor')
      })
      return {}
    },
  })
  const ref = await startActor(listener, undefined, { logger: false })
  await tell()
  assert.is((await strays.next()).owner, 'listener')
  await ref.stop()
  await tell()
  await client.ping()
  assert.is(strays.all.length, 2)
})

test('a server ping is answered, and an unsupported question refused', async (t) => {
  const { client } = watchNear(t)
  assert.equal(JSON.parse((await client.callTool('ask', { method: 'ping' })).text), {
    jsonrpc: '2.0',
    id: 'ask-0',
    result: {},
  })
  const { error } = JSON.parse((await client.callTool('ask', { method: 'roots/list' })).text)
  assert.is(error.code, -32601)
})

test.run()
