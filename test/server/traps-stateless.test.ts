import * as assert from 'uvu/assert'
import { metaKeys } from 'caduceus/protocol'
import { definePrompt, defineResource, defineTool } from 'caduceus/server'
import { suite, type TestContext } from '../support/suite.js'
import { type Answer, initialize } from './_client.js'
import { echo } from './_servers.js'
import { type Posted, posted, revision, startStateless } from './_stateless.js'

/** The traps of the specification that a server of 2026-07-28 has to pass, by their numbers in our digest. */
const test = suite('server traps without sessions')

const properties = {
  region: { type: 'string', 'x-mcp-header': 'Region' },
  way: { type: 'string', 'x-mcp-header': 'Method' },
} as const
const tools = [
  echo,
  defineTool({
    name: 'strict',
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    run: ({ n }) => String(n),
  }),
  defineTool({ name: 'routed', input: { type: 'object', properties }, run: (args) => JSON.stringify(args) }),
  defineTool({
    name: 'chatty',
    async run(_args, ctx) {
      ctx.log('emergency', 'x')
      ctx.progress(1)
      return String(ctx.elicitationComplete('e'))
    },
  }),
  defineTool({
    name: 'asks',
    async run(_args, ctx) {
      ctx.progress(1)
      return (
        await ctx.elicit('who', { message: 'Who?', requestedSchema: { type: 'object', properties: {} } })
      ).action
    },
  }),
]
const parts = {
  tools,
  logging: true,
  resources: [defineResource({ uri: 'x:a', name: 'a', read: () => 'a' })],
  prompts: [
    definePrompt({
      name: 'p',
      arguments: [{ name: 'a' }],
      get: () => 'p',
      complete: { a: () => Array.from({ length: 150 }, (_, index) => String(index)) },
    }),
  ],
}

function call(name: string, args: object = {}, headers: Record<string, string> = {}): Posted {
  return posted('tools/call', { name, arguments: args }, headers)
}

function withMeta(method: string, meta: object, headers?: Record<string, string>): Posted {
  return posted(method, { _meta: meta }, headers)
}

/** Status, JSON-RPC code and text of an answer. */
function told({ status, messages }: Answer): unknown[] {
  const last = messages.at(-1)
  return [status, last?.error?.code, last?.result?.content?.[0]?.text]
}

async function start(t: TestContext) {
  return startStateless(t, parts)
}

test('trap 6: methods that are gone are 404 with -32601, and never silence', async (t) => {
  const { send } = await start(t)
  for (const method of ['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'tasks/get', 'x/y'])
    assert.equal(
      told(await send(posted(method, { uri: 'x:a', level: 'info' }))),
      [404, -32601, undefined],
      method,
    )
})

test('trap 7: server/discover works on a server without features', async (t) => {
  const { send } = await startStateless(t, {})
  const { result } = (await send(posted('server/discover'))).messages[0] ?? {}
  assert.equal([result?.ttlMs, result?.cacheScope, result?.resultType], [0, 'private', 'complete'])
  assert.equal(result?.supportedVersions, [revision])
})

test('trap 8 and 9: an envelope needs capabilities, and no clientInfo', async (t) => {
  const { send } = await start(t)
  const lacking = await send(withMeta('tools/list', { [metaKeys.clientCapabilities]: undefined }))
  assert.equal(told(lacking), [400, -32602, undefined])
  assert.equal((await send(posted('tools/list'))).status, 200)
})

test('trap 10: capabilities of one request do not carry over to the next', async (t) => {
  const { send } = await start(t)
  const asks = { name: 'asks', _meta: { [metaKeys.clientCapabilities]: { elicitation: {} } } }
  assert.is((await send(posted('tools/call', asks))).messages[0]?.result?.resultType, 'input_required')
  assert.equal(told(await send(call('asks'))), [400, -32021, undefined])
})

test('trap 11, 12 and 13: header and body agree on a supported revision', async (t) => {
  const { send } = await start(t)
  const other = { [metaKeys.protocolVersion]: '2025-11-25' }
  assert.equal(told(await send(withMeta('tools/list', other))), [400, -32020, undefined])
  const ancient = { [metaKeys.protocolVersion]: '1900-01-01' }
  const refused = await send(withMeta('tools/list', ancient, { 'mcp-protocol-version': '1900-01-01' }))
  assert.equal(told(refused), [400, -32022, undefined])
  assert.equal(refused.messages[0]?.error?.data, { supported: [revision], requested: '1900-01-01' })
  const bare = { ...posted('tools/list'), body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
  assert.equal(told(await send(bare)), [400, -32602, undefined])
})

test('trap 21: ids 0 and "" are ids', async (t) => {
  const { send } = await start(t)
  for (const id of [0, '']) {
    const { body, headers } = posted('tools/list')
    assert.is((await send({ body: { ...body, id }, headers })).messages[0]?.id, id)
  }
})

test('trap 27: requests of many clients with one id do not collide', async (t) => {
  const { send } = await start(t)
  const texts = Array.from({ length: 20 }, (_, index) => String(index))
  const answers = await Promise.all(texts.map((text) => send(call('echo', { text }))))
  assert.equal(
    answers.map((answer) => told(answer)[2]),
    texts,
  )
})

test('trap 33 and 34: an empty cursor and garbage are -32602 where no page was given', async (t) => {
  const { send } = await start(t)
  for (const cursor of ['', 'garbage'])
    assert.equal(told(await send(posted('tools/list', { cursor }))), [200, -32602, undefined])
})

const spellings: [what: string, headers: Record<string, string>, code: number | undefined][] = [
  ['trap 52: names of headers in any case', { 'MCP-METHOD': 'tools/call' }, undefined],
  ['trap 52: the method in another case', { 'mcp-method': 'Tools/Call' }, -32020],
  ['trap 53: whitespace around a value', { 'mcp-name': '  routed  ' }, undefined],
  ['trap 54: the name in base64', { 'mcp-name': '=?base64?cm91dGVk?=' }, undefined],
  ['trap 54: a sentinel in capitals, which is literal', { 'mcp-name': '=?BASE64?cm91dGVk?=' }, -32020],
  ['trap 54: base64 that is none', { 'mcp-name': '=?base64?*?=' }, -32020],
]

for (const [what, headers, code] of spellings)
  test(`${what} ${code === undefined ? 'is taken' : `is ${code}`}`, async (t) => {
    const { send } = await start(t)
    const { body, headers: usual } = call('routed')
    // node joins nothing here: a name in another case replaces the usual one
    const kept = Object.entries(usual).filter(([name]) => !(name.toUpperCase() in headers))
    const [status, got] = told(await send({ body, headers: { ...Object.fromEntries(kept), ...headers } }))
    assert.equal([status, got], code === undefined ? [200, undefined] : [400, code])
  })

test('trap 57, 58 and 59: arguments and their headers', async (t) => {
  const { send } = await start(t)
  const cases: [args: object, headers: Record<string, string>, status: number][] = [
    [{}, {}, 200],
    [{ region: '' }, { 'mcp-param-region': '' }, 200],
    [{ region: 'eu' }, {}, 400],
    [{ way: 'get' }, { 'mcp-param-method': 'get' }, 200],
    [{ way: 'get' }, { 'mcp-param-method': 'GET' }, 400],
  ]
  for (const [args, headers, status] of cases)
    assert.equal(told(await send(call('routed', args, headers))).slice(0, 2), [
      status,
      status === 200 ? undefined : -32020,
    ])
})

test('trap 61: headers of sessions are ignored and never sent back', async (t) => {
  const { send } = await start(t)
  const answer = await send(posted('tools/list', {}, { 'mcp-session-id': 'none', 'last-event-id': '1' }))
  assert.equal([answer.status, answer.headers['mcp-session-id']], [200, undefined])
})

test('trap 63a and 72: a missing capability is 400, or in the stream once it is open', async (t) => {
  const { send } = await start(t)
  const early = await send(call('asks'))
  assert.equal(told(early), [400, -32021, undefined])
  assert.equal(early.messages[0]?.error?.data, { requiredCapabilities: { elicitation: {} } })
  const late = await send(posted('tools/call', { name: 'asks', _meta: { progressToken: 1 } }))
  assert.equal(told(late), [200, -32021, undefined])
  assert.is(late.messages.length, 2)
})

test('trap 78: nothing is logged that the request has not asked for', async (t) => {
  const { send } = await start(t)
  const methods = async (meta: object) =>
    (await send(posted('tools/call', { name: 'chatty', _meta: meta }))).messages.map(({ method }) => method)
  assert.equal(await methods({}), [undefined])
  assert.equal(await methods({ [metaKeys.logLevel]: 'info' }), ['notifications/message', undefined])
  assert.equal(told(await send(withMeta('tools/list', { [metaKeys.logLevel]: 'loud' }))), [
    400,
    -32602,
    undefined,
  ])
})

test('2026-07-28 clients get no notification that it lacks', async (t) => {
  const { send } = await start(t)
  assert.equal(told(await send(call('chatty'))), [200, undefined, 'false'])
})

test('trap 79: bad arguments are for the model', async (t) => {
  const { send } = await start(t)
  const { status, messages } = await send(call('strict', { n: 'x' }))
  assert.equal([status, messages[0]?.result?.isError, messages[0]?.error], [200, true, undefined])
})

test('trap 84: a missing resource is -32602 with its uri', async (t) => {
  const { send } = await start(t)
  const answer = await send(posted('resources/read', { uri: 'x:none' }))
  assert.equal(told(answer), [200, -32602, undefined])
  assert.equal(answer.messages[0]?.error?.data, { uri: 'x:none' })
})

test('trap 92: 150 suggestions become 100 with hasMore', async (t) => {
  const { send } = await start(t)
  const params = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }
  const { completion } = ((await send(posted('completion/complete', params))).messages[0]?.result ?? {}) as {
    completion: { values: string[]; hasMore: boolean }
  }
  assert.equal([completion.values.length, completion.hasMore], [100, true])
})

test('every result is complete and names its server', async (t) => {
  const { send } = await start(t)
  const ref = { type: 'ref/prompt', name: 'p' }
  const requests: [method: string, params?: object][] = [
    ['server/discover'],
    ['tools/list'],
    ['tools/call', { name: 'echo', arguments: { text: 'a' } }],
    ['tools/call', { name: 'strict' }],
    ['resources/list'],
    ['resources/templates/list'],
    ['resources/read', { uri: 'x:a' }],
    ['prompts/list'],
    ['prompts/get', { name: 'p' }],
    ['completion/complete', { ref, argument: { name: 'a', value: '' } }],
  ]
  for (const [method, params] of requests) {
    const { result } = (await send(posted(method, params))).messages[0] ?? {}
    assert.is(result?.resultType, 'complete', method)
    assert.equal(result?._meta, { [metaKeys.serverInfo]: { name: 'test', version: '1' } }, method)
    const keeps = /list|read|discover/.test(method)
    assert.equal([result?.ttlMs, result?.cacheScope], keeps ? [0, 'private'] : [undefined, undefined], method)
  }
})

test('initialize on the same server opens a handshake session', async (t) => {
  const { send, server } = await start(t)
  const answer = await send({ body: initialize(), headers: {} })
  assert.equal([answer.status, answer.messages[0]?.result?.protocolVersion], [200, '2025-11-25'])
  assert.is((await server.sessions()).length, 1)
})

test.run()
