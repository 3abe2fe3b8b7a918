import { request } from 'node:http'
import * as assert from 'uvu/assert'
import { defineResource, defineTool } from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo, killAndWait } from '../_servers.js'
import { type Posted, posted, startStateless } from '../_stateless.js'

const test = suite('exchanges over http')

const resources = [
  defineResource({ uri: 'x:1', name: '1', read: () => 'text' }),
  defineResource({ uri: 'x:crash', name: 'crash', read: () => Promise.reject(new Error('secret')) }),
]

test('one server serves a session and requests without one side by side', async (t) => {
  const { server, send } = await startStateless(t, { tools: [count, echo], resources })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const answer = await send(posted('tools/call', { name: 'echo', arguments: { text: 'a' } }))
  assert.equal([answer.status, answer.messages[0]?.result?.resultType], [200, 'complete'])
  assert.is(answer.headers['mcp-session-id'], undefined)
  assert.is(await client.text('count'), '2')
  assert.is((await client.call('echo', { text: 'b' })).result?.resultType, undefined)
  assert.is((await server.sessions()).length, 1)
})

const statuses: [what: string, asked: Posted, status: number, code: number | undefined][] = [
  ['server/discover', posted('server/discover'), 200, undefined],
  ['tools/list', posted('tools/list'), 200, undefined],
  ['resources/read', posted('resources/read', { uri: 'x:1' }), 200, undefined],
  ['a method that is gone', posted('ping'), 404, -32601],
  ['a kind that the server does not have', posted('prompts/list'), 404, -32601],
  ['a tool that does not exist', posted('tools/call', { name: 'no' }), 200, -32602],
  ['a resource that does not exist', posted('resources/read', { uri: 'x:no' }), 200, -32602],
  ['params that are none', posted('tools/list', { cursor: 1 }), 200, -32602],
  ['a crash of a tool', posted('tools/call', { name: 'crash' }), 200, undefined],
  ['a crash of a resource', posted('resources/read', { uri: 'x:crash' }), 200, -32603],
  ['Mcp-Name of another tool', posted('tools/call', { name: 'echo' }, { 'mcp-name': 'crash' }), 400, -32020],
  [
    'an argument without its header',
    posted('tools/call', { name: 'routed', arguments: { to: 'eu' } }),
    400,
    -32020,
  ],
  [
    'an argument and another header',
    posted('tools/call', { name: 'routed', arguments: { to: 'eu' } }, { 'mcp-param-to': 'us' }),
    400,
    -32020,
  ],
]

test('every answer has the status of its kind, and a JSON-RPC body', async (t) => {
  const crash = defineTool({
    name: 'crash',
    run() {
      throw new Error('secret')
    },
  })
  const properties = { to: { type: 'string', 'x-mcp-header': 'To' } } as const
  const routed = defineTool({ name: 'routed', input: { type: 'object', properties }, run: () => 'x' })
  const { send } = await startStateless(t, { tools: [echo, crash, routed], resources })
  for (const [what, asked, status, code] of statuses) {
    const answer = await send(asked)
    assert.equal(
      [answer.status, answer.messages[0]?.id, answer.messages[0]?.error?.code],
      [status, 1, code],
      what,
    )
  }
})

test('progress comes before the answer on the stream of the request', async (t) => {
  const work = defineTool({
    name: 'work',
    async run(_args, ctx) {
      ctx.progress(1)
      ctx.progress(2)
      return 'done'
    },
  })
  const { send } = await startStateless(t, { tools: [work], resources })
  const { status, headers, messages } = await send(
    posted('tools/call', { name: 'work', _meta: { progressToken: 'p' } }),
  )
  assert.equal([status, headers['content-type']], [200, 'text/event-stream'])
  assert.equal(
    messages.map(({ params, result }) => params?.progress ?? result?.content?.[0]?.text),
    [1, 2, 'done'],
  )
})

test('a client that hangs up aborts the call', async (t) => {
  const started = heard<AbortSignal>()
  const hold = defineTool({
    name: 'hold',
    run(_args, { signal }) {
      started.add(signal)
      return new Promise<never>(() => {})
    },
  })
  const { server } = await startStateless(t, { tools: [hold], resources })
  const { body, headers } = posted('tools/call', { name: 'hold' })
  const own = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const sent = request(String(server.url), { method: 'POST', agent: false, headers: { ...own, ...headers } })
  sent.on('error', () => {})
  sent.end(JSON.stringify(body))
  const signal = await started.next()
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
  sent.destroy()
  await aborted
})

test('requests beyond their limit wait, and beyond limits.waiting get 503', async (t) => {
  const started = heard<() => void>()
  const hold = defineTool({
    name: 'hold',
    run: () => new Promise<string>((resolve) => started.add(() => resolve('done'))),
  })
  const limits = { statelessRequests: 1, waiting: 1 }
  const { send } = await startStateless(t, { tools: [hold, echo], resources }, { limits })
  const held = send(posted('tools/call', { name: 'hold' }))
  const release = await started.next()
  // which of the two comes first is not said: one waits, and the other is refused at once
  const asked = ['a', 'b'].map((text) => send(posted('tools/call', { name: 'echo', arguments: { text } })))
  const refused = await Promise.race(asked)
  assert.equal([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal(refused.messages[0]?.error?.data, { retryable: true })
  release()
  assert.is((await held).messages[0]?.result?.content?.[0]?.text, 'done')
  const answers = await Promise.all(asked)
  const [served] = answers.filter((answer) => answer !== refused)
  assert.match(String(served?.messages[0]?.result?.content?.[0]?.text), /^[ab]$/)
})

test('a stop lets a call in flight come to its end, and then frees the port', async (t) => {
  const started = heard<() => void>()
  const hold = defineTool({
    name: 'hold',
    run: () => new Promise<string>((resolve) => started.add(() => resolve('done'))),
  })
  const { server, send } = await startStateless(t, { tools: [hold], resources })
  const held = send(posted('tools/call', { name: 'hold' }))
  const release = await started.next()
  const stopped = server.stop()
  release()
  assert.is((await held).messages[0]?.result?.content?.[0]?.text, 'done')
  await stopped
  assert.is(await send(posted('server/discover')).catch(({ code }) => code), 'ECONNREFUSED')
})

test('a group restart during a call gives a retryable error and keeps the port', async (t) => {
  const started = heard<AbortSignal>()
  const hold = defineTool({
    name: 'hold',
    run(_args, { signal }) {
      started.add(signal)
      return new Promise<never>(() => {})
    },
  })
  const { server, send } = await startStateless(t, { tools: [hold, echo], resources })
  const held = send(posted('tools/call', { name: 'hold' }))
  const signal = await started.next()
  const back = killAndWait(server, 'test/base')
  const { status, messages } = await held
  assert.equal([status, messages[0]?.error?.data], [503, { retryable: true }])
  assert.is(signal.aborted, true)
  await back
  const after = await send(posted('tools/call', { name: 'echo', arguments: { text: 'a' } }))
  assert.is(after.messages[0]?.result?.content?.[0]?.text, 'a')
})

test.run()
