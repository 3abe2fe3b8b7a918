import * as assert from 'uvu/assert'
import {
  type Client,
  ClientError,
  type StartClientOptions,
  subscribeClient,
  type WarningEvent,
} from 'caduceus/client'
import { scriptedServer } from 'caduceus/testing'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { json, listen, polite, result } from '../../transports/_http.js'
import { rejection, watch } from '../_raw.js'

const test = suite('results')
const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

/** A client of a server with one tool, which answers with what the test says. */
async function answering(
  t: TestContext,
  tool: object,
  value: () => object,
  options: Partial<StartClientOptions> = {},
): Promise<Client> {
  const { url } = await listen(
    t,
    polite((one) => {
      const tools = [{ name: 'it', inputSchema: { type: 'object' }, ...tool }]
      json(one, result(one, one.message.method === 'tools/list' ? { tools } : value()))
    }),
  )
  return watch(t, { transport: http(url, { stream: false }), ...options }).client
}

test('structured content that breaks the output schema rejects, with its path', async (t) => {
  let structured: object = { structuredContent: { n: 1 } }
  const client = await answering(t, { outputSchema }, () => ({ content: [], ...structured }))
  structured = { structuredContent: { n: 'one' } }
  assert.equal(
    (await client.callTool('it')).structuredContent,
    { n: 'one' },
    'never listed: nothing was promised',
  )
  await client.listTools()
  const error = await rejection(client.callTool('it'))
  assert.instance(error, ClientError)
  assert.is(error.code, 'BAD_OUTPUT')
  assert.match(error.message, 'n')
  structured = {}
  assert.is((await rejection(client.callTool('it'))).code, 'BAD_OUTPUT')
  structured = { isError: true }
  assert.is((await client.callTool('it')).isError, true, 'a tool that failed has promised nothing')
  structured = { structuredContent: { n: 2 } }
  assert.equal((await client.callTool('it')).json, { n: 2 })
})

test('checking structured results can be switched off', async (t) => {
  const client = await answering(t, { outputSchema }, () => ({ content: [] }), { checkOutput: false })
  await client.listTools()
  assert.equal((await client.callTool('it')).content, [])
})

for (const [what, hostile] of [
  [
    'a reference to the outside',
    { type: 'object', properties: { x: { $ref: 'https://example.com/x.json' } } },
  ],
  ['an unknown dialect', { $schema: 'https://example.com/dialect', type: 'object' }],
  ['bottomless nesting', nested(200)],
] as const) {
  test(`an output schema with ${what} only warns`, async (t) => {
    const warnings = heard<WarningEvent>()
    t.after(subscribeClient('warning', warnings.add))
    const client = await answering(t, { outputSchema: hostile }, () => ({
      content: [],
      structuredContent: {},
    }))
    try {
      await client.listTools()
    } catch (error) {
      // a list that is nested too deep is no message at all
      assert.is((error as ClientError).code, 'INVALID_RESPONSE')
      return
    }
    assert.equal((await client.callTool('it')).structuredContent, {})
    assert.is((await warnings.next()).type, 'bad_schema')
  })
}

function nested(depth: number): object {
  return depth === 0 ? { type: 'object' } : { type: 'object', properties: { x: nested(depth - 1) } }
}

test('the shortcuts of results: text, json, images, blobs; none of them is a field', async (t) => {
  let value: object = {}
  const client = await answering(t, {}, () => value)
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  value = { content: [{ type: 'text', text: '{"a":' }, image, { type: 'text', text: '1}' }] }
  const tool = await client.callTool('it')
  assert.is(tool.text, '{"a":\n1}')
  assert.equal(tool.json, { a: 1 })
  assert.equal(tool.images, [image])
  assert.equal(Object.keys(tool), ['content'])
  value = { content: [{ type: 'text', text: 'no json' }] }
  assert.is((await client.callTool('it')).json, undefined)
  value = {
    contents: [
      { uri: 'a:1', text: '[1]' },
      { uri: 'a:2', blob: 'AQI=' },
    ],
  }
  const resource = await client.readResource('a:1')
  assert.equal(resource.json, [1])
  assert.equal([...(resource.blobs[0] ?? [])], [1, 2])
})

const text = { type: 'text', text: 'x' }
const wrongResults: readonly [
  method: string,
  call: (client: Client) => Promise<unknown>,
  wrong: object,
  path: string,
][] = [
  ['tools/call', (client) => client.callTool('it'), { nonsense: 1 }, 'content: expected an array'],
  ['tools/call', (client) => client.callTool('it'), { content: null }, 'content: expected an array'],
  ['tools/call', (client) => client.callTool('it'), { content: [5] }, 'content[0]: expected an object'],
  [
    'tools/call',
    (client) => client.callTool('it'),
    { content: [text, { type: 'text', text: 5 }] },
    'content[1].text: expected a string',
  ],
  [
    'tools/call',
    (client) => client.callTool('it'),
    { content: [{ type: 'image', data: 5, mimeType: 'image/png' }] },
    'content[0].data: expected a string',
  ],
  [
    'tools/call',
    (client) => client.callTool('it'),
    { content: [{ type: 'resource', resource: { text: 'no uri' } }] },
    'content[0].resource.uri: expected a string',
  ],
  [
    'tools/list',
    (client) => client.listTools(),
    { tools: [{ name: 'a', inputSchema: {}, icons: 'a string' }] },
    'tools[0].icons: expected an array',
  ],
  [
    'resources/list',
    (client) => client.listResources(),
    { resources: [{ uri: 'a:b', name: 'a', size: 'big' }] },
    'resources[0].size: expected a number',
  ],
  [
    'resources/templates/list',
    (client) => client.listTemplates(),
    { resourceTemplates: [{ name: 'a' }] },
    'resourceTemplates[0].uriTemplate: expected a string',
  ],
  [
    'resources/read',
    (client) => client.readResource('a:b'),
    { contents: [{ uri: 'a:b' }] },
    'contents[0].text: expected a string',
  ],
  [
    'prompts/list',
    (client) => client.listPrompts(),
    { prompts: [{ name: 'a', arguments: [{ name: 1 }] }] },
    'prompts[0].arguments[0].name: expected a string',
  ],
  [
    'prompts/get',
    (client) => client.getPrompt('a'),
    { messages: [{ role: 'system', content: text }] },
    'messages[0].role: expected one of user, assistant',
  ],
  [
    'completion/complete',
    (client) =>
      client.complete({ ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'b', value: '' } }),
    { completion: { values: [1] } },
    'completion.values[0]: expected a string',
  ],
]

test('a result that breaks its method rejects with INVALID_RESPONSE and its path', async (t) => {
  let answer: object = {}
  const script = Object.fromEntries(wrongResults.map(([method]) => [method, () => answer]))
  const server = scriptedServer(script)
  const { client } = watch(t, { transport: server.transport })
  for (const [method, call, wrong, path] of wrongResults) {
    answer = wrong
    const error = await rejection(call(client))
    assert.equal([error.code, error.retryable], ['INVALID_RESPONSE', false], JSON.stringify(wrong))
    assert.ok(error.message.startsWith(`${method}: result.${path}, got `), error.message)
  }
  assert.is(client.state.phase, 'ready')
})

test('unknown and newer fields of results pass unchanged', async (t) => {
  const tools = [{ name: 'old', inputSchema: { type: 'object' }, invented: { a: 1 } }]
  const content = [
    { type: 'hologram', bytes: 1 },
    { ...text, invented: true },
  ]
  const server = scriptedServer({
    'tools/list': () => ({ tools, invented: 1 }),
    'tools/call': () => ({ content, invented: [] }),
  })
  const { client } = watch(t, { transport: server.transport })
  assert.equal((await client.listTools()).tools, tools)
  assert.equal((await client.callTool('it')).content, content)
})

test('endless pages end with TOO_MANY_PAGES, of every list', async (t) => {
  const list = { tools: [], resources: [], resourceTemplates: [], prompts: [], nextCursor: 'more' }
  const { url } = await listen(
    t,
    polite((one) => json(one, result(one, list))),
  )
  const { client } = watch(t, { transport: http(url, { stream: false }) })
  for (const list of ['tools', 'resources', 'templates', 'prompts'] as const) {
    const error = await rejection(client[list]({ maxPages: 3 }).next())
    assert.is(error.code, 'TOO_MANY_PAGES')
  }
})

test('a broken entry fails its list, or is left out for whoever wants to hear of it', async (t) => {
  const resources = [{ uri: 'a:1' }, { uri: 'a:2', name: 'two' }]
  const client = await answering(t, {}, () => ({ resources, resourceTemplates: [], prompts: [] }))
  const strict = await rejection(client.request('resources/list', {}))
  assert.is(strict.code, 'INVALID_RESPONSE')
  assert.match(strict.message, 'result.resources[0].name: expected a string')
  const told: string[] = []
  const onBadEntry = (problem: string): void => {
    told.push(problem)
    throw new Error('nobody minds')
  }
  const list = await client.request('resources/list', {}, { onBadEntry })
  assert.equal(list, { resources: [resources[1]] as never, resourceTemplates: [], prompts: [] })
  assert.equal(told, ['resources/list: resources[0].name of "a:1": expected a string, got nothing'])
  const option = await rejection(client.request('prompts/list', {}, { onBadEntry: 1 as never }))
  assert.equal([option.code, option.data], ['BAD_OPTION', { field: 'onBadEntry', sent: false }])
})

test.run()
