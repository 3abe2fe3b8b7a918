import { readFile } from 'node:fs/promises'
import * as assert from 'uvu/assert'
import { errorCodes, field, McpError } from 'caduceus/protocol'
import {
  definePrompt,
  defineResource,
  defineTool,
  promptResult,
  resourceResult,
  ToolError,
  toolResult,
} from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient, type Wire } from '../_client.js'
import { startParts } from '../_servers.js'

const test = suite('components guide')

const calculator = defineTool({
  description: 'Add two numbers',
  input: { a: field.number(), b: field.number() },
  run: ({ a, b }) => `Result: ${a + b}`,
})
const divider = defineTool({
  description: 'Divide two numbers',
  input: { a: field.number(), b: field.number() },
  run: ({ a, b }) => (b === 0 ? toolResult().error('Cannot divide by zero') : `${a} ÷ ${b} = ${a / b}`),
})
const systemInfo = defineTool({
  description: 'Get system information',
  run: () => toolResult().json({ os: 'any', processes: 1 }),
})
const refuser = defineTool({
  input: { how: field.enum(['text', 'error', 'code']) },
  run({ how }) {
    if (how === 'code') throw new McpError(-32001, 'Unauthorized', { data: { realm: 'x' } })
    throw new ToolError(how === 'text' ? 'Unauthorized' : new Error('Unauthorized'))
  },
})
const counter = defineTool({
  input: { increment: field.integer({ default: 1 }) },
  async run({ increment }, ctx) {
    return `Count: ${await ctx.update('count', (count = 0) => count + increment)}`
  },
})
const assistant = definePrompt({
  description: 'General assistant prompt',
  arguments: { style: field.enum(['formal', 'casual'], { type: 'string' }) },
  get: ({ style }) =>
    style === 'formal'
      ? promptResult()
          .system('You are a formal, professional assistant.')
          .user('Please help me with my task.')
      : promptResult().system('You are a friendly, casual assistant.').user('Hey, can you help me out?'),
})
const codeReview = definePrompt({
  description: 'Code review prompt',
  arguments: { language: field.string({ description: 'Programming language' }) },
  get: ({ language }) =>
    promptResult(`Code review for ${language}`).user(`Please review the following ${language} code.`),
})
const config = defineResource({
  uri: 'config://app',
  description: 'Application configuration',
  mimeType: 'application/json',
  read: () => resourceResult().json({ version: '1.0.0', env: 'test' }),
})
const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
const logo = defineResource({ uri: 'assets://logo', mimeType: 'image/png', read: () => bytes })
const missing = defineResource({
  uri: 'assets://missing',
  async read() {
    try {
      return await readFile('/there/is/no/such/file')
    } catch (cause) {
      const data = { reason: (cause as NodeJS.ErrnoException).code }
      throw new McpError(errorCodes.internalError, 'Internal error', { cause, data })
    }
  },
})

const guide = {
  tools: { calculator, divider, systemInfo, refuser, counter },
  prompts: { assistant, codeReview },
  resources: { config, logo, missing },
}

async function open(t: TestContext): Promise<RawClient> {
  return (await startParts(t, guide)).client
}

/** The names and descriptions on a list. */
async function listed(client: RawClient, kind: 'tools' | 'prompts' | 'resources'): Promise<unknown[]> {
  const { result } = await client.ask(`${kind}/list`)
  const all = (result?.[kind] ?? []) as { name: string; description?: string }[]
  return all.map(({ name, description }) => [name, description])
}

test('S110: a component is called by its variable, in snake case, and described', async (t) => {
  const client = await open(t)
  assert.equal((await listed(client, 'tools')).slice(0, 3), [
    ['calculator', 'Add two numbers'],
    ['divider', 'Divide two numbers'],
    ['system_info', 'Get system information'],
  ])
  assert.equal(await listed(client, 'prompts'), [
    ['assistant', 'General assistant prompt'],
    ['code_review', 'Code review prompt'],
  ])
  assert.is(await client.text('calculator', { a: 1, b: 2.5 }), 'Result: 3.5')
})

test('S116, S117: a failure of a tool is a result that says so', async (t) => {
  const client = await open(t)
  assert.is(await client.text('divider', { a: 1, b: 4 }), '1 ÷ 4 = 0.25')
  assert.equal((await client.call('divider', { a: 1, b: 0 })).result, {
    content: [{ type: 'text', text: 'Cannot divide by zero' }],
    isError: true,
  })
})

test('S118: a JSON response is text with JSON', async (t) => {
  const { result } = await (await open(t)).call('system_info')
  assert.equal(result, { content: [{ type: 'text', text: '{"os":"any","processes":1}' }], isError: false })
})

test('S119: a tool without a schema takes missing, empty and other arguments', async (t) => {
  const client = await open(t)
  for (const args of [{}, { arguments: {} }, { arguments: { other: 1 } }]) {
    const { result } = await client.ask('tools/call', { name: 'system_info', ...args })
    assert.is(result?.isError, false)
  }
})

test('S120, S121: a prompt checks its choices and sends system text as the user', async (t) => {
  const client = await open(t)
  const get = (style?: string) =>
    client.ask('prompts/get', { name: 'assistant', ...(style !== undefined && { arguments: { style } }) })
  assert.equal((await get('formal')).result?.messages, [
    { role: 'user', content: { type: 'text', text: 'You are a formal, professional assistant.' } },
    { role: 'user', content: { type: 'text', text: 'Please help me with my task.' } },
  ])
  for (const style of ['rude', undefined]) assert.is((await get(style)).error?.code, -32602)
})

test('S122: a prompt is described in the list and in its result', async (t) => {
  const { result } = await (await open(t)).ask('prompts/get', {
    name: 'code_review',
    arguments: { language: 'C' },
  })
  assert.is(result?.description, 'Code review for C')
})

test('S125: a text resource has uri, type and text', async (t) => {
  const client = await open(t)
  assert.equal((await listed(client, 'resources'))[0], ['config', 'Application configuration'])
  assert.equal((await client.ask('resources/read', { uri: 'config://app' })).result, {
    contents: [
      { uri: 'config://app', mimeType: 'application/json', text: '{"version":"1.0.0","env":"test"}' },
    ],
  })
})

test('S126: the bytes of a resource come back as they are', async (t) => {
  const { result } = await (await open(t)).ask('resources/read', { uri: 'assets://logo' })
  const [part] = (result?.contents ?? []) as { blob: string; mimeType: string }[]
  assert.is(part?.mimeType, 'image/png')
  assert.equal(new Uint8Array(Buffer.from(part?.blob ?? '', 'base64')), bytes)
})

test('S127: a read that fails is an internal error with what the author says of it', async (t) => {
  const { error } = await (await open(t)).ask('resources/read', { uri: 'assets://missing' })
  assert.equal([error?.code, error?.data], [-32603, { reason: 'ENOENT' }])
})

test('S132: only what is declared is there', async (t) => {
  const { server } = await startParts(t, { prompts: { assistant } })
  const client = new RawClient(t, server.url)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const opened = await client.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  assert.equal(Object.keys((opened.messages[0]?.result?.capabilities ?? {}) as object), ['prompts'])
  client.sessionId = String(opened.headers['mcp-session-id'])
  assert.is((await client.ask('tools/list')).error?.code, -32601)
  assert.is((await client.ask('resources/read', { uri: 'config://app' })).error?.code, -32601)
})

test('S134: a counter counts in each session for itself, in order', async (t) => {
  const { client, server } = await startParts(t, guide)
  for (const count of [1, 2, 3]) assert.is(await client.text('counter'), `Count: ${count}`)
  const other = await new RawClient(t, server.url).open()
  assert.is(await other.text('counter', { increment: 5 }), 'Count: 5')
})

test('S135, S144: a schema as a map of JSON Schemas says the same as fields', () => {
  const [one, other] = [
    defineTool({
      name: 'x',
      input: { name: field.string(), age: field.integer({ default: 25 }), tags: field.list(field.string()) },
      run: () => '',
    }),
    defineTool({
      name: 'x',
      input: {
        name: field.string(),
        age: { type: 'integer', default: 25 },
        tags: { type: 'array', items: { type: 'string' } },
      },
      run: () => '',
    }),
  ]
  assert.equal(one.schema.jsonSchema, other.schema.jsonSchema)
})

test('S140, S143: a text, an error or a code of its own reach the client', async (t) => {
  const client = await open(t)
  for (const how of ['text', 'error']) {
    const { result } = await client.call('refuser', { how })
    assert.equal(result, { content: [{ type: 'text', text: 'Unauthorized' }], isError: true })
  }
  assert.equal((await client.call('refuser', { how: 'code' })).error, {
    code: -32001,
    message: 'Unauthorized',
    data: { realm: 'x' },
  } satisfies Wire['error'])
})

test('S159: three faults are told at once', async (t) => {
  const tool = defineTool({
    name: 'schedule',
    input: { day: field.date(), title: field.string(), seats: field.integer() },
    run: ({ day }) => String(day),
  })
  const { client } = await startParts(t, { tools: [tool] })
  const { result } = await client.call('schedule', { day: '15.1.2024', seats: '7' })
  const text = result?.content?.[0]?.text ?? ''
  assert.match(text, /day: invalid ISO 8601 date format/)
  assert.match(text, /title: is required/)
  assert.match(text, /seats: expected an integer, got a string/)
  assert.is(await client.text('schedule', { day: '2024-01-15', title: 'x', seats: 1 }), '2024-01-15')
})

test.run()
