import * as assert from 'uvu/assert'
import { promptResult, resourceResult, ServerError, text, toolResult } from 'caduceus/server'
import { toPromptResult, toReadResult, toToolResult } from '../../../server/results/results.js'
import { suite } from '../../support/suite.js'

const test = suite('server/results/builders')

test('the result of a tool is built as the components guide shows', () => {
  assert.equal(toolResult().text('Hello!').build(), {
    content: [{ type: 'text', text: 'Hello!' }],
    isError: false,
  })
  assert.equal(toolResult().json({ status: 'ok' }).build(), {
    content: [{ type: 'text', text: '{"status":"ok"}' }],
    isError: false,
  })
  assert.equal(toolResult().error('Something went wrong').build(), {
    content: [{ type: 'text', text: 'Something went wrong' }],
    isError: true,
  })
  assert.equal(toolResult().text('Processing complete').json({ items: 10, processed: 10 }).build(), {
    content: [
      { type: 'text', text: 'Processing complete' },
      { type: 'text', text: '{"items":10,"processed":10}' },
    ],
    isError: false,
  })
})

test('every kind of content keeps its place', () => {
  const bytes = new Uint8Array([0, 1, 254, 255]).subarray(1)
  const { content } = toolResult()
    .image(bytes, 'image/png')
    .audio('AAAA', 'audio/wav')
    .resource({ uri: 'x:1', text: 'one' })
    .link({ uri: 'x:2', name: 'two' })
    .build()
  assert.equal(content, [
    { type: 'image', data: 'Af7/', mimeType: 'image/png' },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'x:1', text: 'one' } },
    { type: 'resource_link', uri: 'x:2', name: 'two' },
  ])
})

test('structured content becomes text if there is no other content', () => {
  assert.equal(toolResult().structured({ n: 1 }).build(), {
    content: [{ type: 'text', text: '{"n":1}' }],
    structuredContent: { n: 1 },
    isError: false,
  })
  assert.is(toolResult().structured({ n: 1 }).text('one').build().content.length, 1)
})

test('a prompt is built message by message, and system text has the user role', () => {
  const built = promptResult('Weather Assistant')
    .system('Be helpful.')
    .user('Rain?')
    .assistant('Let me see.')
    .build()
  assert.equal(built, {
    description: 'Weather Assistant',
    messages: [
      { role: 'user', content: { type: 'text', text: 'Be helpful.' } },
      { role: 'user', content: { type: 'text', text: 'Rain?' } },
      { role: 'assistant', content: { type: 'text', text: 'Let me see.' } },
    ],
  })
  assert.is(promptResult().description('Later').build().description, 'Later')
})

test('the contents of a resource are text or bytes', () => {
  assert.equal(resourceResult().text('File contents here').build(), { text: 'File contents here' })
  assert.equal(
    resourceResult()
      .blob(new Uint8Array([255]))
      .build(),
    { blob: '/w==' },
  )
  assert.equal(resourceResult().text('x').blob('AAAA').build(), { blob: 'AAAA' })
  assert.equal(
    resourceResult()
      .text('Config data')
      .name('Application Config')
      .description('Current app configuration')
      .build(),
    { text: 'Config data', name: 'Application Config', description: 'Current app configuration' },
  )
})

test('a builder may be returned as it is', () => {
  assert.is(toToolResult('t', toolResult().error('no')).isError, true)
  assert.equal(toReadResult({ uri: 'x:1', mimeType: 'text/plain' }, resourceResult().json([1])), {
    contents: [{ uri: 'x:1', mimeType: 'text/plain', text: '[1]' }],
  })
  assert.is(toPromptResult({ name: 'p', description: 'own' }, promptResult().user('hi')).description, 'own')
})

test('an impossible content is refused in its builder', () => {
  const wrong = [
    () => toolResult().text(1 as never),
    () => toolResult().json(undefined),
    () => toolResult().image('not base64!', 'image/png'),
    () => toolResult().image(new Uint8Array(1), undefined as never),
    () => resourceResult().build(),
  ]
  for (const build of wrong)
    assert.throws(build, (error: unknown) => error instanceof ServerError && error.code === 'BAD_RESULT')
})

test('a tool may return text, blocks, a whole result or nothing, and nothing else', () => {
  const block = text('hi')
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
  assert.equal(toToolResult('x', 'hi'), { content: [block] })
  assert.equal(toToolResult('x', block), { content: [block] })
  assert.equal(toToolResult('x', [block, image]), { content: [block, image] })
  assert.equal(toToolResult('x', []), { content: [] })
  assert.equal(toToolResult('x', undefined), { content: [] })
  const whole = { content: [block], structuredContent: { a: 1 }, isError: true, _meta: { b: 2 } }
  assert.equal(toToolResult('x', whole), whole)
  for (const bad of [
    null,
    1,
    true,
    {},
    { text: 'hi' },
    ['hi'],
    [{}],
    { content: 'hi' },
    { content: [block], isError: 'yes' },
  ]) {
    assert.throws(
      () => toToolResult('x', bad),
      (error: ServerError) =>
        error.code === 'BAD_RESULT' &&
        /^tool "x" returned (no result: |.*, which is no text: )/.test(error.message),
    )
  }
})

const asked = { uri: 'x:a', mimeType: undefined }
const badResults: [() => unknown, RegExp][] = [
  [() => toReadResult(asked, 7), /^resource "x:a" returned no result: expected a string, bytes, contents/],
  [() => toReadResult(asked, { contents: 'x' }), /contents: expected an array/],
  [
    () => toReadResult(asked, { uri: 'x:a' }),
    /^resource "x:a" returned an object with keys \[uri\], which has neither text nor blob: resourceResult\(\)/,
  ],
  [() => toPromptResult({ name: 'p', description: undefined }, undefined), /^prompt "p" returned no result/],
  [() => toPromptResult({ name: 'p', description: undefined }, [{ role: 'robot' }]), /messages\[0\]/],
]

for (const [make, message] of badResults) {
  test(`what nobody could read is a bad result: ${message.source}`, () => {
    assert.throws(make, (error: ServerError) => error.code === 'BAD_RESULT' && message.test(error.message))
  })
}

test.run()
