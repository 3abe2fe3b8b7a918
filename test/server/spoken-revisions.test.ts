// second tier: time
// shares a process
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { allRevisions, handshakeRevisions, type Revision } from 'caduceus/protocol'
import {
  defineMethod,
  definePrompt,
  defineResource,
  defineServer,
  defineTool,
  type ServerDefinitionOptions,
  ServerError,
  type ServerOptions,
  startServer,
} from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { serveHttp, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { connectCaller, makes, type Place, type Way } from './exchanges/_callers.js'
import { RawClient } from './_client.js'
import { count as undeclared, echo } from './_servers.js'
import { posted, revision as modern } from './_stateless.js'

const test = suite('the revisions that a server speaks', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_session-program.js', import.meta.url))
const listeners = { http: serveHttp, sse: serveSse, websocket: serveWebSocket }

/** Counts per session, and says so. */
const count = defineTool({
  name: 'count',
  session: true,
  async run(_args, ctx) {
    return String(await ctx.update('count', (n = 0) => n + 1))
  },
})

async function start(
  t: TestContext,
  parts: Partial<ServerDefinitionOptions>,
  options: Partial<ServerOptions> = {},
) {
  const definition = defineServer({ name: 'counters', version: '1', ...parts })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, ...options })
  t.after(() => server.stop())
  return server
}

for (const way of ['stdio', 'http', 'sse', 'websocket'] as const) {
  test(`a dual client falls back to a session for a tool that needs it, over ${way}`, async (t) => {
    for (const make of makes) {
      const place = await placeOf(t, way)
      const mode = way === 'sse' ? 'legacy' : 'auto'
      const client = await connectCaller(t, make, { way, place }, { mode })
      if (make !== 'sdk1') assert.is(client.revision, '2025-11-25')
      assert.equal(await client.tools(), ['count'])
      assert.equal([await client.call('count'), await client.call('count')], ['1', '2'])
    }
  })
}

async function placeOf(t: TestContext, way: Way): Promise<Place> {
  if (way === 'stdio') return { args: [program] }
  const { url } = await start(t, { tools: [count] }, { transport: listeners[way]() })
  return { url: String(url) }
}

test('a refused probe lists the revisions, and the handshake that follows is served', async (t) => {
  const { url } = await start(t, { tools: [count, echo] })
  const client = new RawClient(t, url)
  for (const method of ['server/discover', 'tools/list', 'tools/call']) {
    const { body, headers } = posted(
      method,
      method === 'tools/call' ? { name: 'echo', arguments: { text: 'a' } } : {},
    )
    const probe = await client.post(body, headers)
    const [status, code] = method === 'server/discover' ? [404, -32601] : [400, -32022]
    assert.is(probe.status, status)
    assert.is(probe.messages[0]?.id, 1)
    assert.is(probe.messages[0]?.error?.code, code)
    assert.equal(probe.messages[0]?.error?.data, { supported: [...handshakeRevisions], requested: modern })
  }
  await client.open()
  assert.is(client.revision, '2025-11-25')
})

test('a dual client is served without sessions where nothing needs one', async (t) => {
  const { url } = await start(t, { tools: [echo] })
  for (const make of ['ours', 'sdk2'] as const) {
    const client = await connectCaller(
      t,
      make,
      { way: 'http', place: { url: String(url) } },
      { mode: 'auto' },
    )
    assert.is(client.revision, modern)
    assert.is(await client.call('echo', { text: 'hi' }), 'hi')
  }
})

const needy = {
  tools: [count, echo],
  prompts: [definePrompt({ name: 'sum', session: true, get: () => 'x' })],
  resources: [defineResource({ uri: 'x:sum', name: 'sum', session: true, read: () => 'x' })],
  methods: { 'acme/sum': defineMethod({ session: true, run: () => ({}) }) },
}

test('2026-07-28 by option is served without what needs a session, with a reason', async (t) => {
  const { url } = await start(t, needy, { revisions: allRevisions })
  const client = new RawClient(t, url)
  const ask = async (method: string, params: object = {}) => {
    const { body, headers } = posted(method, params)
    return (await client.post(body, headers)).messages[0]
  }
  assert.equal(
    (await ask('tools/list'))?.result?.tools?.map(({ name }) => name),
    ['echo'],
  )
  assert.equal((await ask('prompts/list'))?.result?.prompts, [])
  assert.equal((await ask('resources/list'))?.result?.resources, [])
  const asked: [string, object, RegExp][] = [
    [
      'tools/call',
      { name: 'count' },
      /^tool "count" needs a session, which revision 2026-07-28 does not have/,
    ],
    ['prompts/get', { name: 'sum' }, /^prompt "sum" needs a session/],
    ['resources/read', { uri: 'x:sum' }, /^resource "x:sum" needs a session/],
    ['acme/sum', {}, /^method acme\/sum needs a session/],
  ]
  for (const [method, params, expected] of asked) {
    const refused = await ask(method, params)
    assert.is(refused?.error?.code, -32602)
    assert.match(String(refused?.error?.message), expected)
    assert.equal(refused?.error?.data, { code: 'NO_SESSION' })
  }
  // the same server, in a session
  await client.open()
  assert.is(await client.text('count'), '1')
})

test('undeclared use of session state tells client and author what to do', async (t) => {
  const warnings: (Error & { code?: string })[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const { url } = await start(t, { tools: [undeclared] })
  const client = new RawClient(t, url)
  for (let i = 0; i < 3; i++) {
    const { body, headers } = posted('tools/call', { name: 'count' })
    const answer = await client.post(body, headers)
    assert.is(answer.status, 200)
    const { isError, content } = answer.messages[0]?.result ?? {}
    assert.is(isError, true)
    assert.match(
      String(content?.[0]?.text),
      /^tools\/call count: .* session: true.* key that comes with the arguments/,
    )
  }
  assert.is(warnings.filter(({ code }) => code === 'CADUCEUS_NO_SESSION').length, 1)
})

test('without handshake revisions an older client is refused on each transport', async (t) => {
  const revisions: Revision[] = [modern]
  for (const [way, listen] of Object.entries(listeners)) {
    const { url } = await start(t, { tools: [echo] }, { transport: listen(), revisions })
    for (const make of ['ours', 'sdk1', 'sdk2'] as const) {
      const client = { reconnect: false } as object
      const place = { way: way as Way, place: { url: String(url) } }
      const failed = await connectCaller(t, make, place, { client }).then(
        () => undefined,
        (error: Error) => error,
      )
      assert.ok(failed instanceof Error, `${make} over ${way}`)
    }
  }
  const client = new RawClient(t, (await start(t, { tools: [echo] }, { revisions })).url)
  const initialize = {
    jsonrpc: '2.0',
    id: 7,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25' },
  }
  const refused = await client.post(initialize, {})
  assert.is(refused.status, 400)
  assert.is(refused.messages[0]?.id, 7)
  assert.equal(refused.messages[0]?.error?.data, { supported: [modern], requested: '2025-11-25' })
  assert.is((await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, {})).status, 202)
  assert.is((await client.send('GET', undefined, { accept: 'text/event-stream' })).status, 405)
  const { body, headers } = posted('server/discover')
  assert.equal((await client.post(body, headers)).messages[0]?.result?.supportedVersions, [modern])
})

test('only the named handshake revisions are negotiated, kept and accepted in headers', async (t) => {
  const { url } = await start(t, { tools: [echo] }, { revisions: ['2024-11-05', '2025-06-18'] })
  const client = new RawClient(t, url)
  const ask = async (protocolVersion: string) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    const answer = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, {})
    return {
      id: String(answer.headers['mcp-session-id']),
      revision: answer.messages[0]?.result?.protocolVersion,
    }
  }
  assert.is((await ask('2024-11-05')).revision, '2024-11-05')
  assert.is((await ask('2025-03-26')).revision, '2025-06-18')
  const { id, revision } = await ask('2025-11-25')
  assert.is(revision, '2025-06-18')
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const statusOf = async (version: string) =>
    (await client.post(list, { 'mcp-session-id': id, 'mcp-protocol-version': version })).status
  assert.equal([await statusOf('2025-06-18'), await statusOf('2025-11-25')], [200, 400])
})

test('a pair in memory speaks what the test asks for', async (t) => {
  for (const revisions of [['2025-03-26'], [modern]] as Revision[][]) {
    const definition = defineServer({ name: 'pair', version: '1', tools: [echo] })
    const pair = await connect(definition, { server: { revisions }, client: { era: 'auto' } })
    t.after(() => pair.close())
    assert.is(pair.client.server?.revision, revisions[0])
  }
})

test('unknown revisions and needs are refused in the options', async () => {
  const definition = defineServer({ name: 'x', version: '1', tools: [] })
  for (const revisions of [[], ['2025-01-01'], 'all', {}] as never[]) {
    const failed = await startServer(definition, { transport: serveHttp(), revisions }).catch(
      (error) => error,
    )
    assert.ok(failed instanceof ServerError)
    assert.equal([failed.code, failed.data], ['BAD_OPTION', { field: 'revisions' }])
  }
  assert.throws(
    () => defineTool({ name: 'a', session: 'yes' as never, run: () => '' }),
    /session: expected true or false/,
  )
})

test.run()
