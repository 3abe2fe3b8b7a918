import * as assert from 'uvu/assert'
import { errorCodes } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import {
  definePrompt,
  defineTool,
  type RequestEvent,
  subscribeServer,
  type ToolContext,
  type ToolDefinition,
} from 'caduceus/server'
import { TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { type Sent, startPort } from './_exchanges.js'
import { echo, reportLog } from '../_servers.js'

const test = suite('exchange runs')
const never = new Promise<never>(() => {})

/** A tool that hands its context to the test and never comes to an end by itself. */
function holding(): { hold: ToolDefinition; held: () => Promise<ToolContext>; all: readonly ToolContext[] } {
  const contexts = heard<ToolContext>()
  const run = (_args: unknown, ctx: ToolContext): Promise<never> => {
    contexts.add(ctx)
    return never
  }
  return { hold: defineTool({ name: 'hold', run }), held: () => contexts.next(), all: contexts.all }
}

test('progress goes out under the token of the request, and not at all without one', async (t) => {
  const told: boolean[] = []
  const run = (_args: unknown, ctx: ToolContext) => {
    told.push(ctx.progress(1, 2, 'half'), ctx.progress(1), ctx.progress(2))
    return ''
  }
  const { send } = await startPort(t, { tools: [defineTool({ name: 'work', run })] })
  const sent = send('tools/call', { name: 'work' }, { progressToken: 0 })
  await sent.answer
  const method = 'notifications/progress'
  assert.equal(sent.told, [
    { jsonrpc: '2.0', method, params: { progressToken: 0, progress: 1, total: 2, message: 'half' } },
    { jsonrpc: '2.0', method, params: { progressToken: 0, progress: 2 } },
  ])
  const silent = send('tools/call', { name: 'work' })
  await silent.answer
  assert.equal(silent.told, [])
  assert.equal(told, [true, false, true, false, false, false])
})

test('logs are sent only for a requested level, from it on, if logging is declared', async (t) => {
  const run = (_args: unknown, ctx: ToolContext) => {
    ctx.log('info', 'low')
    ctx.log('error', { high: 1 }, 'x')
    return ''
  }
  const tools = [defineTool({ name: 'work', run })]
  const { send } = await startPort(t, { tools, logging: true })
  const logged = async (how: object) => {
    const sent = send('tools/call', { name: 'work' }, how)
    await sent.answer
    return sent.told.map(({ params }) => params)
  }
  const [low, high] = [
    { level: 'info', data: 'low' },
    { level: 'error', data: { high: 1 }, logger: 'x' },
  ]
  assert.equal(await logged({}), [])
  assert.equal(await logged({ logLevel: 'debug' }), [low, high])
  assert.equal(await logged({ logLevel: 'warning' }), [high])
  const silent = await startPort(t, { tools })
  const sent = silent.send('tools/call', { name: 'work' }, { logLevel: 'debug' })
  await sent.answer
  assert.equal(sent.told, [])
})

test('a client that leaves aborts the call at once, and nothing more is sent', async (t) => {
  const { hold, held } = holding()
  const { send } = await startPort(t, { tools: [hold], logging: true })
  const sent = send('tools/call', { name: 'hold' }, { progressToken: 'p', logLevel: 'debug' })
  const ctx = await held()
  assert.is(ctx.progress(1), true)
  const { signal } = ctx
  sent.abort()
  assert.is(signal.aborted, true)
  assert.equal([ctx.progress(2), ctx.log('info', 'x')], [false, false])
  assert.equal(await sent.answer, { response: undefined, refused: false })
  assert.is(sent.told.length, 1)
})

test('a client that left before its call arrived leaves nothing', async (t) => {
  const { hold, all } = holding()
  const { send, port } = await startPort(t, { tools: [hold] })
  const before = send('tools/call', { name: 'hold' })
  before.abort()
  await before.answer
  assert.is(all.length, 1)
  assert.is(all[0]?.signal.aborted, true)
  assert.ok(port())
})

test('requests of different clients with one id are independent', async (t) => {
  const { hold, held } = holding()
  const { send, call } = await startPort(t, { tools: [hold, echo] })
  const first = send('tools/call', { name: 'hold' }, { id: 1 })
  const ctx = await held()
  assert.is((await call('echo', { text: 'b' }, { id: 1 })).result?.content?.[0]?.text, 'b')
  assert.is(ctx.signal.aborted, false)
  first.abort()
  await first.answer
})

test('a tool that takes too long is an isError result, other requests are errors', async (t) => {
  const clock = createFakeClock()
  const hold = defineTool({ name: 'hold', timeout: 1_000, run: () => never })
  const prompt = definePrompt({ name: 'hold', timeout: 2_000, get: () => never })
  const { send } = await startPort(t, { tools: [hold], prompts: [prompt] }, { clock })
  const called = send('tools/call', { name: 'hold' })
  const asked = send('prompts/get', { name: 'hold' })
  await clock.advance(999)
  await clock.advance(1)
  const text = 'The tool hold took longer than 1000 ms and was stopped.'
  assert.equal((await called.wire)?.result, {
    content: [{ type: 'text', text }],
    isError: true,
    resultType: 'complete',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1' } },
  })
  await clock.advance(1_000)
  const { error } = (await asked.wire) ?? {}
  assert.equal(
    [error?.code, error?.message],
    [errorCodes.internalError, 'writing the prompt took longer than 2000 ms and was stopped'],
  )
})

const crashes = {
  'throws at once': () => {
    throw new Error('secret')
  },
  'rejects after a while': async () => {
    await Promise.resolve()
    throw new Error('secret')
  },
  'throws from a timer': () => {
    setTimeout(() => {
      throw new Error('secret')
    }, 1)
    return never
  },
}

for (const [how, run] of Object.entries(crashes)) {
  test(`a tool that ${how} fails only its call, which names the report`, async (t) => {
    if (how.includes('timer')) t.expectStray(1)
    const { hold, held } = holding()
    const tools = [defineTool({ name: 'crash', run }), hold, echo]
    const { logger, reports } = reportLog()
    const { call, send } = await startPort(t, { tools }, { logger })
    const other = send('tools/call', { name: 'hold' })
    const ctx = await held()
    const answer = await call('crash')
    assert.is(reports.length, 1)
    assert.equal(answer.result, {
      content: [{ type: 'text', text: `Internal error (report ${reports[0]})` }],
      isError: true,
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1' } },
    })
    assert.is(ctx.signal.aborted, false)
    assert.is((await call('echo', { text: 'a' })).result?.content?.[0]?.text, 'a')
    other.abort()
    await other.answer
  })
}

test('the message of a crash is told only with exposeErrors', async (t) => {
  const crash = defineTool({ name: 'crash', run: crashes['throws at once'] })
  const { call } = await startPort(t, { tools: [crash] }, { exposeErrors: true })
  assert.is((await call('crash')).result?.content?.[0]?.text, 'Internal error: secret')
})

test('beyond their limit some requests wait, and lists are still answered', async (t) => {
  const { hold, held } = holding()
  const limits = { statelessRequests: 2, waiting: 1 }
  const { send, call, ask } = await startPort(t, { tools: [hold, echo] }, { limits })
  const first = send('tools/call', { name: 'hold' })
  const second = send('tools/call', { name: 'hold' })
  await held()
  await held()
  const waiting = call('echo', { text: 'a' })
  const events = heard<RequestEvent>()
  t.after(subscribeServer('request', events.add))
  const problem = await call('echo', { text: 'b' }).catch((error: unknown) => error)
  assert.equal(
    events.all.map(({ type, code }) => [type, code]),
    [
      ['start', undefined],
      ['error', 429],
    ],
  )
  assert.ok(problem instanceof TransportError)
  assert.equal([problem.code, problem.retryable], ['EXCHANGE_LIMIT', true])
  assert.ok((await ask('tools/list')).result)
  first.abort()
  assert.is(await first.wire, undefined)
  assert.is((await waiting).result?.content?.[0]?.text, 'a')
  assert.is((await call('echo', { text: 'c' })).result?.content?.[0]?.text, 'c')
  second.abort()
  await second.answer
})

test('a request that waited depends in nothing on the one whose place it takes', async (t) => {
  const late = defineTool({
    name: 'late',
    run: () => new Promise<string>((resolve) => setTimeout(resolve, 5, 'done')),
  })
  const params = { messages: [], maxTokens: 1 }
  const asks = defineTool({
    name: 'asks',
    async run(_args, ctx) {
      await new Promise((resolve) => setImmediate(resolve))
      return (await ctx.sample('s', params)).model
    },
  })
  const gone = defineTool({
    name: 'gone',
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('gone')))
        setImmediate(() => first?.abort())
      }),
  })
  let first: Sent | undefined
  const limits = { statelessRequests: 1, parked: 0 }
  const { send, call } = await startPort(t, { tools: [late, asks, gone] }, { limits })
  const clientCapabilities = { sampling: {} }
  for (const name of ['asks', 'gone', 'late']) {
    first = send('tools/call', { name }, { clientCapabilities })
    const waited = await Promise.all([call('late'), call('late')])
    assert.equal(
      waited.map(({ result }) => result?.content?.[0]?.text),
      ['done', 'done'],
      name,
    )
  }
})

test('slow requests of one principal leave a place for others', async (t) => {
  const { hold, held } = holding()
  const limits = { statelessRequests: 4, waiting: 1 }
  const { send, call } = await startPort(t, { tools: [hold, echo] }, { limits })
  const [slow, other] = ['slow', 'other'].map((subject) => ({
    principal: { issuer: 'https://login.example', subject },
  }))
  const first = send('tools/call', { name: 'hold' }, slow)
  const more = [1, 2].map(() => send('tools/call', { name: 'hold' }, slow))
  for (let count = 0; count < 3; count += 1) await held()
  const waiting = call('echo', { text: 'a' }, slow)
  assert.is((await call('echo', { text: 'b' }, other)).result?.content?.[0]?.text, 'b')
  const problem = await call('echo', { text: 'c' }, slow).catch((error: unknown) => error)
  assert.ok(problem instanceof TransportError)
  assert.match(problem.message, /^too many requests at once: 3 of one client, of 4 in all, without a session/)
  first.abort()
  assert.is((await waiting).result?.content?.[0]?.text, 'a')
  for (const one of more) one.abort()
})

test('those of this machine whom nobody knows may have all places', async (t) => {
  const { hold, held } = holding()
  const { send } = await startPort(t, { tools: [hold] }, { limits: { statelessRequests: 4 } })
  const all = [1, 2, 3, 4].map(() => send('tools/call', { name: 'hold' }))
  for (let count = 0; count < 4; count += 1) await held()
  for (const one of all) one.abort()
})

test('a refused request takes no slot', async (t) => {
  const { ask, call } = await startPort(t, { tools: [echo] }, { limits: { statelessRequests: 1 } })
  for (let left = 3; left > 0; left -= 1) assert.ok((await ask('tools/call', { name: 'no' })).error)
  for (let left = 3; left > 0; left -= 1) assert.ok((await call('echo', { text: 'a' })).result)
})

test('a group restart ends open exchanges with a retryable error', async (t) => {
  const { hold, held } = holding()
  const { send, call, port, server } = await startPort(t, { tools: [hold, echo] })
  const before = port()
  const sent = send('tools/call', { name: 'hold' })
  const ctx = await held()
  server.registry.whereis('test/base')?.kill()
  const { error } = (await sent.wire) ?? {}
  assert.equal([error?.code, error?.data], [errorCodes.internalError, { retryable: true }])
  assert.is(ctx.signal.aborted, true)
  while (port() === before) await new Promise(setImmediate)
  assert.is((await call('echo', { text: 'a' })).result?.content?.[0]?.text, 'a')
})

test('a request to a group that is gone gets a retryable error', async (t) => {
  const { port, send, server } = await startPort(t, { tools: [echo] })
  const before = port()
  server.registry.whereis('test/tasks')?.kill()
  const sent = send('tools/call', { name: 'echo', arguments: { text: 'a' } })
  assert.equal((await sent.wire)?.error?.data, { retryable: true })
  while (port() === before) await new Promise(setImmediate)
})

test('requests without a session emit start and outcome', async (t) => {
  const { hold, held } = holding()
  const { call, ask, send } = await startPort(t, { tools: [hold, echo] })
  const events = heard<object>()
  const unsubscribe = subscribeServer('request', ({ tree: _, duration, ...event }) => {
    assert.is(event.type === 'start', duration === undefined)
    events.add(event)
  })
  t.after(unsubscribe)
  await ask('tools/list', {}, { id: 'l' })
  await call('echo', { text: 'x' }, { id: 'e' })
  await ask('ping', {}, { id: 'p' })
  const sent = send('tools/call', { name: 'hold' }, { id: 'h' })
  await held()
  sent.abort()
  await sent.answer
  const server = 'test'
  const about = (method: string, id: string) => ({ server, method, id })
  assert.equal(events.all, [
    { ...about('tools/list', 'l'), type: 'start' },
    { ...about('tools/list', 'l'), type: 'stop' },
    { ...about('tools/call', 'e'), type: 'start' },
    { ...about('tools/call', 'e'), type: 'stop', tool: 'echo' },
    { ...about('ping', 'p'), type: 'start' },
    { ...about('ping', 'p'), type: 'error', code: -32601 },
    { ...about('tools/call', 'h'), type: 'start' },
    { ...about('tools/call', 'h'), type: 'stop', tool: 'hold', cancelled: true },
  ])
})

test('notifications of a request without a session emit events', async (t) => {
  const work = defineTool({ name: 'work', run: (_args, ctx) => String(ctx.progress(1)) })
  const { call } = await startPort(t, { tools: [work] })
  const events = heard<object>()
  t.after(subscribeServer('notification', ({ tree: _, ...event }) => events.add(event)))
  await call('work', {}, { progressToken: 1 })
  assert.equal(events.all, [{ server: 'test', type: 'sent', method: 'notifications/progress' }])
})

test.run()
