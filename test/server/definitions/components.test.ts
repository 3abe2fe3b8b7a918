import * as assert from 'uvu/assert'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  type ServerDefinitionOptions,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, killAndWait, startParts } from '../_servers.js'

const test = suite('server components')

const readme = defineResource({
  uri: 'docs:readme',
  name: 'readme',
  title: 'Read me',
  description: 'Where to begin.',
  mimeType: 'text/plain',
  size: 5,
  read: () => 'hello',
})
const file = defineResourceTemplate({
  uriTemplate: 'files:///{+path}',
  name: 'file',
  mimeType: 'text/x',
  read: ({ path }) => (path === 'gone' ? undefined : `contents of ${path}`),
  complete: { path: (value, chosen) => [`${value}1`, `${value}2`, JSON.stringify(chosen)] },
})

const greet = definePrompt({
  name: 'greet',
  description: 'Greets somebody.',
  arguments: [
    { name: 'who', required: true },
    { name: 'how', description: 'In what way.' },
  ],
  get: ({ who, how = 'kindly' }) => `Greet ${who} ${how}.`,
  complete: { how: async (value) => Array.from({ length: 150 }, (_, n) => `${value}${n}`) },
})

test('prompts are listed and got', async (t) => {
  const talk = definePrompt({
    name: 'talk',
    get: () => ({
      description: 'A talk.',
      messages: [{ role: 'assistant', content: { type: 'text', text: 'Hi' } }],
    }),
  })
  const { client } = await startParts(t, { prompts: [greet, talk] })
  assert.equal((await client.ask('prompts/list')).result, {
    prompts: [
      {
        name: 'greet',
        description: 'Greets somebody.',
        arguments: [
          { name: 'who', required: true },
          { name: 'how', description: 'In what way.' },
        ],
      },
      { name: 'talk' },
    ],
  })
  const get = async (name: string, args?: object) =>
    client.ask('prompts/get', { name, ...(args && { arguments: args }) })
  assert.equal((await get('greet', { who: 'Ada' })).result, {
    description: 'Greets somebody.',
    messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada kindly.' } }],
  })
  assert.equal((await get('talk')).result, {
    description: 'A talk.',
    messages: [{ role: 'assistant', content: { type: 'text', text: 'Hi' } }],
  })
  assert.equal((await get('greet', { how: 'x' })).error, {
    code: -32602,
    message: 'Missing required arguments of prompt greet: who',
  })
  assert.equal((await get('none')).error, { code: -32602, message: 'Unknown prompt: "none"' })
  assert.is((await get('greet', { who: 1 })).error?.code, -32602)
})

test('arguments and variables are completed, at most a hundred values at once', async (t) => {
  const { client } = await startParts(t, { prompts: [greet], resourceTemplates: [file] })
  const complete = async (ref: object, name: string, more: object = {}) =>
    client.ask('completion/complete', { ref, argument: { name, value: 'v' }, ...more })
  const prompt = { type: 'ref/prompt', name: 'greet' }
  const long = (await complete(prompt, 'how')).result?.completion as { values: string[] }
  assert.equal({ ...long, values: long.values.length }, { values: 100, total: 150, hasMore: true })
  assert.is(long.values[99], 'v99')
  assert.equal((await complete(prompt, 'who')).result, { completion: { values: [] } })
  const context = { context: { arguments: { a: 'b' } } }
  for (const uri of ['files:///{+path}', 'files:///x/y'])
    assert.equal((await complete({ type: 'ref/resource', uri }, 'path', context)).result, {
      completion: { values: ['v1', 'v2', '{"a":"b"}'] },
    })
  const refused: [object, string][] = [
    [prompt, 'other'],
    [{ type: 'ref/prompt', name: 'none' }, 'who'],
    [{ type: 'ref/resource', uri: 'none:' }, 'path'],
  ]
  for (const [ref, name] of refused) assert.is((await complete(ref, name)).error?.code, -32602)
})

test('only declared capabilities are offered and can be requested', async (t) => {
  const cases: [Partial<ServerDefinitionOptions>, object][] = [
    [{}, { tools: { listChanged: true } }],
    [{ tools: [] }, { tools: { listChanged: true } }],
    [{ prompts: [] }, { prompts: { listChanged: true } }],
    [{ prompts: [greet] }, { completions: {}, prompts: { listChanged: true } }],
    [{ resources: [] }, { resources: { subscribe: true, listChanged: true } }],
    [{ resourceTemplates: [file] }, { completions: {}, resources: { subscribe: true, listChanged: true } }],
    [
      { tools: [count], logging: true },
      { logging: {}, tools: { listChanged: true } },
    ],
  ]
  for (const [parts, expected] of cases) {
    const server = await startServer(defineServer({ name: 'test', version: '1', ...parts }), {
      transport: serveHttp(),
      logger: false,
    })
    t.after(() => server.stop())
    const client = await new RawClient(t, server.url)
    const { messages, headers } = await client.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    })
    assert.equal(messages[0]?.result?.capabilities, expected)
    client.sessionId = String(headers['mcp-session-id'])
    const asked: [string, string][] = [
      ['tools', 'tools/list'],
      ['prompts', 'prompts/list'],
      ['resources', 'resources/list'],
      ['resources', 'resources/templates/list'],
    ]
    for (const [capability, method] of asked)
      assert.is((await client.ask(method)).error?.code, capability in expected ? undefined : -32601, method)
    const level = await client.ask('logging/setLevel', { level: 'info' })
    assert.is(level.error?.code, 'logging' in expected ? undefined : -32601)
  }
})

test('components added and removed at run time survive a group restart', async (t) => {
  const { server, client } = await startParts(
    t,
    { tools: [], resources: [], prompts: [] },
    { limits: { pageSize: 1 } },
  )
  const stream = await client.listen()
  await server.addPrompt(greet)
  assert.is((await stream.next()).method, 'notifications/prompts/list_changed')
  await Promise.all([server.addResource(readme), server.addResource(file)])
  assert.is((await stream.next()).method, 'notifications/resources/list_changed')
  await server.addTool(count)
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  await killAndWait(server, 'test/base')
  assert.equal((await client.ask('prompts/get', { name: 'greet', arguments: { who: 'x' } })).error, undefined)
  assert.equal((await client.ask('resources/read', { uri: 'files:///a' })).error, undefined)
  assert.equal(await Promise.all([server.removePrompt('greet'), server.removePrompt('greet')]), [true, false])
  assert.equal(await server.removeResource('files:///{+path}'), true)
  assert.equal(await server.removeResource('docs:readme'), true)
  assert.equal(await server.removeResource('docs:readme'), false)
  assert.equal((await client.ask('resources/list')).result, { resources: [] })
  for (const [adding, message] of [
    [() => server.addPrompt(count as never), /^addPrompt: expected what definePrompt returns/],
    [() => server.addTool(count), /^tool "count": expected a name that no other tool has$/],
  ] as const)
    await adding().then(
      () => assert.unreachable(),
      (error: Error) => assert.match(error.message, message),
    )
})

test('a component of an undeclared kind cannot be added', async (t) => {
  const { server } = await startParts(t, { tools: [] })
  await server.addPrompt(greet).then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, /^prompt "greet": the server does not declare this kind/),
  )
})

test('every list comes in pages', async (t) => {
  const names = ['a', 'b', 'c']
  const { client } = await startParts(
    t,
    {
      resources: names.map((name) => defineResource({ uri: `x:${name}`, name, read: () => name })),
      resourceTemplates: names.map((name) =>
        defineResourceTemplate({ uriTemplate: `${name}:{x}`, name, read: () => name }),
      ),
      prompts: names.map((name) => definePrompt({ name, get: () => name })),
    },
    { limits: { pageSize: 2 } },
  )
  for (const [method, field] of [
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
    ['prompts/list', 'prompts'],
  ] as const) {
    const first = (await client.ask(method)).result ?? {}
    const second = (await client.ask(method, { cursor: first.nextCursor })).result ?? {}
    const listed = [first, second].map((page) => (page[field] as { name: string }[]).map(({ name }) => name))
    assert.equal(listed, [['a', 'b'], ['c']])
    assert.is(second.nextCursor, undefined)
    assert.is((await client.ask(method, { cursor: 'garbage' })).error?.code, -32602)
    assert.is((await client.ask(method, { cursor: '' })).error?.code, -32602)
  }
})

test.run()
