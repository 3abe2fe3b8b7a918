import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field } from 'caduceus/protocol'
import { defineTool, ToolError, toolResult } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startParts } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'

const test = suite('server/results/structured-results')

const add = defineTool({
  name: 'add',
  input: { a: field.integer(), b: field.integer() },
  output: { sum: field.integer(), at: field.date({ description: 'When it was added' }).optional() },
  run: ({ a, b }) => ({ sum: a + b }),
})
const primes = defineTool({ name: 'primes', output: z.array(z.number()), run: () => [2, 3] })
const nothing = defineTool({ name: 'nothing', output: { type: 'null' }, run: () => null })

test('output is listed, checked and sent with its JSON as text', async (t) => {
  const { client } = await startParts(t, { tools: [add] })
  const { result: list } = await client.ask('tools/list')
  assert.equal((list?.tools?.[0] as { outputSchema?: object } | undefined)?.outputSchema, {
    type: 'object',
    properties: {
      sum: { type: 'integer' },
      at: { type: 'string', format: 'date', description: 'When it was added' },
    },
    required: ['sum'],
  })
  const { result } = await client.call('add', { a: 1, b: 2 })
  assert.equal(result, { content: [{ type: 'text', text: '{"sum":3}' }], structuredContent: { sum: 3 } })
})

test('a value that breaks the output schema is a crash, and is not sent', async (t) => {
  const wrong = defineTool({
    name: 'wrong',
    output: { sum: field.integer(), names: field.list(field.string()) },
    run: () => ({ sum: 'secret', names: [1] }) as never,
  })
  const missing = defineTool({
    name: 'missing',
    output: { sum: field.integer() },
    run: () => toolResult().text('none'),
  })
  const { client } = await startParts(t, { tools: [wrong, missing] }, { exposeErrors: true })
  const { result } = await client.call('wrong')
  assert.equal([result?.isError, result?.structuredContent], [true, undefined])
  assert.match(
    result?.content?.[0]?.text ?? '',
    /tool "wrong" returned what its output does not allow: sum: .*; names\[0\]: /,
  )
  assert.match(
    await client.text('missing'),
    /tool "missing" returned what its output does not allow: value: is required/,
  )
})

test('the message of an output crash is not sent', async (t) => {
  const wrong = defineTool({ name: 'wrong', output: { n: field.enum([1]) }, run: () => ({ n: 2 }) as never })
  const { client } = await startParts(t, { tools: [wrong] })
  assert.equal((await client.call('wrong')).result, {
    content: [{ type: 'text', text: 'Internal error' }],
    isError: true,
  })
})

test('an error result needs no value, and a full result may add content', async (t) => {
  const fails = defineTool({
    name: 'fails',
    output: { n: field.integer() },
    run: () => toolResult().error('no luck'),
  })
  const throws = defineTool({
    name: 'throws',
    output: { n: field.integer() },
    run: () => {
      throw new ToolError('no luck either')
    },
  })
  const whole = defineTool({
    name: 'whole',
    output: { n: field.integer() },
    run: async () => toolResult().text('one').structured({ n: 1, dropped: true }),
  })
  const { client } = await startParts(t, { tools: [fails, throws, whole] })
  assert.equal((await client.call('fails')).result, {
    content: [{ type: 'text', text: 'no luck' }],
    isError: true,
  })
  assert.equal((await client.call('throws')).result?.content, [{ type: 'text', text: 'no luck either' }])
  const { result } = await client.call('whole')
  assert.equal([result?.content, result?.structuredContent], [[{ type: 'text', text: 'one' }], { n: 1 }])
})

test('a value is sent as its schema reads it', async (t) => {
  const tool = defineTool({
    name: 'reads',
    output: z.object({ n: z.number().default(7), day: z.string() }),
    run: () => ({ day: '2024-01-15', more: 1 }),
  })
  const day = defineTool({
    name: 'day',
    input: { day: field.date() },
    output: { day: field.date() },
    run: (args) => args,
  })
  const { client } = await startParts(t, { tools: [tool, day] })
  assert.equal((await client.call('reads')).result?.structuredContent, { n: 7, day: '2024-01-15' })
  assert.equal((await client.call('day', { day: '2024-02-29' })).result?.structuredContent, {
    day: '2024-02-29',
  })
})

test('2026-07-28 gets any JSON value, null included', async (t) => {
  const { send } = await startStateless(t, { tools: [primes, nothing] })
  const [list] = (await send(posted('tools/list'))).messages
  assert.equal(
    list?.result?.tools?.map((tool) => (tool as { outputSchema?: { type: string } }).outputSchema?.type),
    ['array', 'null'],
  )
  for (const [name, value] of [
    ['primes', [2, 3]],
    ['nothing', null],
  ] as const) {
    const [answer] = (await send(posted('tools/call', { name }))).messages
    assert.ok(Object.hasOwn(answer?.result ?? {}, 'structuredContent'))
    assert.equal(answer?.result?.structuredContent, value)
    assert.equal(answer?.result?.content, [{ type: 'text', text: JSON.stringify(value) }])
  }
})

for (const revision of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
  test(`${revision} gets objects only, and other values as text`, async (t) => {
    const bare = defineTool({ name: 'bare', run: () => ({ content: [], structuredContent: [1] }) })
    const { server } = await startParts(t, { tools: [add, primes, bare] })
    const client = await new RawClient(t, server.url).open('old', revision)
    const { result } = await client.ask('tools/list')
    const hasStructure = revision >= '2025-06-18'
    assert.equal(
      result?.tools?.map((tool) => 'outputSchema' in tool),
      [hasStructure, false, false],
    )
    assert.equal((await client.call('primes')).result, { content: [{ type: 'text', text: '[2,3]' }] })
    assert.equal((await client.call('bare')).result, { content: [{ type: 'text', text: '[1]' }] })
    const sum = (await client.call('add', { a: 1, b: 1 })).result?.structuredContent
    assert.equal(sum, hasStructure ? { sum: 2 } : undefined)
  })
}

test.run()
