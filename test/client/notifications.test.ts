import * as assert from 'uvu/assert'
import { defineActor } from '../../runtime/behaviour.js'
import { type StrayEvent, subscribe } from '../../runtime/events.js'
import { startActor } from '../../runtime/root.js'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { watch } from './_raw.js'

const test = suite('news for a client')

test('progress goes to the call it belongs to, and only forward', async (t) => {
  const { client } = watch(t)
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

test('a progress handler that throws stops nothing, and is reported', async (t) => {
  const { client } = watch(t)
  const reports: number[] = []
  const onProgress = ({ progress }: { progress: number }): void => {
    reports.push(progress)
    throw new Error('a bug in a handler')
  }
  assert.is((await client.callTool('progress', {}, { onProgress })).text, 'done')
  assert.equal(reports, [1, 2, 3])
})

test('handlers of notifications are called side by side; one that throws stops no other', async (t) => {
  const { client } = watch(t)
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

test('what a handler throws, or a promise it forgets, is reported in the name of whoever registered it', async (t) => {
  t.expectStray(1)
  const strays = heard<StrayEvent>()
  t.after(subscribe('stray', strays.add))
  const { client } = watch(t, { name: 'loud' })
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

test('a ping of the server is answered, and a question we cannot answer is refused', async (t) => {
  const { client } = watch(t)
  assert.equal(JSON.parse((await client.callTool('ask', { method: 'ping' })).text), {
    jsonrpc: '2.0',
    id: 'ask-0',
    result: {},
  })
  const { error } = JSON.parse((await client.callTool('ask', { method: 'roots/list' })).text)
  assert.is(error.code, -32601)
})

test.run()
