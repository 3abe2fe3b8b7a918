import * as assert from 'uvu/assert'
import type { StartClientOptions } from 'caduceus/client'
import { type JsonObject, McpError } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { scriptedServer } from 'caduceus/testing'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch } from '../_raw.js'

const test = suite('questions that are tasks (2025-11-25)')
const related = 'io.modelcontextprotocol/related-task'
const form = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
}
const ada = { action: 'accept', content: { name: 'Ada' } } as const
const forever = () => new Promise<never>(() => {})

/** A server of 2025-11-25 that asks what the test says. */
async function asking(
  t: TestContext,
  options: Partial<StartClientOptions>,
  { protocolVersion = '2025-11-25' }: { readonly protocolVersion?: string } = {},
) {
  const serverInfo = { name: 'asking', version: '1' }
  const server = scriptedServer({ initialize: { protocolVersion, serverInfo, capabilities: {} } })
  const { client } = watch(t, { transport: server.transport, ...options })
  await client.ready()
  /** Asks for a task, and answers it. */
  const begin = async (task: object = {}, method = 'elicitation/create', params: object = form) => {
    const made = await server.request(method, { ...params, task })
    return made.task as { taskId: string; status: string; ttl: number; pollInterval: number }
  }
  const of = (method: string, { taskId }: { readonly taskId: string }): Promise<JsonObject> =>
    server.request(`tasks/${method}`, { taskId })
  return { client, server, begin, of }
}

test('only task capabilities with a handler are declared', async (t) => {
  const list = { list: {}, cancel: {} }
  const both = { sampling: { createMessage: {} }, elicitation: { create: {} } }
  const onSample = () => ({ role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' }) as const
  for (const [options, tasks] of [
    [{ onElicit: forever }, { ...list, requests: { elicitation: { create: {} } } }],
    [
      { onElicit: forever, onSample },
      { ...list, requests: both },
    ],
    [{ roots: [] }, undefined],
  ] as const) {
    const { server } = await asking(t, options)
    const { params } = await server.next('initialize')
    assert.equal((params?.capabilities as JsonObject | undefined)?.tasks, tasks)
  }
})

test('a question sent as a task gets a task at once; its result waits to be fetched', async (t) => {
  const answers = heard<typeof ada>()
  const { begin, of, server } = await asking(t, { onElicit: () => answers.next() })
  const task = await begin({ ttl: 60_000 })
  assert.is(task.status, 'working')
  assert.is(task.ttl, 60_000)
  assert.is((await of('get', task)).status, 'working')
  const result = of('result', task)
  answers.add(ada)
  assert.equal(await result, { ...ada, _meta: { [related]: { taskId: task.taskId } } })
  assert.is((await of('get', task)).status, 'completed')
  assert.equal((await of('result', task)).content, { name: 'Ada' })
  const { tasks } = await server.request('tasks/list')
  assert.equal(
    (tasks as { taskId: string }[]).map(({ taskId }) => taskId),
    [task.taskId],
  )
})

test('sampling may be a task, and names the server task it belongs to', async (t) => {
  const answer = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm1' } as const
  const { server, of } = await asking(t, {
    onSample: (params) => {
      assert.is('task' in params, false)
      return answer
    },
  })
  const params = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 }
  const _meta = { [related]: { taskId: 'of the server' } }
  const made = await server.request('sampling/createMessage', { ...params, task: {}, _meta })
  assert.equal(made._meta, _meta)
  const { model } = await of('result', made.task as { taskId: string })
  assert.is(model, 'm1')
})

test('a task survives a lost connection and is there in the next session', async (t) => {
  const answers = heard<typeof ada>()
  const { begin, of, server, client } = await asking(t, { onElicit: () => answers.next() })
  const task = await begin()
  server.drop()
  await client.reconnect()
  assert.is((await of('get', task)).status, 'working')
  answers.add(ada)
  assert.equal((await of('result', task)).content, { name: 'Ada' })
})

test('a failing handler fails its task, with a message that is safe to send', async (t) => {
  const { begin, of } = await asking(t, {
    onElicit: () => {
      throw new McpError(-1, 'User refused')
    },
  })
  const task = await begin()
  const error = await rejection(of('result', task))
  assert.is(error.code, -1)
  assert.is(error.message, 'User refused')
  assert.is((await of('get', task)).status, 'failed')
})

test('a cancelled task aborts its handler, and later requests for it are refused', async (t) => {
  const ended = heard<void>()
  const { begin, of } = await asking(t, {
    onElicit: (_params, { signal }) => {
      signal.addEventListener('abort', () => ended.add())
      return forever()
    },
  })
  const task = await begin()
  const result = rejection(of('result', task))
  assert.is((await of('cancel', task)).status, 'cancelled')
  await ended.next()
  assert.is((await result).code, -32602)
  assert.is((await rejection(of('cancel', task))).code, -32602)
  assert.is((await of('get', task)).status, 'cancelled')
})

test('an expired task is forgotten and its handler aborted', async (t) => {
  const clock = createFakeClock()
  const ended = heard<void>()
  const { begin, of } = await asking(t, {
    clock,
    onElicit: (_params, { signal }) => {
      signal.addEventListener('abort', () => ended.add())
      return forever()
    },
  })
  const task = await begin({ ttl: 1_000 })
  await clock.advance(1_000)
  await ended.next()
  assert.is((await rejection(of('get', task))).code, -32602)
  assert.is((await begin({ ttl: 1e12 })).ttl, 3_600_000)
  assert.is((await begin({ ttl: 'long' })).ttl, 600_000)
})

test('closing a client aborts its question handlers', async (t) => {
  const ended = heard<void>()
  const { begin, client } = await asking(t, {
    onElicit: (_params, { signal }) => {
      signal.addEventListener('abort', () => ended.add())
      return forever()
    },
  })
  await begin()
  await client.close()
  await ended.next()
})

test('the number of tasks is bounded, and undeclared questions are refused', async (t) => {
  const { begin, server } = await asking(t, { onElicit: forever })
  for (let count = 0; count < 100; count++) await begin()
  assert.is((await rejection(begin())).code, -32603)
  assert.is((await rejection(begin({}, 'sampling/createMessage', {}))).code, -32602)
  const url = { mode: 'url', message: 'm', url: 'https://example.com', elicitationId: '1' }
  assert.is((await rejection(begin({}, 'elicitation/create', url))).code, -32602)
  for (const [params, code] of [
    [{ taskId: 'of another' }, -32602],
    [{ taskId: 7 }, -32602],
    [undefined, -32602],
  ] as const)
    assert.is((await rejection(server.request('tasks/result', params))).code, code)
  assert.is((await rejection(server.request('tasks/list', { cursor: 'x' }))).code, -32602)
  assert.is((await rejection(server.request('tasks/update', { taskId: 'x' }))).code, -32601)
})

test('servers of older revisions, and clients without handlers, have no tasks', async (t) => {
  const older = await asking(t, { onElicit: () => ada }, { protocolVersion: '2025-06-18' })
  const result = await older.server.request('elicitation/create', { ...form, task: {} })
  assert.equal(result.content, { name: 'Ada' })
  assert.is((await rejection(older.server.request('tasks/list'))).code, -32601)
  const without = await asking(t, { roots: [] })
  assert.is((await rejection(without.server.request('tasks/list'))).code, -32601)
})

test.run()
