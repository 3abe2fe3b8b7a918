import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { type Answer, initialize, type RawClient } from './_client.js'
import { startTrapped } from './_traps.js'

/** The traps of the specification that a server of a revision with a handshake has to pass, by their numbers in our digest. */
const test = suite('server traps')
const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
type Revision = (typeof revisions)[number]

const all = { roots: {}, sampling: {}, elicitation: {} }

function forEach(
  trap: number,
  promise: string,
  some: readonly Revision[],
  check: (client: RawClient, revision: Revision) => Promise<void>,
): void {
  for (const revision of some)
    test(`trap ${trap}, ${revision}: ${promise}`, async (t) =>
      check(await (await startTrapped(t)).open('raw', revision, all), revision))
}

test('trap 1: an unknown version gets one that the server speaks', async (t) => {
  const client = await startTrapped(t)
  for (const asked of ['2099-01-01', '1.0', '', '2026-07-28']) {
    const { status, messages } = await client.post(initialize('raw', asked))
    assert.equal([status, messages[0]?.result?.protocolVersion], [200, '2025-11-25'])
  }
})

for (const revision of revisions)
  test(`trap 3 and 4, ${revision}: lists and ping are answered before initialized`, async (t) => {
    const client = await startTrapped(t)
    const answer = await client.post(initialize('raw', revision, all))
    client.sessionId = String(answer.headers['mcp-session-id'])
    client.revision = revision
    assert.equal((await client.ask('ping')).result, {})
    assert.is((await client.list()).length, 2)
    assert.match(
      JSON.stringify((await client.call('several')).result),
      /has not sent notifications\/initialized/,
    )
  })

forEach(5, 'initialize is refused inside of a batch', revisions, async (client) => {
  const { status } = await client.post([initialize('raw', '2025-03-26')])
  assert.is(status, 400)
  client.sessionId = undefined
  assert.is((await client.post([initialize('raw', '2025-03-26')])).status, 400)
})

forEach(21, 'ids 0 and "" are ids, null and 1.5 are none', revisions, async (client) => {
  for (const id of [0, '']) assert.equal((await client.ask('ping', undefined, id)).result, {})
  for (const id of [null, 1.5, true, {}]) {
    const { status, messages } = await client.post({ jsonrpc: '2.0', id, method: 'ping' })
    assert.equal([status, messages[0]?.error?.code, messages[0]?.id], [400, -32600, undefined])
  }
})

forEach(22, 'an answer with a string id does not match the number', revisions, async (client) => {
  const { status } = await client.post({ jsonrpc: '2.0', id: '1', result: {} })
  assert.is(status, 202)
})

forEach(23, 'an unknown notification is accepted and not answered', revisions, async (client) => {
  const { status, body } = await client.tell('notifications/unheard_of', { a: 1 })
  assert.equal([status, body], [202, ''])
})

forEach(24, 'an error without an id is taken', ['2025-11-25'], async (client) => {
  const { status } = await client.post({ jsonrpc: '2.0', error: { code: -32603, message: 'x' } })
  assert.is(status, 202)
})

forEach(25, 'batches are taken, with an array of answers or 202', ['2025-03-26'], async (client) => {
  const note = { jsonrpc: '2.0', method: 'notifications/x' }
  assert.is((await client.post([note, note])).status, 202)
  const { messages } = await client.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }, note])
  assert.equal(messages, [{ jsonrpc: '2.0', id: 1, result: {} }])
  assert.is((await client.post([])).status, 400)
})

forEach(26, 'an array is refused, even with one element', ['2025-06-18', '2025-11-25'], async (client) => {
  assert.is((await client.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])).status, 400)
})

forEach(28, 'cancelling an unknown request is ignored', revisions, async (client) => {
  for (const params of [{ requestId: 99 }, { requestId: null }, {}]) {
    const { status, body } = await client.tell('notifications/cancelled', params)
    assert.equal([status, body], [202, ''])
  }
})

forEach(30, 'a late answer is dropped', revisions, async (client) => {
  for (const outcome of [{ result: {} }, { error: { code: -1, message: 'no' } }])
    assert.is((await client.post({ jsonrpc: '2.0', id: 'late', ...outcome })).status, 202)
  assert.equal((await client.ask('ping')).result, {})
})

forEach(31, 'progress only grows, and the token may be 0 (trap 32)', revisions, async (client) => {
  const params = { name: 'progress', _meta: { progressToken: 0 } }
  const { messages } = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  assert.equal(
    messages.slice(0, -1).map((message) => message.params),
    [
      { progressToken: 0, progress: 1 },
      { progressToken: 0, progress: 2 },
    ],
  )
})

forEach(34, 'a foreign or empty cursor is refused (trap 33)', revisions, async (client) => {
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])
    for (const cursor of ['garbage', '', btoa('offset:99')])
      assert.is((await client.ask(method, { cursor })).error?.code, -32602, `${method} ${cursor}`)
})

forEach(35, 'unknown fields and capabilities change nothing', revisions, async (client) => {
  const { result } = await client.ask('tools/call', {
    name: 'strict',
    arguments: { n: 1 },
    more: true,
    _meta: { 'a/b': 1 },
  })
  assert.is(result?.content?.[0]?.text, '1')
})

forEach(36, 'only the answer to initialize names the session', revisions, async (client) => {
  const answers: Answer[] = [
    await client.tell('notifications/initialized'),
    await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  ]
  for (const { headers } of answers) assert.is(headers['mcp-session-id'], undefined)
})

forEach(37, 'a session that ended is 404 for every method', revisions, async (client) => {
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status, 404)
  assert.is((await client.tell('notifications/initialized')).status, 404)
  assert.is((await client.listen()).status, 404)
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 404)
})

forEach(39, 'a question uses the stream of its call, not the GET stream', revisions, async (client) => {
  const listening = await client.listen()
  const stream = await client.stream({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'several' },
  })
  const question = await stream.next()
  assert.is(question.method, 'sampling/createMessage')
  const result = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' }
  await client.post({ jsonrpc: '2.0', id: question.id, result })
  assert.is((await stream.next()).result?.content?.[0]?.text, 'm')
  listening.close()
})

forEach(79, 'bad arguments are an isError result for the model', revisions, async (client) => {
  const { result, error } = await client.call('strict', { n: 'one' })
  assert.equal([result?.isError, error], [true, undefined])
})

forEach(80, 'structured content goes to those who know it only', revisions, async (client, revision) => {
  const { result } = await client.call('structured')
  assert.equal(result?.structuredContent, revision >= '2025-06-18' ? { a: 1 } : undefined)
})

forEach(84, 'a resource that is missing is -32002, never empty contents', revisions, async (client) => {
  const { error, result } = await client.ask('resources/read', { uri: 'x:none' })
  assert.equal([error?.code, error?.data, result], [-32002, { uri: 'x:none' }, undefined])
})

forEach(
  85,
  'empty elicitation means forms; older revisions have none',
  revisions,
  async (client, revision) => {
    if (revision < '2025-06-18') return assert.is((await client.call('form')).result?.isError, true)
    const stream = await client.stream({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'form' },
    })
    const first = await stream.next()
    assert.is(first.method, 'elicitation/create')
    const { properties } = (first.params ?? {}).requestedSchema as { properties: { c: object } }
    // trap 86
    const titled = { type: 'string', oneOf: [{ const: 'a', title: 'A' }] }
    const named = { type: 'string', enum: ['a'], enumNames: ['A'] }
    assert.equal(properties.c, revision === '2025-06-18' ? named : titled)
    assert.is('mode' in (first.params ?? {}), false)
    await client.post({ jsonrpc: '2.0', id: first.id, result: { action: 'cancel' } })
    assert.is((await stream.next()).result?.content?.[0]?.text, 'cancel')
  },
)

forEach(87, 'a list of content is one block each before 2025-11-25', revisions, async (client, revision) => {
  const stream = await client.stream({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'several' },
  })
  const { params, id } = await stream.next()
  const messages = params?.messages as { content: unknown }[]
  assert.equal(
    messages.map(({ content }) => Array.isArray(content)),
    revision === '2025-11-25' ? [true] : [false, false],
  )
  await client.post({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } })
  assert.is((await stream.next()).result?.isError, true)
})

forEach(92, '150 values are cut to 100, and hasMore is set', revisions, async (client) => {
  const { result } = await client.ask('completion/complete', {
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name: 'a', value: '' },
  })
  const { values, total, hasMore } = (result ?? {}).completion as {
    values: string[]
    total: number
    hasMore: boolean
  }
  assert.equal([values.length, total, hasMore], [100, 150, true])
})

const names: readonly [string, number | undefined][] = [
  ['tools/list', undefined],
  ['resources/list', undefined],
  ['resources/templates/list', undefined],
  ['prompts/list', undefined],
  ['server/discover', -32601],
  ['subscriptions/listen', -32601],
  ['tasks/list', -32601],
  ['sampling/createMessage', -32601],
  ['roots/list', -32601],
]

forEach(6, 'a revision has its own methods, and no others', revisions, async (client) => {
  for (const [method, code] of names) assert.is((await client.ask(method)).error?.code, code, method)
})

test('a URL elicitation error has the code of the revision', async (t) => {
  const client = await startTrapped(t)
  for (const revision of revisions) {
    client.sessionId = undefined
    await client.open('raw', revision)
    const code = (await client.call('url_first')).error?.code
    assert.is(code, revision === '2025-11-25' ? -32042 : -32600, revision)
  }
})

test.run()
