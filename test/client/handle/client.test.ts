import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { isRequest, type JsonRpcRequest, McpError } from 'caduceus/protocol'
import { formatTree } from 'caduceus/runtime'
import type { ClientTransport } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { rejection, watch, watchNear } from '../_raw.js'

const test = suite('client')

test('a handle is ready to use at once: calls wait, and phases follow in order', async (t) => {
  const { client, states } = watch(t)
  assert.is(client.state.phase, 'disconnected')
  assert.is((await client.callTool('echo', { text: 'early' })).text, 'early')
  assert.equal(
    states.all.map(({ phase }) => phase),
    ['connecting', 'initializing', 'ready'],
  )
  assert.is(client.server?.info.name, 'raw')
  assert.is(client.server?.revision, '2025-11-25')
  assert.is(client.server?.capabilities.tools?.listChanged, true)
})

test('initialize sends revision, name and no capabilities; initialized precedes calls', async (t) => {
  const { client, said } = watchNear(t)
  await client.ping()
  await said.next((line) => line === 'got ping')
  assert.equal(said.all.slice(0, 3), ['got initialize', 'got notifications/initialized', 'got ping'])
})

test('a tool returns content and text; an error of the server rejects as McpError', async (t) => {
  const { client } = watchNear(t)
  const result = await client.callTool('echo', { text: 'hello' })
  assert.is(result.text, 'hello')
  assert.equal(JSON.parse(JSON.stringify(result)), { content: [{ type: 'text', text: 'hello' }] })
  const error = await rejection(client.callTool('refuse'))
  assert.instance(error, McpError)
  assert.is(error.code, -32602)
  assert.equal(error.data, { hint: 'none', retryable: true })
  assert.is(error.retryable, true)
})

test('a malformed result rejects with INVALID_RESPONSE and names the field', async (t) => {
  const { client } = watchNear(t)
  const error = await rejection(client.callTool('badResult'))
  assert.is(error.code, 'INVALID_RESPONSE')
  assert.match(error.message, 'tools/call: result.content: expected an array')
  assert.equal(error.data, { method: 'tools/call', sent: true })
})

for (const [what, fields] of [
  ['a result of null', { result: null }],
  ['a list as result', { result: [] }],
  ['an error that is a text', { error: 'x' }],
  ['a result and an error', { result: {}, error: { code: 1, message: 'x' } }],
  ['neither of both', {}],
  ['another version of JSON-RPC', { jsonrpc: '1.0', result: {} }],
] as const) {
  test(`a malformed answer rejects at once: ${what}`, async (t) => {
    const { client } = watch(t, {
      transport: answering(({ method }) => (method === 'ping' ? { result: {} } : fields)),
    })
    const error = await rejection(client.callTool('x', {}, { timeout: 60_000 }))
    assert.instance(error, ClientError)
    assert.equal([error.code, error.retryable], ['INVALID_RESPONSE', false])
    assert.match(error.message, 'tools/call: ')
    assert.is((error.data as { sent: boolean }).sent, true)
    await client.ping()
    assert.is(client.inspect().counts.junk, 1)
  })
}

test('a malformed answer to initialize is reported at once and retried', async (t) => {
  const transport = answering(() => ({}), { result: null })
  const { states } = watch(t, { transport, handshakeTimeout: 60_000 })
  const lost = await states.next(({ phase, attempt }) => phase === 'disconnected' && attempt === 2)
  assert.is((lost.reason as ClientError).code, 'INVALID_RESPONSE')
  assert.match(lost.reason?.message ?? '', 'result: expected an object, got null')
})

test('tools are listed page by page, or all in one loop, also behind an empty cursor', async (t) => {
  const { client } = watchNear(t)
  const first = await client.listTools()
  assert.is(first.nextCursor, '')
  assert.equal(
    first.tools.map(({ name }) => name),
    ['echo'],
  )
  assert.equal(
    (await client.listTools({ cursor: 'last' })).tools.map(({ name }) => name),
    ['die'],
  )
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  assert.equal(names, ['echo', 'hang', 'die'])
})

test('a list without end is cut off', async (t) => {
  const { client } = watchNear(t)
  const names: string[] = []
  const all = async (): Promise<void> => {
    for await (const { name } of client.tools({ maxPages: 2 })) names.push(name)
  }
  const error = await rejection(all())
  assert.is(error.code, 'TOO_MANY_PAGES')
  assert.equal(names, ['echo', 'hang'])
})

test('any request and notification can be sent', async (t) => {
  const { client, said } = watchNear(t)
  assert.equal(await client.request('custom/echo', { a: 1 }), { params: { a: 1 } })
  await client.notify('custom/news', { b: 2 })
  await said.next((line) => line === 'got custom/news')
})

test('params are copied when the call is made', async (t) => {
  const { client } = watchNear(t)
  const params = { list: [1] }
  const answer = client.request('custom/echo', params)
  params.list.push(2)
  assert.equal(await answer, { params: { list: [1] } })
})

test('a call that times out cancels at the server, and a late answer is dropped', async (t) => {
  const { client, said } = watchNear(t)
  await client.ready()
  const error = await rejection(client.callTool('late', { after: 'cancelled' }, { timeout: 50 }))
  assert.is(error.code, 'TIMEOUT')
  assert.equal(error.data, { sent: true })
  assert.is(error.retryable, true)
  await said.next((line) => line === 'got notifications/cancelled')
  while (client.inspect().counts.late === 0) await client.ping()
  assert.is(client.inspect().counts.unknown, 0)
})

test('a call that times out unsent says so', async (t) => {
  const { client } = watchNear(t, {}, { init: 'hang' })
  const error = await rejection(client.ping({ timeout: 100 }))
  assert.is(error.code, 'TIMEOUT')
  assert.equal(error.data, { sent: false })
})

test('an aborted call rejects with CANCELLED, and the server is told', async (t) => {
  const { client, said } = watchNear(t)
  const controller = new AbortController()
  const call = client.callTool('hang', {}, { signal: controller.signal })
  await said.next((line) => line === 'got tools/call hang')
  controller.abort(new Error('changed my mind'))
  const error = await rejection(call)
  assert.is(error.code, 'CANCELLED')
  assert.equal(error.data, { sent: true })
  assert.match(error.message, 'changed my mind')
  await said.next((line) => line === 'got notifications/cancelled')
  assert.is(client.inspect().inFlight, 0)
})

test('a call aborted before it was sent is never sent', async (t) => {
  const { client, said } = watchNear(t)
  const controller = new AbortController()
  const call = client.callTool('hang', {}, { signal: controller.signal })
  controller.abort()
  const error = await rejection(call)
  assert.equal([error.code, error.data], ['CANCELLED', { sent: false }])
  assert.is((await rejection(client.ping({ signal: AbortSignal.abort() }))).code, 'CANCELLED')
  await client.ping()
  await said.next((line) => line === 'got ping')
  assert.equal(
    said.all.filter((line) => line.includes('hang') || line.includes('cancelled')),
    [],
  )
})

test('duplicate, unknown and junk answers are only counted', async (t) => {
  const { client } = watch(t)
  assert.is((await client.callTool('twice')).text, 'first')
  assert.is((await client.callTool('wrongId')).text, 'right')
  assert.is((await client.callTool('junk')).text, 'after the junk')
  await client.callTool('tell', { method: 'notifications/progress', params: { progress: 'much' } })
  await client.ping()
  const { counts } = client.inspect()
  assert.equal(counts, { sessions: 1, late: 1, unknown: 2, junk: 4, repeated: 0, troubles: 1, unexpected: 0 })
})

test('calls beyond the limit are refused, and the others go on', async (t) => {
  const { client } = watchNear(t, { maxCalls: 2 })
  const held = [client.callTool('hang'), client.callTool('echo', { text: 'second' })]
  const error = await rejection(client.ping())
  assert.equal([error.code, error.data, error.retryable], ['QUEUE_FULL', { sent: false }, true])
  assert.is((await held[1])?.text, 'second')
  await client.ping()
})

test('ready() resolves when ready, and its timeout says what it waits for', async (t) => {
  const { client } = watchNear(t, {}, { init: 'hang' })
  const error = await rejection(client.ready({ timeout: 50 }))
  assert.is(error.code, 'NOT_READY')
  assert.match(error.message, /client was not ready within 50 ms \((connecting|initializing)\)/)
})

test('inspect shows the state, the counters and the tree', async (t) => {
  const { client, said } = watch(t, { name: 'shown' })
  void client.callTool('hang').catch(() => {})
  await said.next((line) => line === 'got tools/call hang')
  const { name, transport, state, server, waiting, inFlight, tree } = client.inspect()
  assert.equal([name, state.phase, server?.info.name, waiting, inFlight], ['shown', 'ready', 'raw', 0, 1])
  assert.match(transport, 'stdio')
  const text = tree === undefined ? '' : formatTree(tree)
  assert.match(
    text,
    /client shown {2}one_for_all, 3 restarts left\n├─ client {2}ready, 1 in flight, 0 waiting\n└─ transport {2}stdio \S+, pid \d+/,
  )
})

test('close ends calls, connection and tree, can be repeated and refuses later calls', async (t) => {
  const { client, said, states } = watch(t)
  const call = client.callTool('hang')
  await said.next((line) => line === 'got tools/call hang')
  await Promise.all([client.close(), client.close()])
  const error = await rejection(call)
  assert.equal([error.code, error.data, error.retryable], ['CLOSED', { sent: true }, false])
  assert.is((await rejection(client.ping())).code, 'CLOSED')
  assert.is((await rejection(client.ready())).code, 'CLOSED')
  await client.closed
  assert.is(client.state.phase, 'closed')
  assert.is(states.all.at(-1)?.phase, 'closed')
  assert.is(states.all.filter(({ phase }) => phase === 'closed').length, 1)
  assert.is(client.inspect().tree, undefined)
})

test('close works before the first connection, and disposal is close', async (t) => {
  const { client } = watch(t)
  await client[Symbol.asyncDispose]()
  assert.is(client.state.phase, 'closed')
})

test('an unawaited rejection is no unhandled rejection', async (t) => {
  const { client } = watchNear(t, { maxCalls: 1 })
  void client.callTool('refuse')
  void client.ping()
  void client.ready({ timeout: 1 })
  void client.callTool('')
  void client.request('custom/x', {}, { timeout: 1 })
  await rejection(client.callTool('refuse'))
  await client.close()
  void client.ping()
})

test('every error of a call is a ClientError', async (t) => {
  const { client } = watch(t, {}, ['--init', 'die'])
  assert.instance(await rejection(client.ping({ timeout: 20 })), ClientError)
})

const greeting = {
  result: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    serverInfo: { name: 'answering', version: '1' },
  },
}

/** A transport that gives every request the fields of an answer, right or wrong. */
function answering(
  answer: (request: JsonRpcRequest) => object,
  initialize: object = greeting,
): ClientTransport {
  return {
    name: 'answering',
    connect(events) {
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const fields = message.method === 'initialize' ? initialize : answer(message)
          events.message(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...fields }))
        },
        close: () => events.closed({}),
      }
    },
  }
}

test.run()
