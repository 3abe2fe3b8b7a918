import * as assert from 'uvu/assert'
import {
  createApp,
  defineResource,
  defineServer,
  defineTool,
  field,
  McpError,
  type ToolContext,
  toolResult,
} from 'caduceus'
import { connect } from 'caduceus/testing'
import { suite } from '../support/suite.js'
import { any, definitions, elsewhere, server, starts } from './_server-mistakes.js'

const test = suite('flows/mistakes-of-servers')

for (const [name, program, told] of [...definitions, ...elsewhere, ...starts]) {
  test(`an author learns at once that ${name}`, async () => {
    const message = await Promise.resolve()
      .then(program)
      .then(
        () => 'nothing',
        (error: Error) => error.message,
      )
    for (const part of told) assert.match(message, part)
  })
}

const question = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } as const

/** What a tool does wrong when it is called; its tests say what it was. */
const calls: readonly (readonly [
  name: string,
  work: (ctx: ToolContext) => unknown,
  told: readonly RegExp[],
])[] = [
  [
    'it returns an object without output',
    () => ({ sum: 3 }),
    [/tool "x" returned no result/, /got an object with keys \[sum\]/, /describe the value with output/],
  ],
  [
    'it returns a number',
    () => 42,
    [/tool "x" returned 42, which is no text: return String\(\.\.\.\) or json\(\.\.\.\), or .* output$/],
  ],
  ['it returns a day', () => new Date(0), [/tool "x" returned .*, which is no text: /]],
  ['it returns a list of texts', () => ['x'], [/tool "x" returned an array of 1, which is no text: /]],
  [
    'it gives a path for a picture',
    () => toolResult().image('/tmp/x.png', 'image/png'),
    [/data: expected bytes or their base64, got "\/tmp\/x\.png": of a file, await readFile\(path\)/],
  ],
  [
    'it returns a block of no kind',
    () => ({ type: 'user', name: 'Ada' }),
    [
      /tool "x" returned/,
      /content\[0\]\.type: expected one of text, image/,
      /describe the value with output/,
    ],
  ],
  [
    'it returns a block without its text',
    () => [{ type: 'text', value: 'x' }],
    [/content\[0\]\.text: expected a string, got nothing/],
  ],
  [
    'it forgets an await before a text',
    (ctx) => `Count: ${ctx.update('n', (n = 0) => n + 1)}`,
    [/ctx\.update\(\.\.\.\) is a promise/, /await it/],
  ],
  [
    'it forgets an await in JSON',
    (ctx) => JSON.stringify({ n: ctx.get('n') }),
    [/ctx\.get\(\.\.\.\) is a promise/, /await it/],
  ],
  ['it returns the text of a promise', () => String(Promise.resolve(1)), [/tool "x"/, /an await is missing/]],
  [
    'a promise is in its list of blocks',
    () => [Promise.resolve({ type: 'text', text: 'x' })],
    [/content has a promise: an await is missing/],
  ],
  [
    'it asks without a key',
    (ctx) => ctx.elicit(any(question), any({})),
    [/elicit: key: expected a non-empty string first/, /ctx\.elicit\('name', \{ message, form \}\)/],
  ],
  [
    'it asks without a question',
    (ctx) => ctx.elicit('Name?', any(undefined as never)),
    [/elicit: question: expected an object behind the key, as in ctx\.elicit\('name', \{ message, form \}\)/],
  ],
  [
    'it samples without a question',
    (ctx) => ctx.sample('text', any(undefined as never)),
    [/sample: question: expected an object behind the key, as in ctx\.sample\('summary', \{ messages, maxT/],
  ],
  [
    'it asks by a schema alone',
    (ctx) => ctx.elicit('Name?', any(field.group({ name: field.string() }))),
    [/elicit: question: expected \{ message, form \} as the second argument/],
  ],
  [
    'it logs as elsewhere',
    (ctx) => (ctx as unknown as { info(text: string): void }).info('x'),
    [/ctx\.info: write ctx\.log\('info', data\), with logging: true/],
  ],
  [
    'it tells of progress as elsewhere',
    (ctx) => (ctx as unknown as { report_progress(n: number): void }).report_progress(1),
    [/ctx\.report_progress: write ctx\.progress\(1, 10\)/],
  ],
  [
    'it asks by a form of another name',
    (ctx) => ctx.elicit('who', any({ message: 'Who?', fields: {} })),
    [/elicit: fields: /, /did you mean "form"\?/],
  ],
  [
    'it asks two things under one key',
    async (ctx) => {
      const first = ctx.elicit('who', question).catch(() => undefined)
      await ctx.sample('who', { messages: [], maxTokens: 1 })
      return first
    },
    [/sample: key: "who" belongs to elicit\(\)/, /a key of its own/],
  ],
  ['it logs at no level', (ctx) => ctx.log(any(['loud']), 'x'), [/log: expected a level such as info/]],
  [
    'it changes state without a function',
    (ctx) => ctx.update('n', any([5])),
    [/update: expected a function, as in ctx\.update\('count', .*got an array/],
  ],
  [
    'it keeps what cannot be kept',
    (ctx) => ctx.update('n', () => () => 5),
    [/"n": session state takes values that can be copied/, /got a function|got function/],
  ],
]

for (const [name, work, told] of calls) {
  test(`an author learns in a test that ${name}`, async () => {
    const wrong = createApp().defineTool({ name: 'x', run: (_, ctx) => work(any(ctx)) as never })
    await using pair = await connect(defineServer({ ...server, tools: [wrong], logging: true }))
    const { text } = await pair.client.callTool('x')
    for (const part of told) assert.match(text, part)
  })
}

test('an author learns that a handler of requests returns nothing', async () => {
  const definition = defineServer({
    ...server,
    tools: [defineTool({ name: 'x', run: () => 'done' })],
    handleRequest: any(async (_request: unknown, _ctx: unknown, next: () => Promise<object>) => {
      await next()
    }) as never,
  })
  await using pair = await connect(definition)
  const { text } = await pair.client.callTool('x')
  assert.match(text, /handleRequest: tools\/call returned nothing: .*: return next\(\)/)
})

test('an author learns that a resource returns a value', async () => {
  const wrong = defineResource({ uri: 'a:b', name: 'r', read: () => any({ a: 1 }) })
  await using pair = await connect(defineServer({ ...server, resources: [wrong] }))
  const told = await pair.client
    .readResource('a:b')
    .catch(({ message, data }: McpError) => message + JSON.stringify(data))
  assert.match(
    String(told),
    /returned an object with keys \[a\], which has neither text nor blob: resourceResult\(\)\.json\(value\)/,
  )
})

test('an author learns in a test which output field does not fit', async () => {
  const wrong = defineTool({
    name: 'x',
    output: { sum: field.integer(), later: field.string() },
    run: () => any({ sum: '3', later: Promise.resolve('x') }),
  })
  await using pair = await connect(defineServer({ ...server, tools: [wrong] }))
  const { text } = await pair.client.callTool('x')
  assert.match(text, /tool "x" returned what its output does not allow/)
  assert.match(text, /sum: expected an integer, got a string/)
  assert.match(text, /later: expected .*got a promise, which wants an await/)
})

test('a tool without a result sends empty content and warns once', async (t) => {
  const quiet = defineTool({ name: 'x', run: () => undefined })
  const warnings: Error[] = []
  const hear = (warning: Error): void => void warnings.push(warning)
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  await using pair = await connect(defineServer({ ...server, tools: [quiet] }))
  for (let i = 0; i < 2; i++) assert.equal((await pair.client.callTool('x')).content, [])
  // warnings are told in the order they were made
  const last = new Promise((resolve) => process.once('warning', resolve))
  process.emitWarning('the last')
  await last
  const [first, ...others] = warnings.filter((warning) => 'code' in warning)
  assert.match(String(first?.message), /server s: tool "x" returned nothing.*return a text, such as 'done'/)
  assert.equal(others, [])
})

test('a promise in a result is an error that names what to await', async () => {
  const hasty = defineTool({
    name: 'x',
    session: true,
    output: { n: field.any() },
    run: (_args, ctx) => ({ n: ctx.update('n', (n = 0) => n + 1) }),
  })
  await using pair = await connect(defineServer({ ...server, tools: [hasty] }))
  const { text } = await pair.client.callTool('x')
  assert.match(text, /no JSON text: ctx\.update\(\.\.\.\) is a promise.*await it/)
})

test('JSON-RPC error codes have names', async () => {
  const table = [
    [McpError.invalidParams, -32602],
    [McpError.invalidRequest, -32600],
    [McpError.methodNotFound, -32601],
    [McpError.internal, -32603],
    [McpError.notFound, -32002],
    [McpError.rejected, -1],
  ] as const
  for (const [make, code] of table) {
    const error = make('No.', { uri: 'a:b' })
    assert.instance(error, McpError)
    assert.equal([error.code, error.message, error.data], [code, 'No.', { uri: 'a:b' }])
  }
  const closed = defineTool({
    name: 'x',
    run: () => {
      throw McpError.invalidParams('Closed on Sundays.', { day: 'Sunday' })
    },
  })
  await using pair = await connect(defineServer({ ...server, tools: [closed] }))
  const told = await pair.client.callTool('x').catch((error: McpError) => error)
  assert.instance(told, McpError)
  assert.equal([(told as McpError).code, (told as McpError).data], [-32602, { day: 'Sunday' }])
})

test.run()
