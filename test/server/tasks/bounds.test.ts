// second tier: time
import * as assert from 'uvu/assert'
import { defineTool, type TaskStore } from 'caduceus/server'
import { fakeClock } from 'caduceus/testing'
import { RawClient } from '../_client.js'
import { as, byName } from '../_principals.js'
import { suite } from '../../support/suite.js'
import { at, greet, held, keeping, keptTasks, ModernClient, startTasks } from './_tasks.js'

const test = suite('bounds of tasks')

test('task limits refuse calls until room returns', async (t) => {
  const { tool, gate } = held()
  const options = { http: { authenticate: byName }, tasks: { maxTasks: 3, maxTasksPerClient: 2 } }
  const { server } = await startTasks(t, [tool], options)
  const [ada, eve] = ['ada', 'eve'].map((name) => new ModernClient(t, server.url, as(name)))
  assert.ok(ada && eve)
  await ada.start('held')
  await ada.start('held')
  const refused = await ada.call('held')
  assert.is(refused.error?.code, 429)
  assert.is(refused.error?.data?.retryable, true)
  await eve.start('held')
  assert.is((await eve.call('held')).error?.code, 429)
  gate.resolve('')
})

test('a client has room again when tasks are over, and the store keeps none', async (t) => {
  const clock = fakeClock()
  const memory = keptTasks()
  const { tool } = held()
  const { server } = await startTasks(t, [tool, greet], {
    http: { authenticate: byName },
    tasks: { maxTasksPerClient: 2, ttl: 60_000 },
    engine: keeping(memory),
    clock,
  })
  const ada = new ModernClient(t, server.url, as('ada'))
  const kept = async () => {
    let count = 0
    for await (const _ of memory.list()) count += 1
    return count
  }
  const ids = [await ada.start('greet')]
  for (let round = 0; round < 4; round += 1) {
    await clock.advance(30_000)
    // one is over, or at work; the one that began 30 s later stays
    ids.push(await ada.start(round % 2 === 0 ? 'held' : 'greet'))
    assert.is((await ada.call('held')).error?.code, 429, `${round}`)
  }
  await clock.advance(60_000)
  for (const id of ids) assert.is((await ada.get(id)).error?.code, -32602)
  while ((await kept()) > 0) await new Promise((resolve) => setImmediate(resolve))
})

test('an oversized result fails the task, and an oversized step rejects', async (t) => {
  const large = defineTool({ name: 'large', task: 'optional', run: () => 'x'.repeat(20_000) })
  const step = defineTool({
    name: 'step',
    task: 'optional',
    run: (_args, ctx) =>
      ctx.once('large', () => 'x'.repeat(20_000)).catch((error: { code?: string }) => String(error.code)),
  })
  const { modern } = await startTasks(t, [large, step], { tasks: { maxBytes: 10_000 } })
  const failed = await modern.until(await modern.start('large'), 'failed')
  assert.match(String(failed.statusMessage), /too large/)
  const done = await modern.until(await modern.start('step'), 'completed')
  assert.is(at<{ text: string }[]>(done, 'result', 'content')[0]?.text, 'BAD_STATE')
})

test('a failing store refuses tasks and reports no unsaved end', async (t) => {
  const clock = fakeClock()
  const memory = keptTasks()
  let isBroken = false
  const store: TaskStore = {
    ...memory,
    durable: false,
    save: (record) => {
      if (isBroken) throw new Error('the disk is full')
      return memory.save(record)
    },
  }
  const { tool, gate } = held()
  const { modern } = await startTasks(t, [tool], { clock, engine: keeping(store) })
  const id = await modern.start('held')
  isBroken = true
  assert.ok((await modern.call('held')).error)
  gate.resolve('done')
  await clock.advance(2_500)
  assert.is((await modern.get(id)).result?.status, 'working')
  isBroken = false
  await clock.advance(1_000)
  await modern.until(id, 'completed')
})

test(
  'a thousand tasks stay separate, and 64 waits of a session block no request',
  async (t) => {
    const { tool, gate } = held()
    const { server } = await startTasks(t, [tool, greet], { http: { authenticate: byName } })
    const client = new RawClient(t, server.url)
    client.own = as('ada')
    await client.open()
    const ids: string[] = []
    for (let hundred = 0; hundred < 10; hundred += 1) {
      const started = Array.from({ length: 100 }, () => client.ask('tools/call', { name: 'held', task: {} }))
      for (const { result } of await Promise.all(started)) ids.push(at<string>(result, 'task', 'taskId'))
    }
    assert.is(new Set(ids).size, 1_000)
    const waiting = ids.slice(0, 100).map((taskId) => client.ask('tasks/result', { taskId }))
    assert.is((await client.ask('tasks/get', { taskId: ids[0] })).result?.status, 'working')
    const listed: unknown[] = []
    let cursor: unknown
    do {
      const { result } = await client.ask('tasks/list', cursor === undefined ? {} : { cursor })
      listed.push(...at<object[]>(result, 'tasks').map((task) => at(task, 'taskId')))
      cursor = result?.nextCursor
    } while (cursor !== undefined)
    // the hundred of one time come by many connections
    assert.equal(listed.sort(), ids.sort())
    assert.is((await client.ask('tasks/list', { cursor: 'forged' })).error?.code, -32602)
    gate.resolve('done')
    for (const answer of await Promise.all(waiting)) assert.is(answer.result?.content?.[0]?.text, 'done')
    for (const taskId of ids)
      assert.is((await client.ask('tasks/get', { taskId })).result?.status, 'completed')
  },
  { timeout: 30_000 },
)

test('a cancel that races an end leaves exactly one outcome', async (t) => {
  const quick = defineTool({ name: 'quick', task: 'optional', run: async () => 'quick' })
  const { modern } = await startTasks(t, [quick])
  const ends = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const taskId = await modern.start('quick')
      await Promise.all([modern.ask('tasks/cancel', { taskId }), modern.get(taskId)])
      const [first, second] = [(await modern.get(taskId)).result, (await modern.get(taskId)).result]
      assert.equal(first, second)
      assert.is(first?.status === 'completed', 'result' in (first ?? {}))
      return first?.status
    }),
  )
  assert.ok(ends.every((status) => status === 'completed' || status === 'cancelled'))
})

test.run()
