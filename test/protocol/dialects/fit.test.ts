import * as assert from 'uvu/assert'
import {
  type ContentBlock,
  type CreateMessageParams,
  type Dialect,
  dialect20241105,
  dialect20250326,
  dialect20250618,
  dialect20251125,
  dialect20260728,
  type ElicitFormParams,
  type ElicitParams,
  fitError,
  fitNotification,
  fitParams,
  fitResult,
  type FormField,
  type Method,
  type NotificationMethod,
  type Params,
  ProtocolError,
  type Result,
  type SamplingContent,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { elicitForm, elicitUrl, samples } from '../_samples.js'

const test = suite('protocol/dialects/fit')
const older = [dialect20250618, dialect20250326, dialect20241105]

test('a message for the newest revision is the same object', () => {
  for (const [method, result] of Object.entries(samples.results)) {
    assert.is(fitResult(dialect20251125, method as Method, result as Result<Method>), result)
  }
  for (const [method, params] of Object.entries(samples.params)) {
    assert.is(fitParams(dialect20251125, method as Method, params as Params<Method>), params)
  }
  for (const [name, params] of Object.entries(samples.notifications)) {
    assert.is(fitNotification(dialect20251125, name as NotificationMethod, params as object), params)
  }
  const error = { code: -32042, message: 'm' }
  assert.is(fitError(dialect20251125, error), error)
})

test('a message that needs no change is returned as the same object in each revision', () => {
  const tools = { tools: [{ name: 'a', description: 'd', inputSchema: { type: 'object' as const } }] }
  const called = {
    content: [{ type: 'text' as const, text: 'a', annotations: { priority: 1 } }],
    isError: true,
  }
  const prompt = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'a' } }] }
  const read = { contents: [{ uri: 'a:b', text: 'c' }] }
  const uri = { uri: 'a:b' }
  for (const dialect of older) {
    assert.is(fitResult(dialect, 'tools/list', tools), tools)
    assert.is(fitResult(dialect, 'tools/call', called), called)
    assert.is(fitResult(dialect, 'prompts/get', prompt), prompt)
    assert.is(fitResult(dialect, 'resources/read', read), read)
    assert.is(fitParams(dialect, 'resources/read', uri), uri)
  }
})

test('unknown fields are sent on, except inside removed parts', () => {
  const tool = {
    name: 'a',
    inputSchema: { type: 'object' as const, $schema: 'x', additionalProperties: false },
  }
  const tools = [{ ...tool, 'x-own': 1, title: 't' }]
  assert.equal(fitResult(dialect20241105, 'tools/list', { tools }), { tools: [{ ...tool, 'x-own': 1 }] })
  const hologram = { type: 'hologram', bytes: 1 } as unknown as ContentBlock
  assert.equal(fitResult(dialect20241105, 'tools/call', { content: [hologram] }), { content: [hologram] })
})

test('a field called __proto__ stays a field', () => {
  const tool = JSON.parse(
    '{ "name": "a", "inputSchema": { "type": "object" }, "title": "t", "__proto__": { "a": 1 } }',
  )
  const { tools } = fitResult(dialect20241105, 'tools/list', { tools: [tool] })
  assert.is(JSON.stringify(tools), '[{"name":"a","inputSchema":{"type":"object"},"__proto__":{"a":1}}]')
})

const sound: ContentBlock = {
  type: 'audio',
  data: 'AAAA',
  mimeType: 'audio/wav',
  annotations: { priority: 1 },
}
const link: ContentBlock = {
  type: 'resource_link',
  uri: 'file:///a',
  name: 'a',
  annotations: { priority: 1 },
}
const note = '[sound (audio/wav) left out: the negotiated revision of MCP has no audio]'

const blocks: readonly [string, Dialect, ContentBlock, ContentBlock][] = [
  ['audio stays audio', dialect20250326, sound, sound],
  ['audio becomes text', dialect20241105, sound, { type: 'text', text: note, annotations: { priority: 1 } }],
  ['a link stays a link', dialect20250618, link, link],
  [
    'a link becomes text',
    dialect20250326,
    link,
    { type: 'text', text: 'a: file:///a', annotations: { priority: 1 } },
  ],
  [
    'a link becomes text',
    dialect20241105,
    link,
    { type: 'text', text: 'a: file:///a', annotations: { priority: 1 } },
  ],
]

for (const [promise, dialect, given, expected] of blocks) {
  test(`${promise} in ${dialect.revision}`, () => {
    assert.equal(fitResult(dialect, 'tools/call', { content: [given] }).content, [expected])
    const { messages } = fitResult(dialect, 'prompts/get', { messages: [{ role: 'user', content: given }] })
    assert.equal(messages, [{ role: 'user', content: expected }])
  })
}

test('structured content becomes text where a revision lacks it', () => {
  const result = { content: [], structuredContent: { sum: 3 } }
  assert.is(fitResult(dialect20250618, 'tools/call', result), result)
  for (const dialect of [dialect20250326, dialect20241105]) {
    assert.equal(fitResult(dialect, 'tools/call', result), { content: [{ type: 'text', text: '{"sum":3}' }] })
  }
})

test('a non-object result and its schema become text before 2026-07-28 (trap 80)', () => {
  const tool = { name: 't', inputSchema: { type: 'object' as const }, outputSchema: { type: 'array' } }
  for (const structuredContent of [null, [], 'x', 0]) {
    const result = { content: [], structuredContent }
    assert.is(fitResult(dialect20260728, 'tools/call', result), result)
    for (const dialect of [dialect20251125, dialect20250618]) {
      const text = JSON.stringify(structuredContent)
      assert.equal(fitResult(dialect, 'tools/call', result), { content: [{ type: 'text', text }] })
      assert.equal(fitResult(dialect, 'tools/list', { tools: [tool] }), {
        tools: [{ name: 't', inputSchema: { type: 'object' } }],
      })
    }
  }
  assert.equal(fitResult(dialect20260728, 'tools/list', { tools: [tool] }), { tools: [tool] })
})

test('a form for 2025-06-18 has enumNames and no mode (trap 86)', () => {
  const params = fitParams(dialect20250618, 'elicitation/create', elicitForm) as ElicitFormParams
  assert.is('mode' in params, false)
  assert.equal(params.requestedSchema.properties.titled, {
    type: 'string',
    title: 'A title',
    enum: ['r', 'g'],
    enumNames: ['Red', 'Green'],
  })
  assert.equal(params.requestedSchema.properties.agree, {
    type: 'boolean',
    title: 'A title',
    description: 'A description',
    default: true,
  })
})

const several: FormField = { type: 'array', items: { type: 'string', enum: ['r', 'g'] } }
const withSeveral: ElicitFormParams = {
  message: 'which?',
  requestedSchema: { type: 'object', properties: { colours: several } },
}
const unsayable: readonly [string, readonly Dialect[], (dialect: Dialect) => unknown, string][] = [
  ['a question by url', older, (dialect) => fitParams(dialect, 'elicitation/create', elicitUrl), 'mode url'],
  [
    'a question by form',
    [dialect20250326, dialect20241105],
    (dialect) => fitParams(dialect, 'elicitation/create', { ...withSeveral, mode: 'form' }),
    'mode form',
  ],
  [
    'a choice of several',
    [dialect20250618],
    (dialect) => fitParams(dialect, 'elicitation/create', withSeveral),
    'choice of several (requestedSchema.properties.colours)',
  ],
  [
    'a sampling request with tools',
    older,
    (dialect) =>
      fitParams(dialect, 'sampling/createMessage', {
        messages: [],
        maxTokens: 1,
        tools: [{ name: 'a', inputSchema: { type: 'object' } }],
      }),
    'tools',
  ],
  [
    'a tool result in a conversation',
    older,
    (dialect) =>
      fitParams(dialect, 'sampling/createMessage', {
        messages: [{ role: 'user', content: [{ type: 'tool_result', toolUseId: '1', content: [] }] }],
        maxTokens: 1,
      }),
    'content of type tool_result',
  ],
  [
    'a tool use as an answer',
    older,
    (dialect) =>
      fitResult(
        dialect,
        'sampling/createMessage',
        answer({ type: 'tool_use', id: '1', name: 'a', input: {} }),
      ),
    'content of type tool_use',
  ],
  [
    'an answer of two blocks (trap 87)',
    older,
    (dialect) => fitResult(dialect, 'sampling/createMessage', answer([text('a'), text('b')])),
    'answer of 2 blocks of content',
  ],
  [
    'an answer of no block',
    older,
    (dialect) => fitResult(dialect, 'sampling/createMessage', answer([])),
    'answer of 0 blocks of content',
  ],
]

for (const [what, dialects, fit, part] of unsayable) {
  for (const dialect of dialects) {
    test(`${what} is refused in ${dialect.revision}`, () => {
      assert.throws(
        () => fit(dialect),
        (error: unknown) =>
          error instanceof ProtocolError &&
          error.code === 'NOT_IN_REVISION' &&
          error.message.endsWith(`: the negotiated revision has no ${part}`),
      )
      fit(dialect20251125)
    })
  }
}

test('a content list is split into messages for one-block revisions (trap 87)', () => {
  const params: CreateMessageParams = {
    messages: [
      { role: 'user', content: [text('a'), text('b')] },
      { role: 'assistant', content: text('c') },
    ],
    maxTokens: 5,
  }
  for (const dialect of older) {
    assert.equal(fitParams(dialect, 'sampling/createMessage', params), {
      messages: [
        { role: 'user', content: text('a') },
        { role: 'user', content: text('b') },
        { role: 'assistant', content: text('c') },
      ],
      maxTokens: 5,
    })
    assert.equal(fitResult(dialect, 'sampling/createMessage', answer([text('a')])), answer(text('a')))
  }
})

const elicitations: readonly [string, object | undefined, object | undefined][] = [
  ['a form', { form: {} }, {}],
  ['both', { form: {}, url: {} }, {}],
  ['nothing in particular', {}, {}],
  ['urls only', { url: {} }, undefined],
  ['nothing', undefined, undefined],
]

for (const [what, declared, expected] of elicitations) {
  test(`elicitation by ${what} is declared plainly to 2025-06-18`, () => {
    const capabilities = declared === undefined ? {} : { elicitation: declared }
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: { name: 'c', version: '1' } }
    const fitted = fitParams(dialect20250618, 'initialize', params)
    assert.equal(fitted.capabilities, expected === undefined ? {} : { elicitation: expected })
    assert.equal(fitParams(dialect20250326, 'initialize', params).capabilities, {})
  })
}

test('a missing resource and a URL page have the code of the revision (trap 84)', () => {
  const missing = { code: -32002, message: 'no such resource', data: { uri: 'a:b' } }
  const visit = { code: -32042, message: 'visit', data: { elicitations: [] } }
  for (const dialect of older) {
    assert.is(fitError(dialect, missing), missing)
    assert.equal(fitError(dialect, visit), { ...visit, code: -32600 })
    assert.is(fitError(dialect, { code: -32603, message: 'm' }).code, -32603)
  }
  // a revision may have another code for it
  const errors = { ...dialect20251125.errors, resourceNotFound: -32602 }
  assert.equal(fitError({ ...dialect20251125, errors }, missing), { ...missing, code: -32602 })
})

function text(text: string): SamplingContent {
  return { type: 'text', text }
}

function answer(content: SamplingContent | SamplingContent[]): Result<'sampling/createMessage'> {
  return { role: 'assistant', content, model: 'm' }
}

test('a question that names no mode is a form', () => {
  const params = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
  assert.throws(
    () => fitParams(dialect20250326, 'elicitation/create', params as ElicitParams),
    (error: unknown) =>
      error instanceof ProtocolError && error.code === 'NOT_IN_REVISION' && /mode form/.test(error.message),
  )
})

test('a revision without structuredContent keeps the text beside it', () => {
  const content = [{ type: 'text', text: 'in words' }] as const
  const result = fitResult(dialect20250326, 'tools/call', { content, structuredContent: { a: 1 } } as never)
  assert.equal(result, { content })
})

test.run()
