import * as assert from 'uvu/assert'
import {
  type Audit,
  type AuditEntry,
  defineServer,
  definePrompt,
  defineResource,
  defineTool,
  gateway,
  startServer,
  ToolError,
} from 'caduceus/server'
import { McpError } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { connect, Recording, until } from 'caduceus/testing'
import { http, serveHttp } from 'caduceus/transports'
import { startClient } from 'caduceus/client'
import { suite, type TestContext } from '../support/suite.js'
import { byHand } from './gateway/_by-hand.js'

const test = suite('audit')
const ada = { issuer: 'https://issuer.example', subject: 'ada', clientId: 'app', scopes: [] }

const shop = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: [
    defineTool({ name: 'greet', input: { type: 'object' }, run: () => 'hello' }),
    defineTool({
      name: 'fail',
      run() {
        throw new ToolError('No.')
      },
    }),
    defineTool({
      name: 'crash',
      run() {
        throw new Error('secret')
      },
    }),
    defineTool({
      name: 'refuse',
      run() {
        throw new McpError(1234, 'own words')
      },
    }),
    defineTool({ name: 'wait', timeout: 50, run: () => new Promise(() => {}) }),
    defineTool({
      name: 'long',
      run: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    }),
    defineTool({ name: 'scoped', scopes: ['other'], run: () => 'never' }),
  ],
  resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'text' })],
  prompts: [definePrompt({ name: 'ask', get: () => 'question' })],
})

/** Entries, and a way to lose them. */
function log(options: Omit<Audit, 'write'> = {}) {
  const entries: AuditEntry[] = []
  const state = { problem: '' }
  const write: Audit['write'] = async (entry) => {
    if (state.problem !== '') throw new Error(state.problem)
    entries.push(entry)
  }
  return { entries, state, audit: { write, ...options } }
}

async function shopOf(t: TestContext, audit: Audit, more: Parameters<typeof connect>[1] = {}) {
  const pair = await connect(shop, {
    principal: ada,
    logger: false,
    ...more,
    server: { audit, exposeErrors: false },
  })
  t.after(pair.close)
  return pair
}

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: each call, read and prompt has an entry before its answer`, async (t) => {
    const { entries, audit } = log()
    const { client } = await shopOf(t, audit, { client: { era } })
    const last = (): string => {
      const { method, name, outcome, code, reason } = entries.at(-1) as AuditEntry
      return [method, name, outcome, code, reason].filter((each) => each !== undefined).join(' ')
    }
    const after = async (call: Promise<unknown>): Promise<string> => {
      await call.catch(() => {})
      return last()
    }
    assert.is(await after(client.callTool('greet')), 'tools/call greet ok')
    assert.is(await after(client.callTool('fail')), 'tools/call fail failed')
    assert.is(await after(client.callTool('refuse')), 'tools/call refuse error 1234 own words')
    assert.match(await after(client.callTool('crash')), /^tools\/call crash (?:failed|error)/)
    assert.is(await after(client.callTool('wait')), 'tools/call wait timeout')
    assert.match(await after(client.callTool('none')), /^tools\/call none refused -32602 Unknown tool/)
    assert.match(await after(client.callTool('scoped')), /^tools\/call scoped refused /)
    assert.is(await after(client.readResource('note://one')), 'resources/read note://one ok')
    assert.match(await after(client.readResource('note://two')), /^resources\/read note:\/\/two refused -32/)
    assert.is(await after(client.getPrompt('ask')), 'prompts/get ask ok')
    await client.listTools()
    assert.is(entries.length, 10)
    const [{ time, issuer, subject, clientId, session, duration, request, ...first }] = entries as [
      AuditEntry,
    ]
    assert.equal([issuer, subject, clientId], ['https://issuer.example', 'ada', 'app'])
    assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.is(/^[\da-f]{8}$/.test(session ?? ''), era === 'handshake')
    assert.ok(duration >= 0)
    assert.ok(['string', 'number'].includes(typeof request))
    assert.equal(first, { method: 'tools/call', name: 'greet', outcome: 'ok' })
    assert.not.match(JSON.stringify(entries), /secret|hello|No\./)
  })

test('arguments and results are in an entry only if they are asked for, and cut', async (t) => {
  const { entries, audit } = log({ arguments: true, results: true })
  const { client } = await shopOf(t, audit)
  await client.callTool('greet', { to: 'bob\u2028\n' })
  const [entry] = entries
  assert.equal(entry?.arguments, { to: 'bob\u2028\n' })
  assert.equal(entry?.result, { content: [{ type: 'text', text: 'hello' }] })
  await client.callTool('greet', { to: 'x'.repeat(50_000) })
  const cut = entries[1]?.arguments
  assert.ok(typeof cut === 'string' && cut.length < 17_000)
  assert.match(cut, /^\{"to":"xxx/)
})

test('a call that is cancelled has an entry', async (t) => {
  const { entries, audit } = log()
  const { client } = await shopOf(t, audit)
  const stop = new AbortController()
  const call = client.callTool('long', {}, { signal: stop.signal }).catch(() => 'aborted')
  await client.callTool('greet')
  stop.abort()
  assert.is(await call, 'aborted')
  await until(() => entries.some(({ outcome }) => outcome === 'cancelled'))
  assert.equal(entries.map(({ name }) => name).sort(), ['greet', 'long'])
})

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: a call whose entry is lost is not answered, and no other begins`, async (t) => {
    const { entries, state, audit } = log()
    const { client } = await shopOf(t, audit, { client: { era, retry: 'never' } })
    await client.callTool('greet')
    state.problem = 'disk full'
    const failed = async (): Promise<McpError> =>
      (await client.callTool('greet').then(
        () => assert.unreachable('it was answered'),
        (error) => error,
      )) as McpError
    const first = await failed()
    assert.is(first.code, -32603)
    assert.match(first.message, /its answer is kept back/)
    assert.equal(first.data, { code: 'NOT_AUDITED', retryable: false, sent: true })
    const second = await failed()
    assert.match(second.message, /nothing is called/)
    assert.equal(second.data, { code: 'NOT_AUDITED', retryable: true, sent: false })
    state.problem = ''
    assert.match((await failed()).message, /nothing is called/)
    assert.is((await client.callTool('greet')).text, 'hello')
    assert.equal(
      entries.map(({ outcome }) => outcome),
      ['ok', 'refused', 'ok'],
    )
  })

test('with tell, calls are answered all the same, and it is told once', async (t) => {
  const { state, audit } = log({ onFailure: 'tell' })
  const { client, server } = await shopOf(t, audit)
  state.problem = 'disk full'
  assert.is((await client.callTool('greet')).text, 'hello')
  assert.is((await client.callTool('greet')).text, 'hello')
  assert.ok(server)
})

test('an entry that is never taken holds up its answer for 10 s', async (t) => {
  const clock = createFakeClock()
  const begun = new Recording<true>('writes')
  const write = (): Promise<void> => {
    begun.add(true)
    return new Promise(() => {})
  }
  const { client } = await shopOf(t, { write }, { clock })
  const call = client.callTool('greet').catch((error: Error) => error.message)
  await begun.next()
  await clock.advance(10_000)
  assert.match(String(await call), /kept back/)
})

test('of a gateway an entry names the server, and what it calls the tool', async (t) => {
  const { entries, audit } = log()
  const up = byHand({ tools: ['read'] })
  const pair = await connect(gateway({ files: up.client }, { toolSearch: { pinned: ['*'] } }), {
    logger: false,
    server: { audit },
  })
  t.after(pair.close)
  const { client } = pair
  await until(async () => (await client.listTools()).tools.length > 2)
  await client.callTool('files__read')
  await client.callTool('call_tool', { name: 'files__read' }).catch(() => {})
  await client.callTool('files__none').catch(() => {})
  const told = entries.map(({ name, server, upstreamName, outcome }) => [name, server, upstreamName, outcome])
  assert.equal(told[0], ['files__read', 'files', 'read', 'ok'])
  assert.equal(told[2], ['files__none', undefined, undefined, 'refused'])
})

test('what a server behind says of an error decides nothing in its entry', async (t) => {
  const { entries, audit } = log()
  const sly = { code: 'TIMEOUT', sent: false }
  const up = byHand({
    answers: {
      'tools/call': () => {
        throw new McpError(-32603, 'nothing was called', { data: sly })
      },
    },
  })
  const pair = await connect(gateway({ files: up.client }), { logger: false, server: { audit } })
  t.after(pair.close)
  await pair.client.callTool('files__one').catch(() => {})
  assert.equal(
    entries.map(({ outcome, code, reason }) => [outcome, code, reason]),
    [['error', -32603, undefined]],
  )
})

test('over HTTP an entry has the address, the trace and the id of the request', async (t) => {
  const { entries, audit } = log()
  const server = await startServer(shop, { transport: serveHttp(), audit, logger: false })
  t.after(() => server.stop())
  const headers = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x-request-id': 'abc',
  }
  const client = startClient({ transport: http(String(server.url), { headers }), logger: false })
  t.after(() => client.close())
  await client.callTool('greet')
  const { address, trace, requestId, subject } = entries[0] ?? {}
  assert.match(address ?? '', /127\.0\.0\.1/)
  assert.equal([trace, requestId, subject], ['0af7651916cd43dd8448eb211c80319c', 'abc', undefined])
})

test('a tool that runs as a task has an entry at its begin, and one at its end', async (t) => {
  const { entries, audit } = log()
  const work = defineTool({ name: 'work', task: 'optional', run: () => 'done' })
  const pair = await connect(defineServer({ name: 'shop', version: '1.0.0', tools: [work] }), {
    server: { audit },
    logger: false,
  })
  t.after(pair.close)
  const { task } = await pair.client.tasks.start('work', {})
  await pair.client.tasks.result(String(task?.taskId))
  await until(() => entries.length === 2)
  const sorted = [...entries].sort((one, other) => one.outcome.localeCompare(other.outcome))
  assert.equal(
    sorted.map(({ name, outcome, task: id }) => [name, outcome, typeof id]),
    [
      ['work', 'ok', 'string'],
      ['work', 'task', 'undefined'],
    ],
  )
})

for (const [value, problem] of [
  [{}, /audit: expected an object with a function write/],
  [{ write() {}, result: true }, /audit\.result: expected one of/],
  [{ write() {}, onFailure: 'ignore' }, /audit\.onFailure: expected/],
] as const)
  test(`a wrong option is told: ${problem.source.slice(0, 40)}`, async () => {
    await startServer(shop, { transport: serveHttp(), audit: value as never }).then(
      () => assert.unreachable(),
      (error) => assert.match(String(error), problem),
    )
  })

test.run()
