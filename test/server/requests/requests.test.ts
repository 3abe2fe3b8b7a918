import * as assert from 'uvu/assert'
import { defineTool, json, text } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo, startTestServer } from '../_servers.js'

const test = suite('server requests')

test('ping and the list are answered while a tool runs', async (t) => {
  const { tool, entered, leave } = makeGate()
  const server = await startTestServer(t, [tool])
  const client = await new RawClient(t, server.url).open()
  const waiting = client.call('gate')
  await entered
  assert.equal(await client.ask('ping', undefined, 'p'), { jsonrpc: '2.0', id: 'p', result: {} })
  assert.equal(await client.list(), ['gate'])
  leave()
  assert.equal((await waiting).result, { content: [{ type: 'text', text: 'left' }] })
})

test('a request before notifications/initialized is answered', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url)
  const answer = await client.post({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2099-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  })
  assert.is(answer.messages[0]?.result?.protocolVersion, '2025-11-25')
  client.sessionId = String(answer.headers['mcp-session-id'])
  assert.is(await client.text('count'), '1')
})

test('progress uses the stream of its request, if requested, and only as it grows', async (t) => {
  const steps = defineTool({
    name: 'steps',
    run: (_args, ctx) =>
      `told ${[1, 1, 3, Number.NaN, 2].map((step) => ctx.progress(step, 3, `step ${step}`)).filter(Boolean).length}`,
  })
  const server = await startTestServer(t, [steps])
  const client = await new RawClient(t, server.url).open()
  const params = { name: 'steps', _meta: { progressToken: 0 } }
  const answer = await client.post({ jsonrpc: '2.0', id: 9, method: 'tools/call', params })
  assert.is(answer.headers['content-type'], 'text/event-stream')
  assert.equal(answer.messages, [
    {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 0, progress: 1, total: 3, message: 'step 1' },
    },
    {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 0, progress: 3, total: 3, message: 'step 3' },
    },
    { jsonrpc: '2.0', id: 9, result: { content: [{ type: 'text', text: 'told 2' }] } },
  ])
  assert.is(await client.text('steps'), 'told 0')
})

test('a cancelled call is aborted and not answered', async (t) => {
  const { tool, entered, aborted } = makeGate()
  const server = await startTestServer(t, [tool, count])
  const client = await new RawClient(t, server.url).open()
  const answer = client.post({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'gate' } })
  await entered
  assert.is((await client.tell('notifications/cancelled', { requestId: '5' })).status, 202)
  assert.is((await client.tell('notifications/cancelled', { requestId: 99 })).status, 202)
  assert.is((await client.tell('notifications/cancelled', {})).status, 202)
  assert.equal(
    (await server.sessions()).map(({ requests }) => requests),
    [1],
  )
  assert.is((await client.tell('notifications/cancelled', { requestId: 5 })).status, 202)
  await aborted
  const { status, body } = await answer
  assert.equal({ status, body }, { status: 202, body: '' })
  assert.is(await client.text('count'), '1')
})

test('a call overtaken by its cancellation is not begun', async (t) => {
  let begun = 0
  const counted = defineTool({ name: 'counted', run: () => String(++begun) })
  const server = await startTestServer(t, [counted])
  const client = await new RawClient(t, server.url).open()
  await client.tell('notifications/cancelled', { requestId: 'late' })
  const late = { jsonrpc: '2.0', id: 'late', method: 'tools/call', params: { name: 'counted' } }
  const { status, body } = await client.post(late)
  assert.equal({ status, body, begun }, { status: 202, body: '', begun: 0 })
  assert.is((await client.call('counted', {}, 'late')).result?.content?.[0]?.text, '1')
})

test('a cancellation after the answer does not affect the next request of that id', async (t) => {
  const { tool, entered, aborted } = makeGate()
  const server = await startTestServer(t, [tool, count])
  const client = await new RawClient(t, server.url).open()
  const cancel = (requestId: unknown) => client.tell('notifications/cancelled', { requestId })
  await client.call('count', {}, 'used')
  await cancel('used')
  assert.is((await client.call('count', {}, 'used')).result?.content?.[0]?.text, '2')
  // what was answered at once, and what was cancelled in time, is over as well
  await client.post({ jsonrpc: '2.0', id: 'ping', method: 'ping' })
  await cancel('ping')
  assert.is((await client.call('count', {}, 'ping')).result?.content?.[0]?.text, '3')
  const gone = client.post({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: { name: 'gate' } })
  await entered
  await cancel('gone')
  await aborted
  await gone
  await cancel('gone')
  assert.is((await client.call('count', {}, 'gone')).result?.content?.[0]?.text, '4')
})

test('an id in flight is refused again, and 1 is not "1"', async (t) => {
  const { tool, entered, leave } = makeGate()
  const server = await startTestServer(t, [tool, count])
  const client = await new RawClient(t, server.url).open()
  const first = client.call('gate', {}, 1)
  await entered
  const second = await client.call('count', {}, 1)
  assert.is(second.error?.code, -32600)
  assert.equal((await client.call('count', {}, '1')).result?.content, [{ type: 'text', text: '1' }])
  leave()
  assert.equal((await first).result?.content, [{ type: 'text', text: 'left' }])
})

test('a session runs a bounded number of requests at once', async (t) => {
  const { tool, entered, leave } = makeGate()
  const server = await startTestServer(t, [tool, count], { limits: { requests: 1 } })
  const [client, other] = await Promise.all([
    new RawClient(t, server.url).open(),
    new RawClient(t, server.url).open(),
  ])
  const first = client.call('gate')
  await entered
  const waiting = client.text('count')
  assert.equal((await client.ask('ping')).result, {})
  assert.is(await other.text('count'), '1')
  leave()
  await first
  assert.is(await waiting, '1')
})

test('all bad arguments are reported at once with paths, for the model', async (t) => {
  const book = defineTool({
    name: 'book',
    input: {
      type: 'object',
      properties: {
        day: {},
        seats: { type: 'integer', minimum: 1 },
        who: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      required: ['seats', 'who', 'day'],
      additionalProperties: false,
    },
    run: () => 'booked',
  })
  const server = await startTestServer(t, [book])
  const client = await new RawClient(t, server.url).open()
  const { result } = await client.call('book', { seats: 0, who: { name: 7 }, extra: true })
  assert.is(result?.isError, true)
  const lines = String(result?.content?.[0]?.text).split('\n')
  assert.is(lines[0], 'The arguments for book are not valid:')
  assert.equal(lines.slice(1).sort(), [
    '- day: is required',
    '- extra: is not a known field',
    '- seats: expected a number >= 1, got 0',
    '- who.name: expected a string, got an integer',
  ])
  assert.is(await client.text('book', { seats: 1, who: { name: 'Ada' }, day: 1 }), 'booked')
})

test('a Standard Schema checks and changes the arguments', async (t) => {
  const upper = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof (value as { word?: unknown }).word === 'string'
          ? { value: { word: (value as { word: string }).word.toUpperCase() } }
          : { issues: [{ message: 'must be a word', path: ['word'] }] },
      jsonSchema: {
        input: () => ({ type: 'object', properties: { word: { type: 'string' } } }),
        output: () => ({ type: 'object' }),
      },
    },
  } as const
  const shout = defineTool({ name: 'shout', input: upper, run: ({ word }) => [text(word), text('!')] })
  const server = await startTestServer(t, [shout])
  const client = await new RawClient(t, server.url).open()
  assert.equal((await client.call('shout', { word: 'hey' })).result?.content, [
    { type: 'text', text: 'HEY' },
    { type: 'text', text: '!' },
  ])
  assert.match(String((await client.call('shout', {})).result?.content?.[0]?.text), /- word: must be a word$/)
})

test('an unsupported request is refused by its JSON-RPC code', async (t) => {
  const server = await startTestServer(t, [echo])
  const client = await new RawClient(t, server.url).open()
  const cases: [string, object | undefined, number, RegExp][] = [
    ['tools/call', { name: 'nothing' }, -32602, /^Unknown tool: "nothing"$/],
    ['tools/call', {}, -32602, /params\.name: expected a string/],
    ['tools/call', { name: 'echo', arguments: [] }, -32602, /params\.arguments: expected an object/],
    ['tools/list', { cursor: 'garbage' }, -32602, /cursor/],
    ['resources/list', undefined, -32601, /^Method not found: resources\/list$/],
    ['toString', undefined, -32601, /^Method not found/],
  ]
  for (const [method, params, code, message] of cases) {
    const { error } = await client.ask(method, params)
    assert.is(error?.code, code, method)
    assert.match(String(error?.message), message)
  }
})

test('tools/list comes in pages, byte for byte the same each time', async (t) => {
  const tools = ['a', 'b', 'c'].map((name) =>
    defineTool({ name, title: name.toUpperCase(), annotations: { readOnlyHint: true }, run: () => name }),
  )
  const server = await startTestServer(t, tools, { limits: { pageSize: 2 } })
  const client = await new RawClient(t, server.url).open()
  const { result } = await client.ask('tools/list')
  const inputSchema = { type: 'object', additionalProperties: false }
  assert.equal(
    result?.tools,
    ['a', 'b'].map((name) => ({
      name,
      title: name.toUpperCase(),
      inputSchema,
      annotations: { readOnlyHint: true },
    })),
  )
  assert.equal(await client.list(result?.nextCursor), ['c'])
  const [one, two] = await Promise.all(
    [1, 1].map(() => client.post({ jsonrpc: '2.0', id: 'same', method: 'tools/list' })),
  )
  assert.is(one?.body, two?.body)
})

test('a tool sees its session, its request and its peer', async (t) => {
  const who = defineTool({
    name: 'who',
    run: (_args, { session, requestId, peer }) =>
      json({
        session,
        requestId,
        transport: peer.transport,
        header: peer.headers['x-trace'],
        from: peer.remoteAddress,
      }),
  })
  const server = await startTestServer(t, [who])
  const client = await new RawClient(t, server.url).open('tester')
  const answer = await client.post(
    { jsonrpc: '2.0', id: 'r1', method: 'tools/call', params: { name: 'who' } },
    { 'X-Trace': 'abc' },
  )
  assert.equal(JSON.parse(String(answer.messages[0]?.result?.content?.[0]?.text)), {
    session: {
      id: client.sessionId,
      client: { name: 'tester', version: '1' },
      revision: '2025-11-25',
      capabilities: { roots: {} },
    },
    requestId: 'r1',
    transport: 'http',
    header: 'abc',
    from: '127.0.0.1',
  })
})

function makeGate() {
  const [entered, left, aborted] = [makeSignal(), makeSignal(), makeSignal()]
  const tool = defineTool({
    name: 'gate',
    async run(_args, { signal }) {
      signal.addEventListener('abort', aborted.resolve)
      entered.resolve()
      await left.promise
      return 'left'
    },
  })
  return { tool, entered: entered.promise, leave: left.resolve, aborted: aborted.promise }
}

function makeSignal() {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve: () => resolve() }
}

test.run()
