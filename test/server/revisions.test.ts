import * as assert from 'uvu/assert'
import { definePrompt, defineResource, defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { count } from './_servers.js'

const test = suite('server revisions')
const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

const rich = defineTool({
  name: 'rich',
  title: 'Rich',
  annotations: { readOnlyHint: true },
  run: () => ({
    content: [
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'x:a', name: 'a' },
    ],
    structuredContent: { a: 1 },
  }),
})
const step = defineTool({
  name: 'step',
  run: (_args, ctx) => String(ctx.progress(1, 2, 'half')),
})
const gate = defineTool({
  name: 'gate',
  run: (_args, { signal }) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('late'))),
})
const resource = defineResource({ uri: 'x:a', name: 'a', title: 'A', read: () => 'text' })
const prompt = definePrompt({
  name: 'p',
  title: 'P',
  arguments: [{ name: 'who', title: 'Who' }],
  get: () => [{ role: 'user', content: { type: 'resource_link', uri: 'x:a', name: 'a' } }],
  complete: { who: () => ['Ada'] },
})

async function start(t: TestContext): Promise<string | undefined> {
  const definition = defineServer({
    name: 'test',
    title: 'Test',
    version: '1',
    tools: [rich, step, count, gate],
    resources: [resource],
    prompts: [prompt],
    logging: true,
  })
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  return server.url
}

const fields = {
  '2024-11-05': { tool: ['inputSchema', 'name'], prompt: ['arguments', 'name'], info: ['name', 'version'] },
  '2025-03-26': {
    tool: ['annotations', 'inputSchema', 'name'],
    prompt: ['arguments', 'name'],
    info: ['name', 'version'],
  },
  '2025-06-18': {
    tool: ['annotations', 'inputSchema', 'name', 'title'],
    prompt: ['arguments', 'name', 'title'],
    info: ['name', 'title', 'version'],
  },
  '2025-11-25': {
    tool: ['annotations', 'inputSchema', 'name', 'title'],
    prompt: ['arguments', 'name', 'title'],
    info: ['name', 'title', 'version'],
  },
} as const

for (const revision of revisions) {
  test(`${revision} is negotiated and gets the fields it knows`, async (t) => {
    const client = new RawClient(t, await start(t))
    const answer = await client.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    })
    const result = answer.messages[0]?.result
    assert.is(result?.protocolVersion, revision)
    assert.equal(keys(result?.serverInfo), fields[revision].info)
    assert.equal(
      keys(result?.capabilities),
      ['completions', 'logging', 'prompts', 'resources', 'tools'].slice(revision === '2024-11-05' ? 1 : 0),
    )
    await client.open('raw', revision)
    const tools = (await client.ask('tools/list')).result?.tools ?? []
    assert.equal(keys(tools[0]), fields[revision].tool)
    const { prompts } = (await client.ask('prompts/list')).result as { prompts: object[] }
    assert.equal(keys(prompts[0]), fields[revision].prompt)
  })

  test(`${revision} gets only content types it knows`, async (t) => {
    const client = await new RawClient(t, await start(t)).open('raw', revision)
    const { result } = await client.call('rich')
    const types = ((result ?? {}).content as unknown as { type: string }[]).map(({ type }) => type)
    const isOld = revision < '2025-06-18'
    assert.equal(types, [revision === '2024-11-05' ? 'text' : 'audio', isOld ? 'text' : 'resource_link'])
    assert.is(result?.structuredContent !== undefined, !isOld)
    const got = (await client.ask('prompts/get', { name: 'p' })).result as {
      messages: { content: { type: string } }[]
    }
    assert.is(got.messages[0]?.content.type, isOld ? 'text' : 'resource_link')
    const read = await client.ask('resources/read', { uri: 'x:a' })
    assert.equal(read.result?.contents, [{ uri: 'x:a', text: 'text' }])
    const missing = await client.ask('resources/read', { uri: 'x:none' })
    assert.equal([missing.error?.code, missing.error?.data], [-32002, { uri: 'x:none' }])
    const completed = await client.ask('completion/complete', {
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name: 'who', value: '' },
    })
    assert.equal(completed.result, { completion: { values: ['Ada'] } })
  })

  test(`${revision} gets progress ${revision === '2024-11-05' ? 'without' : 'with'} words`, async (t) => {
    const client = await new RawClient(t, await start(t)).open('raw', revision)
    const answer = await client.post({
      jsonrpc: '2.0',
      id: 9,
      method: 'tools/call',
      params: { name: 'step', _meta: { progressToken: 't' } },
    })
    const { params } = answer.messages.find(({ method }) => method === 'notifications/progress') ?? {}
    assert.is(params?.message, revision === '2024-11-05' ? undefined : 'half')
  })
}

const ask = (id: number, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const tell = (method: string, params?: object) => ({ jsonrpc: '2.0', method, ...(params && { params }) })

test('2025-03-26 takes a batch: one array of answers, in any order, refusals included', async (t) => {
  const client = await new RawClient(t, await start(t)).open('raw', '2025-03-26')
  const { status, messages, headers } = await client.post([
    ask(1, 'ping'),
    tell('notifications/nothing'),
    ask(2, 'tools/call', { name: 'count' }),
    ask(3, 'nothing'),
    { jsonrpc: '1.0', id: 4, method: 'ping' },
  ])
  assert.is(status, 200)
  assert.is(headers['content-type'], 'application/json')
  const answers = new Map(messages.map((message) => [message.id, message.error?.code ?? message.result]))
  assert.equal([...answers.keys()].sort(), [1, 2, 3, 4])
  assert.equal(answers.get(1), {})
  assert.equal(answers.get(2), { content: [{ type: 'text', text: '1' }] })
  assert.equal([answers.get(3), answers.get(4)], [-32601, -32600])
})

test('a batch of 2025-03-26 without requests is taken with 202', async (t) => {
  const client = await new RawClient(t, await start(t)).open('raw', '2025-03-26')
  const { status, body } = await client.post([tell('notifications/cancelled', { requestId: 9 }), tell('x')])
  assert.equal([status, body], [202, ''])
})

test('a notification before batch answers makes the response a stream', async (t) => {
  const client = await new RawClient(t, await start(t)).open('raw', '2025-03-26')
  const answer = await client.post([
    ask(1, 'tools/call', { name: 'step', _meta: { progressToken: 1 } }),
    ask(2, 'ping'),
  ])
  assert.is(answer.headers['content-type'], 'text/event-stream')
  assert.equal(answer.messages.map(({ id, method }) => id ?? method).sort(), [1, 2, 'notifications/progress'])
})

test('a request in a batch can be cancelled by a later element of it', async (t) => {
  const client = await new RawClient(t, await start(t)).open('raw', '2025-03-26')
  const { messages } = await client.post([
    ask(1, 'tools/call', { name: 'gate' }),
    tell('notifications/cancelled', { requestId: 1 }),
    ask(2, 'ping'),
  ])
  assert.equal(
    messages.map(({ id }) => id),
    [2],
  )
})

for (const revision of revisions.filter((known) => known !== '2025-03-26')) {
  test(`${revision} refuses an array with 400, even with one element`, async (t) => {
    const client = await new RawClient(t, await start(t)).open('raw', revision)
    const { status, messages } = await client.post([ask(1, 'ping')])
    assert.equal([status, messages[0]?.error?.code], [400, -32600])
  })
}

function keys(value: unknown): string[] {
  return Object.keys(value as object).sort()
}

test.run()
