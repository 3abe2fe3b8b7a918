// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import type { JsonObject } from 'caduceus/protocol'
import { isObject } from '../../support/is-object.js'
import { suite } from '../../support/suite.js'
import { heard } from '../../support/heard.js'
import { rejection } from '../_raw.js'
import { core, count, modern, said } from './_tasks.js'

const test = suite('what a task asks')

const form = (message: string) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
})

test('each question of a task is answered once, when its handler is done (2026-07-28)', async (t) => {
  const asked = heard<string>()
  let answerSecond = (): void => {}
  const onElicit = ({ message }: { message: string }) => {
    asked.add(message)
    const answer = { action: 'accept', content: { name: message } } as const
    if (message === 'first') return answer
    return new Promise<typeof answer>((resolve) => {
      answerSecond = () => resolve(answer)
    })
  }
  const { client, server, shelf } = modern(t, { client: { onElicit } })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'input_required', inputRequests: { a: form('first'), b: form('second') } })
  const first = await server.next('tasks/update')
  assert.is(first.params?.taskId, 'task 1')
  assert.equal(first.params?.inputResponses, { a: { action: 'accept', content: { name: 'first' } } })
  // the server has not looked yet, and asks for both again
  await server.next('tasks/get')
  await server.next('tasks/get')
  answerSecond()
  const second = await server.next('tasks/update')
  assert.equal(second.params?.inputResponses, { b: { action: 'accept', content: { name: 'second' } } })
  shelf.set('task 1', { status: 'completed', result: said('thanks') })
  assert.is((await call).text, 'thanks')
  assert.equal(asked.all, ['first', 'second'])
  assert.is(count(server, 'tasks/update'), 2)
})

test('answers outlive a lost connection (2026-07-28)', async (t) => {
  let drops = 1
  const { client, server, shelf } = modern(t, {
    client: { onElicit: () => ({ action: 'decline' }) },
    script: {
      'tasks/update': ({ params }, peer) => {
        if (drops > 0) {
          drops -= 1
          peer.drop()
          return undefined
        }
        shelf.set(params?.taskId as string, { status: 'completed', result: said('thanks') })
        return { resultType: 'complete' }
      },
    },
  })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'input_required', inputRequests: { a: form('first') } })
  assert.is((await call).text, 'thanks')
  assert.is(count(server, 'tasks/update'), 2)
})

test('an unanswered question fails the call and cancels the task (2026-07-28)', async (t) => {
  const cases = [
    [{}, 'INVALID_RESPONSE'],
    [
      {
        onElicit: () => {
          throw new Error('no screen')
        },
      },
      'UNANSWERED',
    ],
  ] as const
  for (const [options, code] of cases) {
    const { client, server, shelf } = modern(t, { client: options })
    const call = rejection(client.callTool('slow'))
    await server.next('tasks/get')
    shelf.set('task 1', { status: 'input_required', inputRequests: { a: form('first') } })
    const error = await call
    assert.is(error.code, code)
    assert.equal(error.data, { sent: true, taskId: 'task 1' })
    await server.next('tasks/cancel')
  }
})

test('handlers are aborted when the task needs no answer (2026-07-28)', async (t) => {
  const aborted = heard<boolean>()
  const onElicit = (_: object, { signal }: { signal: AbortSignal }) =>
    new Promise<never>(() => signal.addEventListener('abort', () => aborted.add(true)))
  const { client, server, shelf } = modern(t, { client: { onElicit } })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  const inputRequests = { a: form('first') }
  shelf.set('task 1', { status: 'input_required', inputRequests })
  await server.next('tasks/get')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'completed', result: said('no matter') })
  assert.is((await call).text, 'no matter')
  await aborted.next()
  assert.is(count(server, 'tasks/update'), 0)
})

test('task questions are requests beside tasks/result and name the task (2025-11-25)', async (t) => {
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'task 1' } }
  const { client, server, shelf } = core(t, {
    taskSupport: 'required',
    client: { onElicit: () => ({ action: 'accept', content: { name: 'owl' } }) },
    script: {
      'tasks/result': async (_request, peer) => {
        const { params } = form('who?')
        const answer = await peer.request('elicitation/create', { ...params, _meta: related })
        assert.equal(answer, { action: 'accept', content: { name: 'owl' }, _meta: related })
        return said('thanks')
      },
    },
  })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'input_required' })
  assert.is((await call).text, 'thanks')
  assert.is(count(server, 'tasks/result'), 1)
})

test('a lost connection while tasks/result waits costs no task (2025-11-25)', async (t) => {
  const { client, server, shelf } = core(t, {
    taskSupport: 'required',
    script: { 'tasks/result': [() => undefined, () => undefined, said('after all')] },
  })
  const call = client.callTool('slow')
  await server.next('tasks/get')
  shelf.set('task 1', { status: 'input_required' })
  await server.next('tasks/result')
  server.drop()
  await server.next('tasks/result')
  server.drop()
  assert.is((await call).text, 'after all')
})

test('progress covers the whole task and only increases (2025-11-25)', async (t) => {
  const gate = heard<void>()
  const script = { 'tasks/result': () => gate.next().then(() => said('done')) }
  const { client, server } = core(t, { taskSupport: 'required', script })
  await client.listTools()
  const told = heard<number>()
  const call = client.callTool('slow', {}, { onProgress: ({ progress }) => told.add(progress) })
  const { params } = await server.next('tools/call')
  const progressToken = tokenIn(params)
  await server.next('tasks/result')
  for (const progress of [1, 1, 0, 2]) server.notify('notifications/progress', { progressToken, progress })
  assert.is(await told.next(), 1)
  assert.is(await told.next(), 2)
  gate.add()
  await call
  server.notify('notifications/progress', { progressToken, progress: 3 })
  await client.ping()
  assert.equal(told.all, [1, 2])
})

test('progress extends the time of a task if the call says so (2025-11-25)', async (t) => {
  const gate = heard<void>()
  const script = { 'tasks/result': () => gate.next().then(() => said('done')) }
  const { client, server } = core(t, { taskSupport: 'required', script })
  await client.listTools()
  const began = performance.now()
  const call = client.callTool('slow', {}, { timeout: 400, resetOnProgress: true })
  const { params } = await server.next('tools/call')
  const progressToken = tokenIn(params)
  await server.next('tasks/result')
  for (let progress = 1; performance.now() - began < 900; progress++) {
    server.notify('notifications/progress', { progressToken, progress })
    await client.ping()
  }
  gate.add()
  assert.is((await call).text, 'done')
})

test('a task notification makes the next poll come sooner', async (t) => {
  const cases = [
    [core, 'notifications/tasks/status'],
    [modern, 'notifications/tasks'],
  ] as const
  for (const [start, method] of cases) {
    const { client, server, shelf } = start(t, start === core ? { taskSupport: 'required' } : {})
    shelf.pollInterval = 50_000
    if (start === core) await client.listTools()
    const call = client.callTool('slow')
    await server.next('tools/call')
    await client.ping()
    shelf.set('task 1', { status: 'completed', result: said('told') })
    // until the client has begun to wait
    const again = setInterval(() => server.notify(method, shelf.core('task 1')), 50)
    t.after(() => clearInterval(again))
    assert.is((await call).text, 'told')
    clearInterval(again)
  }
})

test.run()

function tokenIn(params: JsonObject | undefined): unknown {
  return isObject(params?._meta) ? params._meta.progressToken : undefined
}
