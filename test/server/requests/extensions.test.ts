import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { field } from 'caduceus/protocol'
import {
  defineMethod,
  defineServer,
  sealed,
  type ServerDefinitionOptions,
  type ServerError,
  startServer,
} from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection } from '../../client/_raw.js'
import { startParts } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'

const test = suite('extensions of a server')

const search = 'com.example/search'
const find = defineMethod({
  extension: search,
  params: { text: field.string() },
  run: ({ text }, ctx) => ({ found: [text], by: ctx.session.revision }),
})
const parts: Partial<ServerDefinitionOptions> = {
  extensions: { [search]: { languages: ['en'] }, 'com.example/other': {} },
  methods: { 'search/find': find },
}

async function serve(
  t: TestContext,
  options: Parameters<typeof startServer>[1] | object = {},
  own: Partial<ServerDefinitionOptions> = parts,
) {
  const server = await startServer(defineServer({ name: 's', version: '1', ...own }), {
    transport: serveHttp(),
    logger: false,
    ...options,
  })
  t.after(() => server.stop())
  return server.url ?? ''
}

for (const era of ['handshake', 'modern'] as const) {
  test(`${era}: a client sees declared extensions and calls methods of its own`, async (t) => {
    const client = startClient({
      transport: http(await serve(t)),
      era,
      extensions: { [search]: {} },
      logger: false,
    })
    t.after(() => client.close())
    await client.ready()
    assert.equal(client.server?.capabilities.extensions, parts.extensions)
    assert.is(client.supports(`extensions.${search}`), true)
    assert.is(client.supports('extensions.com.example/absent'), false)
    const { found } = await client.request('search/find', { text: 'tea' })
    assert.equal(found, ['tea'])
  })

  test(`${era}: an undeclared extension is refused before any code runs`, async (t) => {
    const client = startClient({
      transport: http(await serve(t)),
      era,
      extensions: { 'com.example/other': {} },
      logger: false,
    })
    t.after(() => client.close())
    const error = await rejection(client.request('search/find', { text: 5 }))
    assert.is(error.code as unknown, era === 'modern' ? -32021 : -32601)
    assert.match(error.message, 'search/find belongs to the extension com.example/search')
    assert.equal((error.data as { requiredCapabilities: object }).requiredCapabilities, {
      extensions: { [search]: {} },
    })
  })
}

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: a method notifies its client in order before its answer`, async (t) => {
    const methods = {
      'search/index': defineMethod({
        extension: search,
        run: (_params, ctx) => ({ sent: [1, 2].map((page) => ctx.notify('search/indexed', { page })) }),
      }),
    }
    const url = await serve(t, {}, { ...parts, methods })
    const client = startClient({ transport: http(url), era, extensions: { [search]: {} }, logger: false })
    t.after(() => client.close())
    const heard: unknown[] = []
    client.onNotification('search/indexed', ({ page }) => heard.push(page))
    assert.equal((await client.request('search/index')).sent, [true, true])
    assert.equal(heard, [1, 2])
  })

test('a standard notification, or params outside of JSON, is a mistake of the author', async (t) => {
  const wrong: readonly (readonly [unknown, unknown])[] = [
    ...['notifications/progress', 'tools/list', 'notifications/message', '', 'indexed', '__proto__', 5].map(
      (name) => [name, {}] as const,
    ),
    ...[null, [], 'text', 1n, () => {}].map((params) => ['search/indexed', params] as const),
  ]
  const codes: unknown[] = []
  const try_ = defineMethod({
    run(_params, ctx) {
      for (const [name, params] of wrong)
        try {
          ctx.notify(name as string, params as never)
          codes.push(name)
        } catch (error) {
          codes.push((error as ServerError).code)
        }
      return {}
    },
  })
  const { client } = await startParts(t, { methods: { 'acme/try': try_ } })
  await client.ask('acme/try')
  assert.equal(
    codes,
    wrong.map(() => 'BAD_OPTION'),
  )
})

test('2026-07-28 refuses with 400, and each request declares its extensions', async (t) => {
  const { send } = await startStateless(t, parts)
  const refused = await send(posted('search/find', { text: 'a' }))
  assert.equal([refused.status, refused.messages[0]?.error?.code], [400, -32021])
  const clientCapabilities = { extensions: { [search]: {} } }
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': clientCapabilities }
  const [answer] = (await send(posted('search/find', { text: 'a', _meta }))).messages
  assert.equal(answer?.result?.found, ['a'])
  for (const extensions of [
    null,
    [],
    'x',
    { [search]: null },
    { [search]: false },
    { __proto__: { [search]: {} } },
  ]) {
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions } }
    const { error } = (await send(posted('search/find', { text: 'a', _meta }))).messages[0] ?? {}
    assert.ok(error?.code === -32021 || error?.code === -32602, JSON.stringify(extensions))
  }
})

for (const revision of ['2024-11-05', '2025-11-25'])
  test(`${revision}: declared extensions pass as an unknown field`, async (t) => {
    const { server } = await startParts(t, parts)
    const { RawClient } = await import('../_client.js')
    const client = new RawClient(t, server.url)
    const { messages } = await client.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    })
    const told = messages[0]?.result as { capabilities: { extensions: object } } | undefined
    assert.equal(told?.capabilities.extensions, parts.extensions)
  })

test('a self-contained session id keeps client extensions of any number of settings', async (t) => {
  const engine = sealed({ keys: ['a secret of thirty-two characters'] })
  const long = { [search]: { words: 'x'.repeat(600) } }
  const url = await serve(t, { engine })
  const client = startClient({ transport: http(url), extensions: long, logger: false })
  t.after(() => client.close())
  assert.equal((await client.request('search/find', { text: 'a' })).found, ['a'])
})

test('a method without an extension is open to all clients', async (t) => {
  const { client } = await startParts(t, { methods: { 'acme/a': defineMethod({ run: () => ({ a: 1 }) }) } })
  assert.equal((await client.ask('acme/a')).result, { a: 1 })
})

test('wrong extension definitions name the field', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const wrong: readonly (readonly [object, string])[] = [
    [{ extensions: [] }, 'extensions: expected an object'],
    [
      { extensions: { search: {} } },
      'extensions: expected ids such as com.example/search as keys, got "search"',
    ],
    [{ extensions: { [search]: true } }, `extensions["${search}"]: expected an object of settings`],
    [{ extensions: { [search]: circle } }, 'expected an object that has JSON'],
    [
      { methods: { 'search/find': find } },
      'methods["search/find"].extension: the server does not declare it',
    ],
  ]
  for (const [part, says] of wrong)
    assert.throws(
      () => defineServer({ name: 's', version: '1', ...part }),
      (error: ServerError) => error.code === 'BAD_DEFINITION' && error.message.includes(says),
      says,
    )
  assert.throws(
    () => defineMethod({ extension: 'search', run: () => ({}) }),
    (error: ServerError) => error.message.includes('extension: expected an id such as com.example/search'),
  )
})

test.run()
