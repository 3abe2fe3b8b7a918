// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { json, listen, result, type Seen, status } from '../../transports/_http.js'
import { complete, discover, listening, refuse } from '../_modern.js'
import { watch } from '../_raw.js'
import { extension, said, Shelf } from './_tasks.js'

const test = suite('streams that tell of tasks', { timeout: 10_000 })

/** A server of 2026-07-28 that makes a task of each call; a test answers what is listened to. */
async function server(t: TestContext, pollInterval: number, answer: (seen: Seen) => void) {
  const shelf = new Shelf()
  shelf.pollInterval = pollInterval
  const looks = heard<unknown>()
  const asked = heard<unknown>()
  const { url } = await listen(t, (seen) => {
    if (seen.method !== 'POST') return status(seen, 405)
    const { method, params, id } = seen.message
    if (method === 'server/discover') return discover(seen, { tools: {}, extensions: { [extension]: {} } })
    if (id === undefined) return status(seen, 202)
    if (method === 'tools/call')
      return json(seen, result(seen, { resultType: 'task', ...shelf.flat(shelf.make()) }))
    if (method === 'subscriptions/listen') {
      asked.add(params?.notifications)
      return answer(seen)
    }
    looks.add(params?.taskId)
    const kept = shelf.one(params?.taskId)
    return json(seen, result(seen, { ...complete, ...shelf.flat(params?.taskId as string), ...kept }))
  })
  const { client } = watch(t, { transport: http(url), era: 'modern', backoff: { base: 10, cap: 10 } })
  return { client, shelf, looks, asked }
}

test('a rarely polled task uses notifications, and its stream ends with it', async (t) => {
  const streams = heard<ReturnType<typeof listening>>()
  const { client, shelf, looks } = await server(t, 60_000, (seen) => {
    const stream = listening(seen)
    stream.acknowledge()
    streams.add(stream)
  })
  const call = client.callTool('slow')
  const stream = await streams.next()
  assert.equal(stream.filter, { taskIds: ['task 1'] })
  const gone = new Promise((resolve) => stream.response.once('close', resolve))
  // what it is already costs no look
  stream.tell('notifications/tasks', shelf.flat('task 1'))
  shelf.set('task 1', { status: 'completed', result: said('told') })
  stream.tell('notifications/tasks', { ...shelf.flat('task 1'), result: said('told') })
  assert.is((await call).text, 'told')
  assert.is(looks.all.length, 1)
  await gone
})

test('later tasks join the same stream, and ended ones leave it', async (t) => {
  const { client, shelf, asked } = await server(t, 60_000, (seen) => {
    const stream = listening(seen)
    stream.acknowledge()
    shelf.set('task 1', { status: 'completed', result: said('first') })
    if (asked.all.length === 2) stream.tell('notifications/tasks', shelf.flat('task 1'))
  })
  const first = client.callTool('slow')
  assert.equal(await asked.next(), { taskIds: ['task 1'] })
  const second = client.callTool('slow')
  second.catch(() => {})
  assert.equal(await asked.next(), { taskIds: ['task 1', 'task 2'] })
  assert.is((await first).text, 'first')
  assert.equal(await asked.next(), { taskIds: ['task 2'] })
})

test('without task notifications a server is asked once, then tasks are polled', async (t) => {
  const answers = [
    (seen: Seen): void => refuse(seen, -32602),
    (seen: Seen): void => listening(seen).acknowledge({}),
  ]
  for (const answer of answers) {
    const { client, shelf, looks, asked } = await server(t, 60, answer)
    const first = client.callTool('slow')
    await asked.next()
    shelf.set('task 1', { status: 'completed', result: said('seen') })
    assert.is((await first).text, 'seen')
    const second = client.callTool('slow')
    // longer than tasks are gathered
    for (let count = 0; count < 25; count++) await looks.next()
    shelf.set('task 2', { status: 'completed', result: said('seen again') })
    assert.is((await second).text, 'seen again')
    assert.is(asked.all.length, 1)
  }
})

test('a broken task stream is reopened and starts with what was missed', async (t) => {
  const { client, shelf, asked } = await server(t, 60_000, (seen) => {
    const stream = listening(seen)
    stream.acknowledge()
    if (asked.all.length === 1) return void setImmediate(() => stream.response.destroy())
    shelf.set('task 1', { status: 'completed', result: said('after all') })
    stream.tell('notifications/tasks', shelf.flat('task 1'))
  })
  const call = client.callTool('slow')
  for (let times = 0; times < 2; times++) assert.equal(await asked.next(), { taskIds: ['task 1'] })
  assert.is((await call).text, 'after all')
})

test.run()
