import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import {
  type DeferredAnswer,
  definePrompt,
  defineResource,
  defineTool,
  ToolError,
  type ToolReturn,
} from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/context/deferred-answers')

/** A tool whose calls are answered by the test. */
function laterTool(timeout = 60_000) {
  const replies = heard<DeferredAnswer<ToolReturn>>()
  const tool = defineTool({
    name: 'later',
    timeout,
    run(_args, ctx) {
      const reply = ctx.defer()
      replies.add(reply)
      return reply.answer
    },
  })
  return { tool, replies }
}

test('a deferred answer may come from another task, in any order, once', async (t) => {
  const { tool, replies } = laterTool()
  const { client } = await startParts(t, { tools: [tool] })
  const [first, second] = [client.text('later'), client.text('later')]
  const [one, two] = [await replies.next(), await replies.next()]
  assert.is(two.resolve('of the second'), true)
  assert.is(one.open, true)
  assert.is(one.resolve('of the first'), true)
  assert.equal([one.open, one.resolve('again'), one.reject(new Error('late'))], [false, false, false])
  assert.equal((await Promise.all([first, second])).sort(), ['of the first', 'of the second'])
})

test('a deferred answer may fail the call', async (t) => {
  const { tool, replies } = laterTool()
  const { client } = await startParts(t, { tools: [tool] })
  const told = client.call('later')
  const reply = await replies.next()
  reply.reject(new ToolError('no luck'))
  assert.equal((await told).result, { content: [{ type: 'text', text: 'no luck' }], isError: true })
  const crashed = client.call('later')
  const other = await replies.next()
  other.reject(new Error('secret'))
  assert.equal((await crashed).result, { content: [{ type: 'text', text: 'Internal error' }], isError: true })
})

test('a call whose timer fires early has timed out all the same', async (t) => {
  const { tool } = laterTool(200)
  const early = (fn: () => void, ms: number) => systemWorld.setTimeout(fn, ms > 150 && ms <= 200 ? 20 : ms)
  const options = { clock: { ...systemWorld, setTimeout: early } }
  const { client } = await startParts(t, { tools: [tool] }, options as object)
  const { result } = await client.call('later')
  assert.is(result?.content?.[0]?.text, 'The tool later took longer than 200 ms and was stopped.')
})

test('a missing deferred answer times out, and a later one is too late', async (t) => {
  const { tool, replies } = laterTool(20)
  const { client } = await startParts(t, { tools: [tool] })
  const { result } = await client.call('later')
  assert.equal(
    [result?.isError, result?.content?.[0]?.text],
    [true, 'The tool later took longer than 20 ms and was stopped.'],
  )
  const reply = await replies.next()
  assert.equal([reply.open, reply.resolve('late')], [false, false])
})

test('a deferred answer to a cancelled call is ignored', async (t) => {
  const { tool, replies } = laterTool()
  const { client } = await startParts(t, { tools: [tool] })
  const call = client.post({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: { name: 'later' } })
  const reply = await replies.next()
  await client.tell('notifications/cancelled', { requestId: 'gone' })
  assert.equal((await call).messages, [])
  assert.equal([reply.open, reply.resolve('late')], [false, false])
})

test('resources and prompts may be answered later, too', async (t) => {
  const replies = heard<DeferredAnswer<string>>()
  const later = (ctx: { defer<Value>(): DeferredAnswer<Value> }) => {
    const reply = ctx.defer<string>()
    replies.add(reply)
    return reply.answer
  }
  const { client } = await startParts(t, {
    resources: [defineResource({ uri: 'x:r', name: 'r', read: (ctx) => later(ctx) })],
    prompts: [definePrompt({ name: 'p', get: (_args, ctx) => later(ctx) })],
  })
  const read = client.ask('resources/read', { uri: 'x:r' })
  ;(await replies.next()).resolve('text')
  assert.equal((await read).result?.contents, [{ uri: 'x:r', text: 'text' }])
  const got = client.ask('prompts/get', { name: 'p' })
  ;(await replies.next()).resolve('hello')
  assert.equal((await got).result?.messages, [{ role: 'user', content: { type: 'text', text: 'hello' } }])
})

test.run()
