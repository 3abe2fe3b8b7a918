// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { McpError, metaKeys } from 'caduceus/protocol'
import type { Script, ScriptedServer } from 'caduceus/testing'
import { isObject } from '../../support/is-object.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'
import { core, count, extension, modern, said } from './_tasks.js'

const test = suite('calls that are run as tasks')

test('a tool that requires a task runs as one and answers like any other', async (t) => {
  const { client, server, shelf } = core(t, { taskSupport: 'required' })
  await client.listTools()
  const call = client.callTool('slow', { a: 1 })
  const { params } = await server.next('tools/call')
  assert.equal(params, { name: 'slow', arguments: { a: 1 }, task: {} })
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('done') })
  const result = await call
  assert.is(result.text, 'done')
  assert.is(count(server, 'tasks/result'), 1)
})

test('an unlisted tool that requires a task is detected by its refusal', async (t) => {
  const { client, server, shelf } = core(t, { taskSupport: 'required' })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('done') })
  assert.is((await call).text, 'done')
  assert.is(count(server, 'tools/call'), 2)
})

test('each concurrent call becomes a task when refused, with one tools/list', async (t) => {
  const refusals: (() => void)[] = []
  const script: Script<ScriptedServer> = {
    'tools/call': async ({ params }) => {
      if (params?.task !== undefined) return { task: shelf.core(shelf.make()) }
      await new Promise<void>((resolve) => refusals.push(resolve))
      throw new McpError(-32601, 'slow is a task only')
    },
  }
  const { client, server, shelf } = core(t, { taskSupport: 'required', script })
  const calls = [client.callTool('slow'), client.callTool('slow')]
  await server.next('tools/call')
  await server.next('tools/call')
  refusals[0]?.()
  await server.next('tasks/get')
  refusals[1]?.()
  await server.next('tasks/get')
  for (const id of ['task 1', 'task 2']) shelf.set(id, { status: 'completed', result: said(id) })
  const texts = await Promise.all(calls.map(async (call) => (await call).text))
  assert.equal(texts, ['task 1', 'task 2'])
  assert.is(count(server, 'tools/list'), 1)
})

test('a refusal in an error result is detected, too; other results are answers', async (t) => {
  const text = "MCP error -32601: Tool slow requires task augmentation (taskSupport: 'required')"
  for (const taskSupport of ['required', 'optional']) {
    const { client, server, shelf } = core(t, {
      taskSupport,
      script: {
        'tools/call': ({ params }) =>
          params?.task === undefined ? said(text, { isError: true }) : { task: shelf.core(shelf.make()) },
      },
    })
    const call = client.callTool('slow')
    if (taskSupport === 'required') {
      await server.next('tasks/get')
      shelf.set('task 1', { status: 'completed', result: said('done') })
    }
    assert.is((await call).text, taskSupport === 'required' ? 'done' : text)
  }
})

test('an optional task tool runs as a task if the call asks for it', async (t) => {
  const { client, server, shelf } = core(t)
  assert.is((await client.callTool('slow')).text, 'plain')
  await server.next('tools/call')
  const call = client.callTool('slow', {}, { task: { ttl: 5_000 } })
  const { params } = await server.next('tools/call')
  assert.equal(params?.task, { ttl: 5_000 })
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('as a task') })
  assert.is((await call).text, 'as a task')
})

test('on a server without tool tasks a call that asks for one runs plainly', async (t) => {
  const forbidden = core(t, { taskSupport: 'forbidden' })
  assert.is((await forbidden.client.callTool('slow', {}, { task: true })).text, 'plain')
  const without = core(t, { capabilities: {} })
  assert.is((await without.client.callTool('slow', {}, { task: true })).text, 'plain')
  assert.is(count(without.server, 'tools/list'), 0)
})

test('2026-07-28: the server decides on a task, and each request allows it', async (t) => {
  const { client, server, shelf } = modern(t)
  const call = client.callTool('slow', { a: 1 })
  const { params } = await server.next('tools/call')
  assert.equal(isObject(params?._meta) && params._meta[metaKeys.clientCapabilities], {
    extensions: { [extension]: {} },
  })
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('done', { isError: true }) })
  const result = await call
  assert.is(result.text, 'done')
  assert.is(result.isError, true)
  assert.is(count(server, 'tasks/result'), 0)
})

test('request() of a tool resolves with the result, too', async (t) => {
  const { client, server, shelf } = modern(t)
  const call = client.request('tools/call', { name: 'slow' })
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('done') })
  assert.equal((await call).content, [{ type: 'text', text: 'done' }])
})

test('a failed task rejects with the error of the call, in both revisions', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf } = start(t, start === core ? { taskSupport: 'required' } : {})
    const call = rejection(client.callTool('slow'))
    await server.next('tasks/get')
    shelf.set('task 1', {
      status: 'failed',
      error: { code: -32603, message: 'broken', data: { retryable: true } },
    })
    const error = await call
    assert.instance(error, McpError)
    assert.is(error.code, -32603)
    assert.is(error.message, 'broken')
    assert.is(error.retryable, true)
    assert.is(count(server, 'tasks/cancel'), 0)
    assert.is(count(server, 'tasks/get'), 2)
  }
})

test('the result of a failed tool is its result (2025-11-25)', async (t) => {
  const { client, server, shelf } = core(t, { taskSupport: 'required' })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'failed', result: said('no such file', { isError: true }) })
  const result = await call
  assert.is(result.isError, true)
  assert.is(result.text, 'no such file')
})

test('a task cancelled elsewhere rejects and says so', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf } = start(t, start === core ? { taskSupport: 'required' } : {})
    const call = rejection(client.callTool('slow'))
    await server.next('tasks/get')
    shelf.set('task 1', { status: 'cancelled', statusMessage: 'by the operator' })
    const error = await call
    assert.is(error.code, 'TASK_CANCELLED')
    assert.match(error.message, 'by the operator')
    assert.equal(error.data, { sent: true, taskId: 'task 1' })
    assert.is(count(server, 'tasks/cancel'), 0)
  }
})

test('a forgotten task rejects as lost, and the call may be retried', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf } = start(t, start === core ? { taskSupport: 'required' } : {})
    const call = rejection(client.callTool('slow'))
    await server.next('tasks/get')
    shelf.tasks.clear()
    const error = await call
    assert.is(error.code, 'TASK_LOST')
    assert.is(error.retryable, true)
    assert.equal(error.data, { sent: true, taskId: 'task 1' })
    assert.is(count(server, 'tasks/cancel'), 0)
  }
})

test('aborting a call rejects at once and cancels the task', async (t) => {
  for (const start of [core, modern]) {
    const { client, server } = start(t, start === core ? { taskSupport: 'required' } : {})
    const controller = new AbortController()
    const call = rejection(client.callTool('slow', {}, { signal: controller.signal }))
    await server.next('tasks/get')
    controller.abort(new Error('enough'))
    const error = await call
    assert.is(error.code, 'CANCELLED')
    assert.equal(error.data, { sent: true, taskId: 'task 1' })
    assert.is((await server.next('tasks/cancel')).params?.taskId, 'task 1')
  }
})

test('a call aborted before its task has an id cancels that task later (2025-11-25)', async (t) => {
  const gate = heard<void>()
  const { client, server, shelf } = core(t, {
    script: { 'tools/call': () => gate.next().then(() => ({ task: shelf.core(shelf.make()) })) },
  })
  const controller = new AbortController()
  const call = rejection(client.callTool('slow', {}, { task: true, signal: controller.signal }))
  await server.next('tools/call')
  controller.abort()
  assert.is((await call).code, 'CANCELLED')
  await client.ping()
  gate.add()
  assert.is((await server.next('tasks/cancel')).params?.taskId, 'task 1')
  assert.is(count(server, 'notifications/cancelled'), 0)
})

test('a call that times out rejects at once and cancels the task', async (t) => {
  for (const start of [core, modern]) {
    const { client, server } = start(t, start === core ? { taskSupport: 'required' } : {})
    const error = await rejection(client.callTool('slow', {}, { timeout: 200 }))
    assert.is(error.code, 'TIMEOUT')
    assert.is(error.retryable, true)
    assert.equal(error.data, { sent: true, taskId: 'task 1' })
    assert.is((await server.next('tasks/cancel')).params?.taskId, 'task 1')
  }
})

test('a task survives a lost connection', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf } = start(t, start === core ? { taskSupport: 'required' } : {})
    const call = client.callTool('slow')
    await server.next('tasks/get')
    server.drop()
    await server.next('tasks/get')
    server.refuse(2)
    server.drop()
    shelf.set('task 1', { status: 'completed', result: said('after all') })
    assert.is((await call).text, 'after all')
    assert.is(server.connections, 3)
  }
})

test('a task survives a crash of the client', async (t) => {
  for (const start of [core, modern]) {
    const { client, server, shelf, kill } = start(t, start === core ? { taskSupport: 'required' } : {})
    const call = client.callTool('slow')
    await server.next('tasks/get')
    kill('client')
    await server.next('tasks/get')
    kill('transport')
    shelf.set('task 1', { status: 'completed', result: said('after all') })
    assert.is((await call).text, 'after all')
  }
})

test('a closed client leaves its tasks running and names them', async (t) => {
  const { client, server } = core(t, { taskSupport: 'required' })
  const call = rejection(client.callTool('slow'))
  await server.next('tasks/get')
  await client.close()
  const error = await call
  assert.is(error.code, 'CLOSED')
  assert.is((error.data as { taskId?: string }).taskId, 'task 1')
  assert.is(count(server, 'tasks/cancel'), 0)
})

test.run()
