import * as assert from 'uvu/assert'
import { McpError } from 'caduceus/protocol'
import { CaduceusError } from 'caduceus/runtime'
import { gateway, type GatewayOptions, type UpstreamOptions, type UpstreamSource } from 'caduceus/server'
import { connect, type ConnectOptions, fakeClock, Recording } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: calls')

async function through(
  t: TestContext,
  source: UpstreamSource,
  options: GatewayOptions = {},
  how: ConnectOptions = {},
) {
  const connected = await connect(gateway(source, options), how)
  t.after(() => connected.close())
  return connected
}

async function failure(promise: Promise<unknown>): Promise<McpError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof McpError) return error
  throw new Error(`expected a McpError, got ${String(error)}`)
}

test('a call goes on by the name of the server, without what belongs to the way', async (t) => {
  const up = byHand()
  const { client } = await through(t, { up: up.client })
  await client.request('tools/call', {
    name: 'up__one',
    arguments: { a: 1 },
    _meta: { own: 2, 'io.modelcontextprotocol/other': 3 },
  })
  await client.callTool('up__one', { a: 1 })
  const [first, second] = up.of('tools/call')
  assert.equal(first?.params, { name: 'one', arguments: { a: 1 }, _meta: { own: 2 } })
  assert.equal(second?.params, { name: 'one', arguments: { a: 1 } })
})

for (const revision of ['2025-06-18', '2026-07-28'] as const)
  test(`a result of ${revision} asks no caller for input, and is not for others to keep`, async (t) => {
    const own = { resultType: 'input_required', inputRequests: { a: {} }, requestState: 's' }
    const up = byHand({
      revision,
      capabilities: { tools: {}, resources: {} },
      answers: {
        'tools/call': () => ({ content: [], ...own }),
        'resources/list': () => ({ resources: [{ uri: 'note://1', name: 'n' }] }),
        'resources/templates/list': () => ({ resourceTemplates: [] }),
        'resources/read': () => ({ contents: [], ttlMs: 60_000, cacheScope: 'public', ...own }),
      },
    })
    const { client } = await through(t, { up: up.client }, { servers: { up: { permits: () => true } } })
    for (const [method, params] of [
      ['tools/call', { name: 'up__one' }],
      ['resources/read', { uri: 'note://1' }],
    ] as const) {
      const result = (await client.request(method, params, { fresh: true })) as unknown as Record<
        string,
        unknown
      >
      assert.equal([result.inputRequests, result.requestState], [undefined, undefined], method)
      assert.is.not(result.cacheScope, 'public', method)
    }
    assert.is(up.of('tools/call').length, 1)
  })

test('permits is asked with templates that only their server can read', async (t) => {
  const up = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({
        resourceTemplates: ['user://{user-id}', 'files://x/{path*}'].map((uriTemplate) => ({
          uriTemplate,
          name: 'u',
        })),
      }),
      'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'read' }] }),
    },
  })
  const refused = ['user://{user-id}', 'files://x/{path*}', 'secret://1']
  const permits = (_who: unknown, name: string): boolean => !refused.includes(name)
  const { client } = await through(t, { up: up.client }, { servers: { up: { permits } } })
  for (const uri of ['user://ada', 'files://x/a/b/c', 'f+user://ada', 'in+f+secret://1'])
    assert.is((await failure(client.readResource(uri))).code, -32002, uri)
  assert.is((await client.readResource('note://1')).text, 'read')
})

for (const templates of ['late', 'failing'] as const)
  test(`until templates are known (${templates}), no address is taken for one without`, async (t) => {
    const clock = fakeClock()
    let answer = (): void => {}
    let isKnown = false
    const list = { resourceTemplates: [{ uriTemplate: 'user://{id}', name: 'u' }] }
    const up = byHand({
      capabilities: { resources: {} },
      answers: {
        'resources/list': () => ({
          resources: [
            { uri: 'user://listed', name: 'l' },
            { uri: 'note://1', name: 'n' },
          ],
        }),
        'resources/templates/list': () => {
          if (isKnown) return list
          if (templates === 'failing') throw new McpError(-32603, 'oops')
          return new Promise((resolve) => {
            answer = () => resolve(list)
          })
        },
        'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'secret' }] }),
      },
    })
    const permits = (_who: unknown, name: string): boolean => name !== 'user://{id}'
    const notKnown = { code: 'NOT_STARTED', retryable: true, sent: false }
    for (const own of [{ permits }, { deny: ['user://{id}'] }]) {
      isKnown = false
      const starting = through(t, { up: up.client }, { servers: { up: own } }, { clock })
      await clock.advance(10_000)
      const { client } = await starting
      for (const uri of ['user://eve', 'up+user://eve', ...('deny' in own ? ['user://listed'] : [])])
        assert.equal((await failure(client.readResource(uri))).data, notKnown, uri)
      assert.is((await client.readResource('note://1')).text, 'secret')
      isKnown = true
      answer()
      await clock.advance(60_000)
      assert.is((await failure(client.readResource('user://eve'))).code, -32002)
    }
  })

test('an address is not taken from a server of its scheme that cannot be asked', async (t) => {
  let next: Error = new McpError(-32_603, 'oops')
  const victim = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({ resources: [{ uri: 'db://1', name: 'one' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/read': () => {
        throw next
      },
    },
  })
  const evil = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'evil' }] }),
    },
  })
  const clients = { evil: evil.client, victim: victim.client }
  const { client } = await through(t, clients, { servers: { victim: { breaker: false } } })
  for (const error of [
    next,
    new CaduceusError('NOT_READY', 'away'),
    new CaduceusError('TIMEOUT', 'late'),
    new CaduceusError('QUEUE_FULL', 'busy'),
  ]) {
    next = error
    assert.is((await failure(client.readResource('db://2', { retry: 'never' }))).code, -32_603, error.message)
  }
  assert.equal(evil.of('resources/read'), [])
  // it says itself that it has not this one
  next = McpError.notFound('no such thing', { uri: 'db://2' })
  assert.is((await client.readResource('db://2')).text, 'evil')
})

test('deny holds at a server that takes no notice of schemes', async (t) => {
  const up = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({
        resources: ['public/a', 'secret/b'].map((path) => ({ uri: `file:///${path}`, name: path })),
      }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/read': ({ uri }) => ({ contents: [{ uri, text: String(uri).replace(/^.*:/, '') }] }),
    },
  })
  const { client } = await through(t, { up: up.client }, { servers: { up: { deny: ['file:///secret/*'] } } })
  const secret = ['/secret/b', '///secret/b', 'up+/secret/b', '/public/../secret/b', 'x:/secret/b']
  for (const uri of [
    ...secret,
    'x:///secret/b',
    'up+x:///secret/b',
    'http://host/secret/b',
    'file:///secret/b',
  ])
    assert.is((await failure(client.readResource(uri))).code, -32002, uri)
  assert.equal(up.of('resources/read'), [])
  for (const uri of ['file:///public/a', 'file:///public/c', 'up+file:///public/c'])
    assert.is((await client.readResource(uri)).contents.length, 1)
})

for (const templates of ['none', 'any'] as const)
  test(`deny holds at such a server also while it lists ${templates}`, async (t) => {
    const up = byHand({
      capabilities: { resources: {} },
      answers: {
        'resources/list': () => {
          throw new McpError(-32603, 'oops')
        },
        'resources/templates/list': () => ({
          resourceTemplates: templates === 'any' ? [{ uriTemplate: '{+any}', name: 'any' }] : [],
        }),
        'resources/read': ({ uri }) => ({ contents: [{ uri, text: String(uri).replace(/^.*:/, '') }] }),
      },
    })
    const { client } = await through(
      t,
      { up: up.client },
      { servers: { up: { deny: ['file:///secret/*'] } } },
    )
    for (const uri of [
      'x:///secret/b',
      'up+x:///secret/b',
      'http://host/secret/b',
      '/secret/b',
      'file:///secret/b',
    ])
      assert.ok((await failure(client.readResource(uri))).code < 0, uri)
    assert.equal(up.of('resources/read'), [])
    assert.is((await client.readResource('file:///public/c')).contents.length, 1)
  })

test('templates that cannot be listed close no address for patterns that need none', async (t) => {
  const up = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => {
        throw new McpError(-32603, 'oops')
      },
      'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'read' }] }),
    },
  })
  const taken = async (own: UpstreamOptions): Promise<readonly boolean[]> => {
    const { client } = await through(t, { up: up.client }, { servers: { up: own } })
    return await Promise.all(
      ['user://1', 'up+user://1', 'secret://1', 'SECRET://1'].map((uri) =>
        client.readResource(uri).then(
          () => true,
          () => false,
        ),
      ),
    )
  }
  assert.equal(await taken({ deny: ['delete_*', 'user://*', 'secret://1'] }), [false, false, false, false])
  // a server may take no notice of schemes, and nobody knows which it has
  assert.equal(await taken({ deny: ['secret://1'] }), [false, false, false, false])
  assert.equal(await taken({ deny: ['user://2', 'secret://1'] }), [true, true, false, false])
  assert.equal(await taken({ deny: ['delete_*'] }), [true, true, true, true])
  assert.equal(await taken({ allow: ['user://*'] }), [true, true, false, false])
  // may be a template of `user://{secret_id}`
  assert.equal(await taken({ deny: ['*secret*'] }), [false, false, false, false])
})

test('a server that never answers holds up a read of what is in no list for a second', async (t) => {
  const clock = fakeClock()
  const lists = {
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
  }
  const reads = (read: () => unknown) =>
    byHand({ capabilities: { resources: {} }, answers: { ...lists, 'resources/read': read } })
  const mute = reads(() => new Promise(() => {}))
  const rude = reads(() => {
    throw new McpError(-32603, 'broken')
  })
  const quick = reads(() => ({ contents: [{ uri: 'odd:x', text: 'here' }] }))
  const { client } = await through(
    t,
    { mute: mute.client, rude: rude.client, quick: quick.client },
    {},
    { clock },
  )
  const read = client.readResource('odd:x')
  while (mute.of('resources/read').length === 0) await clock.advance(1)
  await clock.advance(900)
  assert.is(quick.of('resources/read').length, 0)
  await clock.advance(100)
  assert.is((await read).text, 'here')
})

test('only who wants progress has the server asked for it', async (t) => {
  const up = byHand({
    answers: {
      'tools/call': (_params, { onProgress }) => {
        onProgress?.({ progress: 1, total: 2, message: 'half' })
        return { content: [] }
      },
    },
  })
  const { client } = await through(t, { up: up.client })
  await client.callTool('up__one')
  const heard = new Recording<unknown>('progress')
  await client.callTool('up__one', {}, { onProgress: (each) => heard.add(each) })
  assert.equal(await heard.next(), { progress: 1, total: 2, message: 'half' })
  const [quiet, told] = up.of('tools/call').map(({ options }) => options)
  assert.equal([quiet?.onProgress, quiet?.resetOnProgress], [undefined, undefined])
  assert.is(told?.resetOnProgress, true)
})

test('the time of a server is the time of its calls, and no other has one', async (t) => {
  const [slow, other] = [byHand({ name: 'slow' }), byHand({ name: 'other' })]
  const { client } = await through(
    t,
    { slow: slow.client, other: other.client },
    { servers: { slow: { timeout: 1_234 } } },
    { clock: fakeClock() },
  )
  await client.callTool('slow__one')
  await client.callTool('other__one')
  const [bounded] = slow.of('tools/call').map(({ options }) => [options.timeout, options.totalTimeout])
  assert.equal(bounded, [1_234, 1_234])
  const [free] = other.of('tools/call').map(({ options }) => [options.timeout, options.totalTimeout])
  assert.equal(free, [undefined, undefined])
})

for (const [code, words] of Object.entries({
  CONNECTION_LOST: 'the connection to the server was lost before its answer came',
  SESSION_NOT_FOUND: 'the server has forgotten the session',
  NOT_READY: 'the server cannot be reached now',
  CONNECT_FAILED: 'the server cannot be reached',
  TIMEOUT: 'the server did not answer in time',
  QUEUE_FULL: 'too many calls wait for the server',
  CLOSED: 'the server is not there any more',
  OTHER: 'failed (OTHER)',
}))
  test(`a call that fails with ${code} says so, without the words of the client`, async (t) => {
    const lost = new CaduceusError(code, 'canary', { data: { sent: false } })
    const fail = (): never => {
      throw lost
    }
    const { client } = await through(t, { up: byHand({ answers: { 'tools/call': fail } }).client })
    const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
    assert.is(error.message, `up: tools/call: ${words}`)
    assert.equal([error.code, error.data], [-32_603, { code, retryable: false, sent: false }])
  })

for (const code of ['MESSAGE_TOO_LONG', 'LINE_TOO_LONG', 'EVENT_TOO_LONG'])
  test(`a call that is lost by ${code} says which limit there is`, async (t) => {
    const cause = new CaduceusError(code, 'too long')
    const fail = (): never => {
      throw new CaduceusError('CONNECTION_LOST', 'more than 5 bytes', { cause })
    }
    const { client } = await through(t, { up: byHand({ answers: { 'tools/call': fail } }).client })
    const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
    assert.match(error.message, /before its answer came: more than 5 bytes$/)
    assert.is((error.data as { sent: boolean }).sent, true)
  })

test('what a server answers with an error is passed on', async (t) => {
  const fail = (): never => {
    throw new McpError(-32_050, 'not so', { data: { why: 'canary' } })
  }
  const { client } = await through(t, { up: byHand({ answers: { 'tools/call': fail } }).client })
  const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
  assert.equal([error.code, error.message, error.data], [-32_050, 'not so', { why: 'canary' }])
})

test('errors that a server answers do not close the way to it, and 5xx do', async (t) => {
  const clock = fakeClock()
  let next: Error = new McpError(-32_050, 'not so')
  const fail = (): never => {
    throw next
  }
  const up = byHand({ answers: { 'tools/call': fail } })
  const { client } = await through(
    t,
    { up: up.client },
    { servers: { up: { breaker: { failures: 2 } } } },
    { clock },
  )
  const call = () => failure(client.callTool('up__one', {}, { retry: 'never' }))
  for (let n = 0; n < 3; n += 1) await call()
  assert.is(up.of('tools/call').length, 3)
  next = new CaduceusError('REQUEST_FAILED', 'broken', { data: { status: 503 } })
  await call()
  await call()
  assert.match((await call()).message, /"one" of up has failed 2 times in a row/)
  assert.is(up.of('tools/call').length, 5)
  await clock.advance(5_000)
  await call()
  assert.is(up.of('tools/call').length, 6)
})

test('a result that has served closes the breaker that was about to open', async (t) => {
  let isBroken = true
  const answer = (): object => {
    if (isBroken) throw new CaduceusError('TIMEOUT', 'late')
    return { content: [] }
  }
  const up = byHand({ answers: { 'tools/call': answer } })
  const { client } = await through(t, { up: up.client }, { servers: { up: { breaker: { failures: 2 } } } })
  const call = () => client.callTool('up__one', {}, { retry: 'never' }).catch(() => {})
  await call()
  isBroken = false
  await call()
  isBroken = true
  await call()
  await call()
  assert.is(up.of('tools/call').length, 4)
  await call()
  assert.is(up.of('tools/call').length, 4)
})

test('no more calls are under way than the options say, and one that ends makes room', async (t) => {
  const begun = new Recording<() => void>('calls')
  const wait = () => new Promise((resolve) => begun.add(() => resolve({ content: [] })))
  const up = byHand({ answers: { 'tools/call': wait } })
  const { client } = await through(t, { up: up.client }, { servers: { up: { maxCalls: 1 } } })
  const first = client.callTool('up__one')
  const end = await begun.next()
  const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
  assert.match(error.message, /up has 1 calls under way already/)
  end()
  await first
  const second = client.callTool('up__one')
  ;(await begun.next())()
  await second
})

const resources = { resources: {} }
const oneResource = {
  'resources/list': () => ({ resources: [{ uri: 'note://1', name: 'n' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'note://t/{x}', name: 't' }] }),
}

test('a resource that a server does not have is not found here', async (t) => {
  const fail = (): never => {
    throw new McpError(-32_002, 'gone', { data: { uri: 'note://1' } })
  }
  const up = byHand({ capabilities: resources, answers: { ...oneResource, 'resources/read': fail } })
  const { client } = await through(t, { up: up.client })
  const error = await failure(client.readResource('note://1', { retry: 'never' }))
  assert.equal([error.message, error.data], ['gone', { uri: 'note://1' }])
})

test('of a template, completions are asked where the server has them', async (t) => {
  const complete = { 'completion/complete': () => ({ completion: { values: ['a'] } }) }
  const with2024 = byHand({
    name: 'old',
    revision: '2024-11-05',
    capabilities: resources,
    answers: { ...oneResource, ...complete },
  })
  const ask = async (up: ReturnType<typeof byHand>) => {
    const { client } = await through(t, { up: up.client })
    const ref = { type: 'ref/resource', uri: 'note://t/{x}' } as const
    const params = { ref, argument: { name: 'x', value: '' } }
    const { completion } = (await client.request('completion/complete', params)) as {
      completion: { values: string[] }
    }
    return completion.values
  }
  assert.equal(await ask(with2024), ['a'])
  const [asked] = with2024.of('completion/complete')
  assert.equal(asked?.params.ref, { type: 'ref/resource', uri: 'note://t/{x}' })
  const mute = byHand({ capabilities: resources, answers: { ...oneResource, ...complete } })
  assert.is((await failure(ask(mute))).code, -32_601)
  assert.is(mute.of('completion/complete').length, 0)
  const unknowing = byHand({
    revision: '2024-11-05',
    capabilities: resources,
    answers: {
      ...oneResource,
      'completion/complete': () => {
        throw McpError.methodNotFound('completion/complete')
      },
    },
  })
  assert.equal(await ask(unknowing), [])
})

test('a modern server that can log is asked to, and no other one', async (t) => {
  const levels = async (revision: string, capabilities: object) => {
    const up = byHand({ revision, capabilities })
    await through(t, { up: up.client })
    return up.told.filter((each) => each.startsWith('level'))
  }
  assert.equal(await levels('2026-07-28', { tools: {}, logging: {} }), ['level info'])
  assert.equal(await levels('2026-07-28', { tools: {} }), [])
  assert.equal(await levels('2025-11-25', { tools: {}, logging: {} }), [])
})

test('what a server logs reaches the caller, with the name of the server before it', async (t) => {
  const up = byHand({
    answers: {
      'tools/call': (): object => {
        up.tell('notifications/message', { level: 'error', data: 'one', logger: 'disk' })
        up.tell('notifications/message', { level: 'error', data: 'two' })
        return { content: [] }
      },
    },
  })
  const { client } = await through(t, { up: up.client })
  const heard = new Recording<{ logger?: unknown; data?: unknown }>('logs')
  t.after(client.onNotification('notifications/message', (params) => heard.add(params)))
  await client.callTool('up__one')
  const all = [await heard.next(), await heard.next()]
  assert.equal(
    all.map(({ logger, data }) => [logger, data]),
    [
      ['up/disk', 'one'],
      ['up', 'two'],
    ],
  )
})

test('pages that a refusal asks for have http or https, or are not passed on', async (t) => {
  const page = { mode: 'url', message: 'Look', url: 'https://example.com/', elicitationId: '1' }
  let elicitations: unknown
  const up = byHand({
    answers: {
      'tools/call': () => {
        throw new McpError(-32042, 'see a page', { data: { elicitations } })
      },
    },
  })
  const { client } = await through(t, { up: up.client })
  const refusal = async (pages: unknown): Promise<McpError> => {
    elicitations = pages
    return failure(client.callTool('up__one', {}, { retry: 'never' }))
  }
  const passed = await refusal([page])
  assert.equal([passed.code, passed.data], [-32042, { elicitations: [page] }])
  assert.is((await refusal(undefined)).code, -32042)
  for (const pages of [
    [{ ...page, url: 'javascript:alert(1)' }],
    [page, { ...page, url: 'file:///x' }],
    5,
    [],
  ]) {
    const { code, message } = await refusal(pages)
    assert.is(code, -32603)
    assert.match(message, /^up: tools\/call: it wants its user to see a page/)
  }
})

test.run()
