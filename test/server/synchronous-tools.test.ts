import * as assert from 'uvu/assert'
import { z } from 'zod'
import { defineTool, type RequestEvent, subscribeServer, ToolError } from 'caduceus/server'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { startTestServer } from './_servers.js'

const test = suite('synchronous tools')
const call = (name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args, _meta: { progressToken: 'p' } },
})

test('notifications of a synchronous tool precede its answer', async (t) => {
  const tell = defineTool({
    name: 'tell',
    run(_args, ctx) {
      ctx.progress(1)
      ctx.progress(2)
      return 'told'
    },
  })
  const { url } = await startTestServer(t, [tell])
  const client = await new RawClient(t, url).open()
  const { messages } = await client.post(call('tell'))
  const [first, second, answer] = messages as { params?: { progress: number }; result?: object }[]
  assert.equal([first?.params?.progress, second?.params?.progress], [1, 2])
  assert.equal(answer?.result, { content: [{ type: 'text', text: 'told' }] })
})

test('a synchronous tool that fails by name is isError and emits a duration', async (t) => {
  const fail = defineTool({
    name: 'fail',
    run() {
      throw new ToolError('no such thing')
    },
  })
  const { url } = await startTestServer(t, [fail])
  const client = await new RawClient(t, url).open()
  const events: RequestEvent[] = []
  t.after(subscribeServer('request', (event) => events.push(event)))
  const { messages } = await client.post(call('fail'))
  const result = { content: [{ type: 'text', text: 'no such thing' }], isError: true }
  assert.equal(messages, [{ jsonrpc: '2.0', id: 1, result }])
  assert.equal(
    events.map(({ type, isError, duration }) => [type, isError, typeof duration]),
    [
      ['start', undefined, 'undefined'],
      ['error', true, 'number'],
    ],
  )
})

test('a tool with an async schema, or a thenable result, is answered', async (t) => {
  const input = z.object({ text: z.string().refine(async (value) => value !== 'bad', 'must not be bad') })
  const late = defineTool({ name: 'late', input, run: ({ text }) => text })
  const foreign = defineTool({
    name: 'foreign',
    // biome-ignore lint/suspicious/noThenProperty: this is about such objects
    run: () => ({ then: (resolve: (value: string) => void) => resolve('thenable') }) as never,
  })
  const { url } = await startTestServer(t, [late, foreign])
  const client = await new RawClient(t, url).open()
  const text = async (name: string, args = {}) => {
    const [message] = (await client.post(call(name, args))).messages as {
      result?: { content: { text: string }[]; isError?: boolean }
    }[]
    return [message?.result?.content[0]?.text, message?.result?.isError]
  }
  assert.equal(await text('late', { text: 'good' }), ['good', undefined])
  const [why, isError] = await text('late', { text: 'bad' })
  assert.match(String(why), /must not be bad/)
  assert.is(isError, true)
  assert.equal(await text('foreign'), ['thenable', undefined])
})

test.run()
