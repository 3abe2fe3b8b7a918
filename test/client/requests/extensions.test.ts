import * as assert from 'uvu/assert'
import type { CallOptions, StartClientOptions } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { json, listen, result, status } from '../../transports/_http.js'
import { complete, discover, tool } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('extensions')

const tasks = 'io.modelcontextprotocol/tasks'
const task = { resultType: 'task', taskId: 't 1', status: 'working', ttlMs: null }

/** A server of 2026-07-28 that answers every call with a task, and its own methods with something else. */
async function start(t: TestContext, options: Partial<StartClientOptions> = {}) {
  const { url, seen } = await listen(t, (one) => {
    const { id, method } = one.message
    if (method === 'server/discover')
      return discover(one, { tools: {}, extensions: { [tasks]: {}, 'com.example/off': false } })
    if (id === undefined) return status(one, 202)
    if (method === 'tasks/get') return json(one, result(one, { ...complete, status: 'completed' }))
    if (method === 'tools/list') return json(one, result(one, { ...task, ttlMs: 60_000 }))
    return method === 'custom/plain' ? tool(one, 'plain') : json(one, result(one, task))
  })
  const { client } = watch(t, { transport: http(url), era: 'modern', ...options })
  const calls = () => seen.all.filter(({ message }) => message.method !== 'server/discover')
  return { client, calls }
}

const taking: CallOptions = { resultTypes: ['task'] }

test('a result of an unrequested type is invalid for every method', async (t) => {
  const { client } = await start(t)
  for (const method of ['custom/any', 'tools/call'])
    for (const options of [{}, { resultTypes: ['other'] }]) {
      // a call that has become a task is waited for
      if (method === 'tools/call' && options.resultTypes === undefined) continue
      const error = await rejection(client.request<string>(method, { name: 'any' }, options))
      assert.is(error.code, 'INVALID_RESPONSE')
      assert.match(error.message, 'resultType')
    }
})

test('a result type of the caller types standard and custom methods', async (t) => {
  const { client } = await start(t)
  for (const method of ['custom/any', 'tools/call'])
    assert.equal(await client.request<string>(method, { name: 'any' }, taking), task)
  assert.equal((await client.request('custom/plain', {}, taking)).resultType, 'complete')
})

test('a result read with a custom type is not cached for others', async (t) => {
  const { client, calls } = await start(t)
  for (const _ of [1, 2]) assert.is((await client.request<string>('tools/list', {}, taking)).taskId, 't 1')
  assert.is(calls().length, 2)
})

test('callTool always resolves with a tool result', async (t) => {
  const { client, calls } = await start(t)
  assert.is((await rejection(client.callTool('any', {}, taking))).code, 'BAD_OPTION')
  assert.is((await rejection(client.callTool('any'))).code, 'INVALID_RESPONSE')
  assert.is(calls().length, 1)
})

test('extensions are declared with each request, and those of the server can be read', async (t) => {
  const { client, calls } = await start(t, { extensions: { [tasks]: {}, 'com.example/x': { a: [1] } } })
  await client.request('custom/plain')
  const meta = calls()[0]?.message.params?._meta as Record<string, unknown>
  assert.equal(meta['io.modelcontextprotocol/clientCapabilities'], {
    extensions: { [tasks]: {}, 'com.example/x': { a: [1] } },
  })
  assert.is(client.supports(`extensions.${tasks}`), true)
  for (const id of ['com.example/off', 'com.example/x', 'io', 'io.modelcontextprotocol'])
    assert.is(client.supports(`extensions.${id}`), false, id)
})

test('the requests of the tasks extension name their task in a header', async (t) => {
  const { client, calls } = await start(t)
  await client.request('tasks/get', { taskId: 't 1' })
  await client.request('tasks/get', { taskId: 'ü' })
  assert.equal(
    calls().map(({ headers }) => headers['mcp-name']),
    ['t 1', '=?base64?w7w=?='],
  )
})

test('a wrong extension or result type is refused in the caller', async (t) => {
  for (const extensions of [[], 'x', { tasks: {} }, { 'com.example/': {} }, { 'com.example/x': true }]) {
    const begin = async () => watch(t, { extensions: extensions as never })
    const error = await rejection(begin())
    assert.is(error.code, 'BAD_OPTION')
    assert.match(error.message, /^extensions/)
  }
  const { client } = await start(t)
  for (const resultTypes of ['task', [1], ['complete'], ['input_required']]) {
    const error = await rejection(client.request('custom/any', {}, { resultTypes: resultTypes as never }))
    assert.is(error.code, 'BAD_OPTION')
    assert.match(error.message, /^resultTypes: /)
  }
})

test.run()
