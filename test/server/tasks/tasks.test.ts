import * as assert from 'uvu/assert'
import { defineTool, ToolError } from 'caduceus/server'
import { RawClient } from '../_client.js'
import { reportLog } from '../_servers.js'
import { suite } from '../../support/suite.js'
import { asks, at, crashes, extension, fail, greet, held, ModernClient, plain, startTasks } from './_tasks.js'

const test = suite('tasks of both eras')
const related = 'io.modelcontextprotocol/related-task'

test('a 2026-07-28 call becomes a task with an inline outcome', async (t) => {
  const { modern } = await startTasks(t, [greet])
  const { result } = await modern.call('greet', { name: 'Ada' })
  assert.is(result?.resultType, 'task')
  assert.is(result?.status, 'working')
  assert.is(result?.ttlMs, 3_600_000)
  assert.is(result?.pollIntervalMs, 1_000)
  assert.match(String(result?.createdAt), /^\d{4}-\d\d-\d\dT.*Z$/)
  for (const field of ['task', 'ttl', 'result', 'content', 'requestState'])
    assert.not(field in (result ?? {}))
  const done = await modern.until(String(result?.taskId), 'completed')
  assert.is(done.resultType, 'complete')
  assert.is((done.result as { content: { text: string }[] }).content[0]?.text, 'hello Ada')
})

test('a 2025-11-25 call becomes a task on request, and its result is awaited', async (t) => {
  const { tool, gate } = held()
  const { session } = await startTasks(t, [tool])
  const client = await session()
  const { result } = await client.ask('tools/call', { name: 'held', task: { ttl: 60_000 } })
  const { taskId, status, ttl, pollInterval } = at<Record<string, unknown>>(result, 'task')
  assert.equal([status, ttl, pollInterval], ['working', 60_000, 1_000])
  const waiting = client.ask('tasks/result', { taskId })
  assert.is((await client.ask('tasks/get', { taskId })).result?.status, 'working')
  gate.resolve('done')
  const answer = await waiting
  assert.is(answer.result?.content?.[0]?.text, 'done')
  assert.equal(at(answer.result, '_meta', related), { taskId })
  assert.is((await client.ask('tasks/get', { taskId })).result?.status, 'completed')
})

test('without the extension or task, an optional tool is a call, a required one fails', async (t) => {
  const { modern, session } = await startTasks(t, [greet, fail])
  modern.capabilities = {}
  assert.is((await modern.call('greet')).result?.content?.[0]?.text, 'hello nobody')
  const refused = await modern.call('fail')
  assert.is(refused.error?.code, -32021)
  assert.equal(refused.error?.data?.requiredCapabilities, { extensions: { [extension]: {} } })
  const client = await session()
  assert.is((await client.call('greet')).result?.content?.[0]?.text, 'hello nobody')
  assert.is((await client.call('fail')).error?.code, -32601)
})

test('a tool without tasks refuses one in 2025-11-25 and just runs in 2026-07-28', async (t) => {
  const { modern, session } = await startTasks(t, [greet, plain])
  assert.is((await modern.call('plain')).result?.content?.[0]?.text, 'plain')
  const client = await session()
  assert.is((await client.ask('tools/call', { name: 'plain', task: {} })).error?.code, -32601)
})

test('without tasks the server ignores the field, and knows none of the methods', async (t) => {
  const { modern, session } = await startTasks(t, [plain])
  const client = await session()
  const called = await client.ask('tools/call', { name: 'plain', task: {} })
  assert.is(called.result?.content?.[0]?.text, 'plain')
  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel'])
    assert.is((await client.ask(method, { taskId: 'x' })).error?.code, -32601)
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    assert.is((await modern.ask(method, { taskId: 'x' })).error?.code, -32601)
})

test('task declarations fit the revision, in capabilities and tools', async (t) => {
  const { server, modern, session } = await startTasks(t, [greet, fail, plain])
  const discovered = await modern.ask('server/discover')
  const capabilities = at<object>(discovered.result, 'capabilities')
  assert.equal(at(capabilities, 'extensions'), { [extension]: {} })
  assert.not('tasks' in capabilities)
  const raw = new RawClient(t, server.url)
  const opened = await raw.post({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  })
  const told = at<object>(opened.messages[0], 'result', 'capabilities')
  // nobody can tell anonymous clients apart, so that they have no list
  assert.equal(at(told, 'tasks'), { cancel: {}, requests: { tools: { call: {} } } })
  assert.not('extensions' in told)
  const client = await session()
  const listed = await client.ask('tools/list')
  const tools = at<object[]>(listed.result, 'tools')
  const support = tools.map((tool) => at(tool, 'execution', 'taskSupport'))
  assert.equal(support, ['optional', 'required', undefined])
  const old = await new RawClient(t, server.url).open('raw', '2025-06-18')
  assert.equal(await old.list(), ['greet', 'plain'])
  assert.is((await old.call('fail')).error?.code, -32601)
  assert.is((await old.ask('tasks/list')).error?.code, -32601)
})

test('an error result is failed in 2025-11-25, completed in 2026-07-28', async (t) => {
  const { modern, session } = await startTasks(t, [fail])
  const id = await modern.start('fail')
  const done = await modern.until(id, 'completed')
  assert.is((done.result as { isError: boolean }).isError, true)
  const client = await session()
  const { result } = await client.ask('tasks/get', { taskId: id })
  assert.is(result?.status, 'failed')
  assert.is(result?.statusMessage, 'no luck')
  assert.is((await client.ask('tasks/result', { taskId: id })).result?.isError, true)
})

test('a crashed handler fails its task, whose result names the report', async (t) => {
  const { logger, reports } = reportLog()
  const { modern, session } = await startTasks(t, [crashes, greet], { logger })
  const done = await modern.until(await modern.start('crashes'), 'completed')
  const text = `Internal error (report ${reports[0]})`
  const { content, isError } = done.result as { content: object[]; isError: boolean }
  assert.equal([content, isError], [[{ type: 'text', text }], true])
  const client = await session()
  const { result } = await client.ask('tasks/get', { taskId: done.taskId })
  assert.equal([result?.status, result?.statusMessage], ['failed', text])
  assert.is((await client.ask('tasks/result', { taskId: done.taskId })).result?.isError, true)
  await modern.until(await modern.start('greet'), 'completed')
})

test('a cancelled task stays cancelled, and its signal is aborted', async (t) => {
  const { tool, gate, begun, signals } = held()
  const { modern, session } = await startTasks(t, [tool])
  const id = await modern.start('held')
  await begun
  const acknowledged = await modern.ask('tasks/cancel', { taskId: id })
  assert.is(acknowledged.result?.resultType, 'complete')
  assert.not('status' in (acknowledged.result ?? {}))
  gate.resolve('too late')
  assert.is((await modern.get(id)).result?.status, 'cancelled')
  assert.is(signals[0]?.aborted, true)
  assert.is((await modern.ask('tasks/cancel', { taskId: id })).result?.resultType, 'complete')
  const client = await session()
  assert.is((await client.ask('tasks/cancel', { taskId: id })).error?.code, -32602)
  const second = await client.ask('tools/call', { name: 'held', task: {} })
  const again = await client.ask('tasks/cancel', { taskId: at(second.result, 'task', 'taskId') })
  assert.ok(['completed', 'cancelled'].includes(String(again.result?.status ?? 'completed')))
})

test('2026-07-28 questions come with the task, answered one by one', async (t) => {
  const { modern } = await startTasks(t, [asks])
  const id = await modern.start('asks')
  const first = await modern.until(id, 'input_required')
  const asked = first.inputRequests as Record<string, { method: string; params: { message: string } }>
  assert.is(asked.first?.method, 'elicitation/create')
  assert.is(asked.first?.params.message, 'Your first name?')
  const answer = (key: string, name: string) => ({ [key]: { action: 'accept', content: { name } } })
  const wrong = await modern.ask('tasks/update', { taskId: id, inputResponses: { first: 7 } })
  assert.is(wrong.error?.code, -32602)
  const unknown = await modern.ask('tasks/update', { taskId: id, inputResponses: answer('other', 'x') })
  assert.is(unknown.result?.resultType, 'complete')
  await modern.ask('tasks/update', { taskId: id, inputResponses: answer('first', 'Ada') })
  for (;;) {
    const { result } = await modern.get(id)
    if ('last' in ((result?.inputRequests as object) ?? {})) break
  }
  // the first question is answered: a copy of its answer changes nothing
  await modern.ask('tasks/update', { taskId: id, inputResponses: answer('first', 'Eve') })
  await modern.ask('tasks/update', { taskId: id, inputResponses: answer('last', 'Lovelace') })
  const done = await modern.until(id, 'completed')
  assert.is((done.result as { content: { text: string }[] }).content[0]?.text, 'Ada Lovelace')
  const late = await modern.ask('tasks/update', { taskId: id, inputResponses: answer('last', 'Byron') })
  assert.is(late.result?.resultType, 'complete')
})

test('2025-11-25 task questions use the stream of tasks/result and name the task', async (t) => {
  const { session } = await startTasks(t, [asks])
  const client = await session()
  const { result } = await client.ask('tools/call', { name: 'asks', task: {} })
  const taskId = at<string>(result, 'task', 'taskId')
  const stream = await client.stream({
    jsonrpc: '2.0',
    id: 'wait',
    method: 'tasks/result',
    params: { taskId },
  })
  for (const name of ['Ada', 'Lovelace']) {
    let question = await stream.next()
    while (question.method === undefined) question = await stream.next()
    assert.is(question.method, 'elicitation/create')
    assert.equal(at(question.params, '_meta', related), { taskId })
    assert.is((await client.ask('tasks/get', { taskId })).result?.status, 'input_required')
    await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name } } })
  }
  const answer = await stream.next()
  assert.is(answer.result?.content?.[0]?.text, 'Ada Lovelace')
})

test('subscriptions/listen sends the state of tasks and each change', async (t) => {
  const { modern, server } = await startTasks(t, [asks, greet])
  const id = await modern.start('asks')
  await modern.until(id, 'input_required')
  const done = await modern.start('greet')
  await modern.until(done, 'completed')
  const stream = await modern.listen({ taskIds: [id, done, 'unknown'] })
  const acknowledged = await stream.next()
  assert.is(acknowledged.method, 'notifications/subscriptions/acknowledged')
  assert.equal(at(acknowledged.params, 'notifications'), { taskIds: [id, done] })
  const first = [await stream.next(), await stream.next()]
  assert.equal(
    first.map(({ method, params }) => [method, params?.taskId, params?.status]),
    [
      ['notifications/tasks', id, 'input_required'],
      ['notifications/tasks', done, 'completed'],
    ],
  )
  assert.equal(Object.keys(at(first[0]?.params, 'inputRequests')), ['first'])
  assert.is(at(first[1]?.params, 'result', 'content', '0', 'text'), 'hello nobody')
  assert.is(at(first[0]?.params, '_meta', 'io.modelcontextprotocol/subscriptionId'), 1)
  await modern.ask('tasks/cancel', { taskId: id })
  assert.is((await stream.next()).params?.status, 'cancelled')
  stream.close()
  const other = new ModernClient(t, server.url)
  other.capabilities = {}
  const refused = await other.ask('subscriptions/listen', { notifications: { taskIds: [done] } })
  assert.is(refused.error?.code, -32021)
  assert.equal(Object.keys(at(refused.error?.data, 'requiredCapabilities', 'extensions')), [
    'io.modelcontextprotocol/tasks',
  ])
  const silent = await other.listen({ toolsListChanged: true })
  assert.equal(at((await silent.next()).params, 'notifications'), { toolsListChanged: true })
  silent.close()
})

test('questions before a call becomes a task are asked once', async (t) => {
  const runs: string[] = []
  const question = { message: 'Your name?', requestedSchema: { type: 'object' as const, properties: {} } }
  const tool = defineTool({
    name: 'prepared',
    task: 'optional',
    async prepare(_args, ctx) {
      await ctx.once('first', () => void runs.push('step'))
      await ctx.elicit('name', question)
    },
    async run(_args, ctx) {
      runs.push('run')
      return String((await ctx.elicit('name', question)).content?.name)
    },
  })
  const refuses = defineTool({
    name: 'refuses',
    task: 'optional',
    prepare() {
      throw new ToolError('not today')
    },
    run: () => 'never',
  })
  const breaks = defineTool({
    name: 'breaks',
    task: 'optional',
    prepare() {
      throw new Error('secret')
    },
    run: () => 'never',
  })
  const { modern, session } = await startTasks(t, [tool, refuses, breaks])
  const asked = (await modern.call('prepared')).result
  assert.is(asked?.resultType, 'input_required')
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
  const retry = { name: 'prepared', arguments: {}, inputResponses, requestState: asked?.requestState }
  const { result } = await modern.ask('tools/call', retry)
  assert.is(result?.resultType, 'task')
  const done = await modern.until(String(result?.taskId), 'completed')
  assert.is(at(done, 'result', 'content', '0', 'text'), 'Ada')
  assert.equal(runs, ['step', 'run'])
  const refused = await modern.call('refuses')
  assert.is(refused.result?.resultType, 'complete')
  assert.is(refused.result?.isError, true)
  const broken = await modern.call('breaks')
  assert.equal([broken.result?.isError, broken.result?.content?.[0]?.text], [true, 'Internal error'])
  const client = await session()
  const created = await client.ask('tools/call', { name: 'refuses', task: {} })
  const answer = await client.ask('tasks/result', { taskId: at(created.result, 'task', 'taskId') })
  assert.is(answer.result?.content?.[0]?.text, 'not today')
})

test.slow(
  'an isolated handler runs as a task, asks, and is killed with it',
  async (t) => {
    const module = new URL('./_isolated.js', import.meta.url)
    const tool = defineTool({ name: 'isolated', task: 'optional', isolate: 'thread', module })
    const { modern } = await startTasks(t, [tool, greet])
    const id = await modern.start('isolated')
    await modern.until(id, 'input_required')
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    await modern.ask('tasks/update', { taskId: id, inputResponses })
    const done = await modern.until(id, 'completed')
    assert.is(at(done, 'result', 'content', '0', 'text'), 'Ada, 1 step')
    const other = await modern.start('isolated')
    await modern.until(other, 'input_required')
    await modern.ask('tasks/cancel', { taskId: other })
    assert.is((await modern.get(other)).result?.status, 'cancelled')
  },
  { timeout: 20_000 },
)

test('the GET stream of its session gets the task status', async (t) => {
  const { session } = await startTasks(t, [asks])
  const client = await session()
  const stream = await client.listen()
  const { result } = await client.ask('tools/call', { name: 'asks', task: {} })
  const taskId = at<string>(result, 'task', 'taskId')
  const asked = await stream.next()
  assert.is(asked.method, 'notifications/tasks/status')
  assert.equal([asked.params?.taskId, asked.params?.status], [taskId, 'input_required'])
  await client.ask('tasks/cancel', { taskId })
  const cancelled = await stream.next()
  assert.is(cancelled.params?.status, 'cancelled')
  assert.is(cancelled.params?.ttl, 3_600_000)
  stream.close()
})

test('a required task tool cannot be added to a server without tasks', async (t) => {
  const { server } = await startTasks(t, [plain])
  const refused = await server.addTool(fail).catch((error: Error) => error)
  assert.match(String(refused), /tool "fail": task: this server has no tasks/)
  await server.addTool(greet)
  const other = await startTasks(t, [plain], { tasks: {} })
  await other.server.addTool(fail)
  await other.modern.until(await other.modern.start('fail'), 'completed')
})

test.run()
