import * as assert from 'uvu/assert'
import { errorCodes, McpError } from 'caduceus/protocol'
import { AskError, definePrompt, defineResource, defineTool, ServerError, ToolError } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startPort } from './_exchanges.js'
import { echo } from '../_servers.js'

const test = suite('exchanges')
const serverInfo = { name: 'test', version: '1' }
const stamp = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }

test('server/discover of an empty server tells revisions, name and cache time', async (t) => {
  const { ask } = await startPort(t, { instructions: 'Be kind.', tools: [] })
  assert.equal((await ask('server/discover')).result, {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: true } },
    instructions: 'Be kind.',
    ...stamp,
    ttlMs: 0,
    cacheScope: 'private',
  })
})

test('server/discover shows capabilities added at run time', async (t) => {
  const { ask, server } = await startPort(t, { prompts: [] })
  const completions = async () => (await ask('server/discover')).result?.capabilities
  assert.equal(await completions(), { prompts: { listChanged: true } })
  const complete = { a: () => ['x'] }
  await server.addPrompt(
    definePrompt({ name: 'p', arguments: [{ name: 'a' }], complete, get: () => 'hello' }),
  )
  assert.equal(await completions(), { completions: {}, prompts: { listChanged: true } })
})

test('lists are stamped, keep their order, and follow changes', async (t) => {
  const { ask, server } = await startPort(t, { tools: [echo], cache: { ttl: 1_000, scope: 'public' } })
  const list = async () => (await ask('tools/list')).result
  const { tools, ...rest } = (await list()) ?? {}
  assert.equal(rest, { ...stamp, ttlMs: 1_000, cacheScope: 'public' })
  assert.equal(
    tools?.map(({ name }) => name),
    ['echo'],
  )
  await server.addTool(defineTool({ name: 'another', run: () => 'x' }))
  assert.equal(
    (await list())?.tools?.map(({ name }) => name),
    ['echo', 'another'],
  )
})

test('a tool call sees the client facts of its request, without a session', async (t) => {
  const seen: unknown[] = []
  const look = defineTool({
    name: 'look',
    run: (_args, ctx) => {
      seen.push(ctx.session, ctx.requestId)
      return 'x'
    },
  })
  const { call } = await startPort(t, { tools: [look] })
  const { result } = await call('look', {}, { id: 'a', clientCapabilities: { roots: {} } })
  assert.equal(result, { content: [{ type: 'text', text: 'x' }], ...stamp })
  await call('look', {}, { id: 7, clientInfo: { name: 'c', version: '2' } })
  const revision = '2026-07-28'
  assert.equal(seen, [
    { id: undefined, client: { name: 'unknown', version: 'unknown' }, revision, capabilities: { roots: {} } },
    'a',
    { id: undefined, client: { name: 'c', version: '2' }, revision, capabilities: {} },
    7,
  ])
})

test('a slow request has the same answer as a fast one', async (t) => {
  const later = defineTool({ name: 'later', run: async () => 'done' })
  const { call, ask } = await startPort(t, {
    tools: [later],
    prompts: [definePrompt({ name: 'p', get: () => 'hello' })],
    resources: [
      defineResource({ uri: 'x:1', name: '1', cache: { ttl: 5 }, read: () => 'text' }),
      defineResource({ uri: 'x:2', name: '2', read: async () => 'text' }),
    ],
  })
  assert.equal((await call('later')).result, { content: [{ type: 'text', text: 'done' }], ...stamp })
  const content = { type: 'text', text: 'hello' }
  assert.equal((await ask('prompts/get', { name: 'p' })).result, {
    messages: [{ role: 'user', content }],
    ...stamp,
  })
  const read = async (uri: string) => (await ask('resources/read', { uri })).result
  assert.equal(await read('x:1'), {
    contents: [{ uri: 'x:1', text: 'text' }],
    ...stamp,
    ttlMs: 5,
    cacheScope: 'private',
  })
  assert.equal(await read('x:2'), {
    contents: [{ uri: 'x:2', text: 'text' }],
    ...stamp,
    ttlMs: 0,
    cacheScope: 'private',
  })
})

const refusals: [what: string, method: string, params: object, code: number][] = [
  ['a method that nobody knows', 'nothing/there', {}, errorCodes.methodNotFound],
  ['ping', 'ping', {}, errorCodes.methodNotFound],
  ['initialize', 'initialize', {}, errorCodes.methodNotFound],
  ['logging/setLevel', 'logging/setLevel', { level: 'info' }, errorCodes.methodNotFound],
  ['resources/subscribe', 'resources/subscribe', { uri: 'x:1' }, errorCodes.methodNotFound],
  ['a kind that the server does not have', 'prompts/list', {}, errorCodes.methodNotFound],
  ['a tool that does not exist', 'tools/call', { name: 'no' }, errorCodes.invalidParams],
  ['params that are none', 'tools/call', { name: 1 }, errorCodes.invalidParams],
  ['a cursor of no list', 'tools/list', { cursor: 'x' }, errorCodes.invalidParams],
  ['a resource that does not exist', 'resources/read', { uri: 'x:no' }, errorCodes.invalidParams],
]

for (const [what, method, params, code] of refusals) {
  test(`${what} is refused with ${code} before anything runs`, async (t) => {
    const resource = defineResource({ uri: 'x:1', name: '1', read: () => 'text' })
    const { send } = await startPort(t, { tools: [echo], resources: [resource] })
    const { response, refused } = await send(method, params as never).answer
    assert.is(refused, true)
    assert.is(response !== undefined && 'error' in response && response.error.code, code)
  })
}

test('a resource that is not there any more when it is read is told with its uri', async (t) => {
  const resource = defineResource({ uri: 'x:1', name: '1', read: () => undefined })
  const { send } = await startPort(t, { resources: [resource] })
  const { response, refused } = await send('resources/read', { uri: 'x:1' }).answer
  assert.is(refused, false)
  assert.equal(response, {
    jsonrpc: '2.0',
    id: 1,
    error: { code: errorCodes.invalidParams, message: 'Resource not found', data: { uri: 'x:1' } },
  })
})

test('an unknown revision is refused with -32022 and the supported ones', async (t) => {
  const { send } = await startPort(t, {})
  const { response, refused } = await send('tools/list', {}, { revision: '1900-01-01' }).answer
  assert.is(refused, true)
  const error = response !== undefined && 'error' in response ? response.error : undefined
  assert.is(error?.code, errorCodes.unsupportedProtocolVersion)
  assert.equal(error?.data, { supported: ['2026-07-28'], requested: '1900-01-01' })
})

test('bad arguments, ToolError and McpError are told as in any other revision', async (t) => {
  const run = () => {
    throw new ToolError('no luck')
  }
  const refuse = async () => {
    throw new McpError(-12_345, 'refused', { data: { why: 1 } })
  }
  const { call } = await startPort(t, {
    tools: [echo, defineTool({ name: 'unlucky', run }), defineTool({ name: 'refusing', run: refuse })],
  })
  const bad = await call('echo', { text: 1 })
  assert.equal([bad.result?.isError, bad.result?.resultType], [true, 'complete'])
  assert.match(String(bad.result?.content?.[0]?.text), /text/)
  assert.equal((await call('unlucky')).result, {
    content: [{ type: 'text', text: 'no luck' }],
    isError: true,
    ...stamp,
  })
  assert.equal((await call('refusing')).error, { code: -12_345, message: 'refused', data: { why: 1 } })
})

const mirrored = defineTool({
  name: 'mirrored',
  input: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
    },
  },
  run: () => 'ran',
})

const headerCases: [what: string, args: object, headers: Record<string, string>, runs: boolean][] = [
  [
    'that say the same',
    { region: 'eu', count: 42 },
    { 'mcp-param-region': 'eu', 'mcp-param-count': '42.0' },
    true,
  ],
  ['in base64', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, true],
  ['that are not needed', { region: null }, {}, true],
  ['that say something else', { region: 'eu' }, { 'mcp-param-region': 'us' }, false],
  ['that are missing', { region: 'eu' }, {}, false],
]

for (const [what, args, headers, runs] of headerCases) {
  test(`headers of parameters ${what} are ${runs ? 'taken' : 'refused with -32020'}`, async (t) => {
    const { send } = await startPort(t, { tools: [mirrored] })
    const { response, refused } = await send('tools/call', { name: 'mirrored', arguments: args }, { headers })
      .answer
    const code = response !== undefined && 'error' in response ? response.error.code : undefined
    assert.equal([refused, code], runs ? [false, undefined] : [true, errorCodes.headerMismatch])
  })
}

test('parameter headers are checked only over HTTP', async (t) => {
  const { call } = await startPort(t, { tools: [mirrored] })
  assert.is((await call('mirrored', { region: 'eu' }, { isPiped: true })).result?.content?.[0]?.text, 'ran')
})

test('a schema that breaks the x-mcp-header rules is refused in the definition', () => {
  for (const part of [
    { type: 'number', 'x-mcp-header': 'N' },
    { type: 'string', 'x-mcp-header': 'not a token' },
    { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
  ]) {
    const input = { type: 'object', properties: { part } } as never
    assert.throws(
      () => defineTool({ name: 'x', input, run: () => 'x' }),
      (error: unknown) => error instanceof ServerError && error.code === 'BAD_DEFINITION',
    )
  }
})

test('session state is refused with advice', async (t) => {
  const told: string[] = []
  const keep = defineTool({
    name: 'keep',
    async run(_args, ctx) {
      for (const use of [() => ctx.get('k'), () => ctx.update('k', () => 1)])
        await use().catch(({ code, message }) => told.push(code, message))
      return ''
    },
  })
  const { call } = await startPort(t, { tools: [keep] })
  await call('keep')
  assert.equal([told.length, told[0], told[2]], [4, 'NO_SESSION', 'NO_SESSION'])
  assert.match(String(told[1]), /ctx\.once/)
})

test('a completion without a completer is empty and stamped', async (t) => {
  const prompt = definePrompt({
    name: 'p',
    arguments: [{ name: 'a' }, { name: 'b' }],
    get: () => 'x',
    complete: { b: () => [] },
  })
  const { ask } = await startPort(t, { prompts: [prompt] })
  for (const name of ['a', 'b']) {
    const params = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name, value: '' } }
    assert.equal((await ask('completion/complete', params)).result, { completion: { values: [] }, ...stamp })
  }
})

test('a completer cannot elicit', async (t) => {
  const told: unknown[] = []
  const prompt = definePrompt({
    name: 'p',
    arguments: [{ name: 'a' }],
    get: () => 'x',
    complete: {
      async a(_value, _chosen, ctx) {
        await ctx.roots('places').catch((error) => told.push(error instanceof AskError && error.code))
        return ['b']
      },
    },
  })
  const { ask } = await startPort(t, { prompts: [prompt] })
  const params = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }
  const { result } = await ask('completion/complete', params, { clientCapabilities: { roots: {} } })
  assert.equal(result, { completion: { values: ['b'] }, ...stamp })
  assert.equal(told, ['MISSING_CAPABILITY'])
})

test.run()
