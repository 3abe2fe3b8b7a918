import * as assert from 'uvu/assert'
import { definePrompt, defineResource, defineTool, type ServerError, toolResult } from 'caduceus/server'
import { toPromptResult, toReadResult, toToolResult } from '../../../server/results/results.js'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/results/sent-results')

const text = { type: 'text', text: 'x' }
const link = { type: 'resource_link', name: 'a', uri: 'a:b' }
const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }

const badTools: readonly (readonly [returned: unknown, where: string])[] = [
  [{ type: 'user' }, '.content[0].type: expected one of text, image, audio, resource, resource_link'],
  [[text, { type: 'text' }], '.content[1].text: expected a string, got nothing'],
  [{ type: 'text', text: 5 }, '.content[0].text: expected a string, got an integer'],
  [[text, 'more'], '.content[1]: expected an object, got a string'],
  [{ ...image, mimeType: undefined }, '.content[0].mimeType: expected a string'],
  [{ ...image, data: 'not base64!' }, '.content[0].data: expected base64, got other text'],
  [{ ...image, data: 'AAA' }, '.content[0].data: expected base64'],
  [{ type: 'resource', resource: { uri: 'a:b' } }, '.content[0].resource.text: expected a string'],
  [{ type: 'resource', resource: { uri: 'a:b', blob: '%' } }, '.content[0].resource.blob: expected base64'],
  [{ type: 'resource' }, '.content[0].resource: expected an object'],
  [{ type: 'resource_link', uri: 'a:b' }, '.content[0].name: expected a string'],
  [{ ...link, icons: 'x' }, '.content[0].icons: expected an array, got a string'],
  [{ ...link, icons: [{}] }, '.content[0].icons[0].src: expected a string'],
  [{ ...link, icons: [{ src: 'https://a/b', theme: 'red' }] }, '.content[0].icons[0].theme: expected one of'],
  [{ ...link, size: '5' }, '.content[0].size: expected a number'],
  [
    { ...text, annotations: { priority: 2 } },
    '.content[0].annotations.priority: expected a number from 0 to 1',
  ],
  [
    { ...text, annotations: { audience: ['me'] } },
    '.content[0].annotations.audience[0]: expected one of user',
  ],
  [
    { ...text, annotations: { lastModified: 'now' } },
    '.content[0].annotations.lastModified: expected a moment',
  ],
  [{ ...text, _meta: 1 }, '.content[0]._meta: expected an object'],
  [{ content: [text], isError: 'no' }, '.isError: expected true or false'],
  [{ content: text }, '.content: expected an array, got an object'],
]

for (const [returned, where] of badTools) {
  test(`a tool cannot send ${where.slice(1)}`, () => {
    assert.throws(
      () => toToolResult('x', returned),
      ({ code, message }: ServerError) =>
        code === 'BAD_RESULT' &&
        message.startsWith('tool "x" returned') &&
        message.includes(`result${where}`),
    )
  })
}

test('prompts and resources cannot send invalid content either', () => {
  const prompt = { name: 'p', description: undefined }
  const asked = { uri: 'a:b', mimeType: undefined }
  const isBad = (part: string) => (error: ServerError) =>
    error.code === 'BAD_RESULT' && error.message.includes(part)
  assert.throws(() => toPromptResult(prompt, { role: 'system', content: text }), isBad('.messages[0].role: '))
  assert.throws(
    () => toPromptResult(prompt, { role: 'user', content: { type: 'user' } }),
    isBad('.messages[0].content.type: expected one of text'),
  )
  assert.throws(
    () => toPromptResult(prompt, { role: 'user', content: 'hi' }),
    isBad('.messages[0].content: '),
  )
  assert.throws(() => toReadResult(asked, { blob: '?' }), isBad('.contents[0].blob: expected base64'))
  assert.throws(() => toReadResult(asked, { text: 5 }), isBad('.contents[0].text: expected a string'))
  assert.throws(() => toReadResult(asked, { mimeType: 'text/plain' }), isBad('neither text nor blob'))
})

test('valid results are sent unchanged', () => {
  const blocks = [
    { ...text, annotations: { audience: ['user'], priority: 1, lastModified: '2025-01-12T15:00:58Z' } },
    image,
    { type: 'audio', data: '', mimeType: 'audio/wav' },
    { ...link, size: 1, icons: [{ src: 'https://a/b', sizes: ['any'], theme: 'dark' }], _meta: { a: 1 } },
    { type: 'resource', resource: { uri: 'a:b', text: '' } },
    { type: 'resource', resource: { uri: 'a:b', blob: 'AA==' } },
  ]
  assert.equal(toToolResult('x', blocks), { content: blocks })
})

test('completions and custom results are checked, too', async (t) => {
  const prompt = definePrompt({
    name: 'p',
    arguments: [{ name: 'a' }, { name: 'b' }],
    get: () => 'x',
    complete: { a: () => ({ values: ['x'], total: 1.5 }), b: () => [5] as never },
  })
  const { client } = await startParts(
    t,
    {
      prompts: [prompt],
      tools: [defineTool({ name: 'x', run: () => toolResult().text('x') })],
      handleRequest: ({ method }, _ctx, next) =>
        method === 'tools/list' ? { tools: [{ name: 'y', inputSchema: {}, icons: 'x' }] } : next(),
    },
    { exposeErrors: true },
  )
  const complete = (name: string) =>
    client.ask('completion/complete', {
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name, value: '' },
    })
  assert.match((await complete('a')).error?.message ?? '', /completion\.total: expected a whole number/)
  assert.match((await complete('b')).error?.message ?? '', /completion\.values\[0\]: expected a string/)
  assert.match((await client.ask('tools/list')).error?.message ?? '', /tools\[0\]\.icons: expected an array/)
  assert.is((await client.call('x')).error, undefined)
})

test('lastModified of a resource must be a moment', () => {
  const define = (lastModified: string) =>
    defineResource({ uri: 'a:b', name: 'a', annotations: { lastModified }, read: () => '' })
  assert.throws(() => define('yesterday'), /annotations\.lastModified: expected a moment such as/)
  assert.ok(define('2025-01-12T15:00:58+01:00'))
})

test.run()
