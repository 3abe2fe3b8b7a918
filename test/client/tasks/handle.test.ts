import * as assert from 'uvu/assert'
import { startClientPool } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'
import { core, count, modern, said } from './_tasks.js'

const test = suite('client.tasks')

test('a task is started, polled, awaited and cancelled by its id', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf } = start(t)
    const { start: begin, get, result, cancel } = client.tasks
    const { task, result: none } = await begin('slow', { a: 1 })
    assert.is(none, undefined)
    assert.equal(task, shelf.core('task 1'))
    assert.equal(await get('task 1'), shelf.core('task 1'))
    const waiting = result('task 1')
    await server.next('tasks/get')
    shelf.set('task 1', { status: 'completed', result: said('done') })
    assert.is((await waiting).text, 'done')
    assert.is((await get('task 1')).status, 'completed')
    await begin('slow')
    await cancel('task 2')
    assert.is((await get('task 2')).status, 'cancelled')
    assert.is((await rejection(result('task 2'))).code, 'TASK_CANCELLED')
  }
})

test('a timed out result() leaves the task, and a timed out adopt() cancels it', async (t) => {
  for (const start of [core, modern]) {
    const { client, server } = start(t)
    await client.tasks.start('slow')
    const left = await rejection(client.tasks.result('task 1', { timeout: 100 }))
    assert.is(left.code, 'TIMEOUT')
    assert.is(count(server, 'tasks/cancel'), 0)
    const adopted = await rejection(client.tasks.adopt('task 1', { timeout: 100 }))
    assert.is(adopted.code, 'TIMEOUT')
    await server.next('tasks/cancel')
  }
})

test('another client continues a task by its id', async (t) => {
  const { client, server, shelf } = core(t)
  await client.tasks.start('slow')
  await client.close()
  const { client: other } = core(t, { script: { 'tasks/get': () => shelf.core('task 1') } })
  const adopted = other.tasks.adopt('task 1', { timeout: 5_000 })
  shelf.set('task 1', { status: 'cancelled' })
  assert.is((await rejection(adopted)).code, 'TASK_CANCELLED')
  assert.is(count(server, 'tasks/cancel'), 0)
})

test('an unknown task id is a permanent error', async (t) => {
  for (const start of [core, modern]) {
    const { client } = start(t)
    for (const method of ['get', 'result', 'adopt'] as const) {
      const error = await rejection(client.tasks[method]('nobody'))
      assert.is(error.code, 'TASK_LOST')
      assert.is(error.retryable, false)
      assert.is((error.data as { taskId: string }).taskId, 'nobody')
    }
  }
})

test('tasks are listed where the revision has such a list', async (t) => {
  const first = core(t)
  await first.client.tasks.start('slow')
  assert.equal(await first.client.tasks.list(), { tasks: [first.shelf.core('task 1')] })
  const second = modern(t)
  assert.is((await rejection(second.client.tasks.list())).code, 'NOT_SUPPORTED')
})

test('an immediate answer makes no task (2026-07-28)', async (t) => {
  const { client } = modern(t, { script: { 'tools/call': { resultType: 'complete', ...said('at once') } } })
  const { task, result } = await client.tasks.start('slow')
  assert.is(task, undefined)
  assert.is(result?.text, 'at once')
})

test('a server without tasks, and a tool without them, are distinct from failures', async (t) => {
  const without = core(t, { capabilities: {} }).client.tasks
  for (const made of [without.start('slow'), without.get('a'), without.result('a'), without.cancel('a')]) {
    const error = await rejection(made)
    assert.is(error.code, 'NOT_SUPPORTED')
    assert.is(error.retryable, false)
    assert.match(error.message, 'core does not offer this, in revision 2025-11-25')
  }
  const forbidden = await rejection(core(t, { taskSupport: 'forbidden' }).client.tasks.start('slow'))
  assert.is(forbidden.code, 'NOT_SUPPORTED')
  assert.match(forbidden.message, 'slow may not be run as a task')
})

test('wrong options and task ids are refused in the caller', async (t) => {
  const { client } = core(t)
  for (const task of [1, 'x', { ttl: 0 }, { tll: 1 }])
    assert.is((await rejection(client.callTool('slow', {}, { task: task as never }))).code, 'BAD_OPTION')
  for (const id of ['', 1, undefined]) {
    assert.is((await rejection(client.tasks.get(id as string))).code, 'BAD_OPTION')
    assert.is((await rejection(client.tasks.adopt(id as string))).code, 'BAD_OPTION')
  }
  assert.is((await rejection(client.request('ping', {}, { task: true } as never))).code, 'BAD_OPTION')
})

test('the poll interval is that of the server, within bounds, and leaves no timer', async (t) => {
  const clock = createFakeClock()
  for (const [said_, pause] of [
    [undefined, 1_000],
    [0, 50],
    [5_000, 5_000],
    [10_000_000, 60_000],
  ] as const) {
    const { client, server, shelf } = core(t, { client: { clock } })
    shelf.pollInterval = said_
    await client.tasks.start('slow')
    await client.tasks.get('task 1')
    const before = clock.pending
    const waiting = client.tasks.result('task 1', { timeout: 1_000_000 })
    await clock.advance(0)
    for (let looks = 2; looks < 4; looks++) {
      assert.is(count(server, 'tasks/get'), looks)
      await clock.advance(pause - 1)
      assert.is(count(server, 'tasks/get'), looks)
      await clock.advance(1)
    }
    shelf.set('task 1', { status: 'completed', result: said('done') })
    await clock.advance(pause)
    assert.is((await waiting).text, 'done')
    assert.ok(clock.pending <= before, `${clock.pending} timers, ${before} before`)
    await client.close()
  }
})

test.slow('a pool runs a task on the member that began it', async (t) => {
  const { client, server, shelf } = core(t, { taskSupport: 'required' })
  // the server has one connection
  await client.close()
  await using pool = await startClientPool({ transport: server.transport, size: 1, logger: false })
  const call = pool.callTool('slow', {}, { task: { ttl: 1_000 } })
  await server.next('tasks/get')
  server.drop()
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('done') })
  assert.is((await call).text, 'done')
})

test.run()
