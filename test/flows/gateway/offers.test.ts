import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  gateway,
  type GatewayOptions,
  type ServerDefinition,
} from 'caduceus/server'
import { connect, type Connected } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: what it offers')

const files = defineServer({
  name: 'files',
  version: '1.0.0',
  instructions: 'Read before you write.',
  tools: {
    read: defineTool({
      description: 'Reads.',
      input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      run: ({ path }: { path: string }) => `content of ${path}`,
    }),
    steps: defineTool({
      run(_args, ctx) {
        for (const step of [1, 2, 3]) ctx.progress(step, 3, `step ${step}`)
        return 'stepped'
      },
    }),
  },
  resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'first note' })],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'day://{day}',
      name: 'day',
      read: ({ day }) => `it is ${day}`,
      complete: { day: (value) => ['monday', 'sunday'].filter((day) => day.startsWith(value)) },
    }),
  ],
  prompts: [
    definePrompt({
      name: 'greet',
      arguments: [{ name: 'who', required: true }],
      get: ({ who }) => `Greet ${who}`,
      complete: { who: () => ['ada', 'bob'] },
    }),
  ],
})

const mail = defineServer({
  name: 'mail',
  version: '2.0.0',
  tools: {
    read: defineTool({ run: () => 'a letter' }),
    'send.all': defineTool({ run: () => 'sent' }),
  },
  resources: [defineResource({ uri: 'note://one', name: 'other', read: () => 'of mail' })],
})

test('tools of two servers have distinct names and reach their server', async (t) => {
  const { client } = await through(t, { files, mail })
  const { tools } = await client.listTools()
  // whichever has listed its own first
  assert.equal(tools.map(({ name }) => name).sort(), [
    'files__read',
    'files__steps',
    'mail__read',
    'mail__send.all',
  ])
  assert.is((await client.callTool('files__read', { path: 'a.txt' })).text, 'content of a.txt')
  assert.is((await client.callTool('mail__read')).text, 'a letter')
  const wrong = await client.callTool('files__read', {})
  assert.is(wrong.isError, true)
  const unknown = await client.callTool('read').catch((error: unknown) => error)
  assert.ok(unknown instanceof McpError && unknown.code === -32602)
})

test('the gateway passes progress, resources, templates, prompts, completions', async (t) => {
  const { client } = await through(t, { files, mail })
  const told: number[] = []
  await client.callTool('files__steps', {}, { onProgress: ({ progress }) => void told.push(progress) })
  assert.equal(told, [1, 2, 3])
  const { resources } = await client.listResources()
  assert.equal(
    resources.map(({ uri, name }) => [uri, name]),
    [
      ['note://one', 'one'],
      ['mail+note://one', 'other'],
    ],
  )
  assert.is((await client.readResource('note://one')).text, 'first note')
  assert.is((await client.readResource('mail+note://one')).text, 'of mail')
  assert.is((await client.readResource('files+note://one')).text, 'first note')
  assert.is((await client.readResource('day://monday')).text, 'it is monday')
  const { prompts } = await client.listPrompts()
  assert.equal(prompts[0]?.name, 'files__greet')
  assert.match((await client.getPrompt('files__greet', { who: 'ada' })).text, 'Greet ada')
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'files__greet' },
    argument: { name: 'who', value: '' },
  })
  assert.equal(completion.values, ['ada', 'bob'])
  const days = await client.complete({
    ref: { type: 'ref/resource', uri: 'day://{day}' },
    argument: { name: 'day', value: 'm' },
  })
  assert.equal(days.completion.values, ['monday'])
})

test('instructions are joined, below the names of their servers', async (t) => {
  const { client } = await through(t, { files, mail }, { instructions: 'All in one.' })
  assert.is(client.server?.instructions, 'All in one.\n\n# files\n\n> Read before you write.')
})

test('allow, deny and rename decide what is offered', async (t) => {
  const servers = { files: { deny: ['st*'], rename: { read: 'open' } }, mail: { allow: ['send*'] } }
  const { client } = await through(t, { files, mail }, { servers })
  const { tools } = await client.listTools()
  // whoever answers first is listed first
  assert.equal(tools.map(({ name }) => name).sort(), ['mail__send.all', 'open'])
  assert.is((await client.callTool('open', { path: 'x' })).text, 'content of x')
})

test('added and removed tools of a server are forwarded to clients', async (t) => {
  const upstream = await pair(t, mail)
  const { client } = await pair(t, gateway({ mail: upstream.client }))
  const changed = new Promise<void>((resolve) => {
    client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  await upstream.server.addTool(defineTool({ name: 'draft', run: () => 'a draft' }))
  await changed
  const { tools } = await client.listTools({ fresh: true })
  assert.equal(
    tools.map(({ name }) => name),
    ['mail__read', 'mail__send.all', 'mail__draft'],
  )
  assert.is((await client.callTool('mail__draft')).text, 'a draft')
})

test('changes of a resource reach those who asked for them', async (t) => {
  const upstream = await pair(t, files)
  const { client } = await pair(t, gateway({ files: upstream.client }))
  const told: string[] = []
  client.onNotification('notifications/resources/updated', ({ uri }) => void told.push(uri))
  await client.subscribe('note://one')
  // the subscription goes on to the server after its answer
  while (told.length === 0) {
    await upstream.server.resourceUpdated('note://one')
    await client.ping()
  }
  assert.is(told[0], 'note://one')
})

test('in search mode two tools find and call all others', async (t) => {
  const { client } = await through(t, { files, mail }, { toolSearch: { pinned: ['mail__read'] } })
  const { tools } = await client.listTools()
  assert.equal(
    tools.map(({ name }) => name),
    ['search_tools', 'call_tool', 'mail__read'],
  )
  const found = await client.callTool('search_tools', { query: 'read a path' })
  const names = (found.json as { tools: { name: string }[] }).tools.map(({ name }) => name)
  assert.is(names[0], 'files__read')
  const called = await client.callTool('call_tool', { name: 'files__read', arguments: { path: 'b' } })
  assert.is(called.text, 'content of b')
  const unknown = await client.callTool('call_tool', { name: 'nope' }).catch((error: unknown) => error)
  assert.match((unknown as Error).message, /nope.*search_tools/)
  // what is no name, and cannot be one
  for (const name of [{ toString: 'x' }, 7, null]) {
    const error = (await client.callTool('call_tool', { name }).catch((cause: unknown) => cause)) as McpError
    assert.is(error.code, -32602, error.message)
  }
})

test('the page of a tool is that of its own server', async (t) => {
  const withPage = (name: string) =>
    defineServer({
      ...{ name, version: '1.0.0' },
      tools: {
        show: defineTool({
          meta: {
            ui: { resourceUri: 'ui://widget', visibility: ['model'] },
            'ui/resourceUri': 'ui://widget',
          },
          run: () => '',
        }),
      },
      resources: [defineResource({ uri: 'ui://widget', name: 'widget', read: () => `page of ${name}` })],
    })
  const { client } = await through(t, { evil: withPage('evil'), good: withPage('good') })
  const { tools } = await client.listTools()
  for (const server of ['evil', 'good']) {
    const meta = tools.find(({ name }) => name === `${server}__show`)?._meta as {
      ui: { resourceUri: string; visibility: string[] }
    } & Record<string, unknown>
    assert.is((await client.readResource(meta.ui.resourceUri)).text, `page of ${server}`)
    assert.equal([meta['ui/resourceUri'], meta.ui.visibility], [meta.ui.resourceUri, ['model']])
  }
})

test.slow('long lists of some servers go into pages of their own', async (t) => {
  const long = (name: string) =>
    defineServer({
      ...{ name, version: '1.0.0' },
      tools: Array.from({ length: 4 }, (_, i) =>
        defineTool({ name: `t${i}`, description: 'x'.repeat(900_000), run: () => '' }),
      ),
    })
  const { client } = await through(t, { one: long('one'), two: long('two'), three: long('three'), files })
  const sizes: number[] = []
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    sizes.push(JSON.stringify(page).length)
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  assert.is(new Set(names).size, names.length)
  assert.ok(names.includes('files__read') && names.length > 12, names.join())
  assert.ok(Math.max(...sizes) < 2_200_000, sizes.join())
})

test('what a search tells is bounded, and how many more fit is said', async (t) => {
  const long = (i: number, length: number) =>
    defineTool({ name: `note_${i}`, description: 'x'.repeat(length), run: () => '' })
  const tools = [...Array.from({ length: 20 }, (_, i) => long(i, 30_000)), long(20, 200_000)]
  const notes = defineServer({ name: 'notes', version: '1.0.0', tools })
  const { client } = await through(t, { notes }, { toolSearch: true })
  type Found = { tools: { name: string; description?: string }[]; of: number; more?: number }
  const all = await client.callTool('search_tools', { query: 'note', limit: 50 })
  const { tools: told, of, more } = all.json as Found
  assert.ok(String(all.text).length < 101_000)
  assert.equal([told.length > 0, of, told.length + Number(more)], [true, 21, 21])
  const one = await client.callTool('search_tools', { query: 'note 20', limit: 1 })
  assert.equal((one.json as Found).tools, [{ name: 'notes__note_20' }])
})

test.run()

/** A pair that ends with the test. */
async function pair(t: TestContext, definition: ServerDefinition): Promise<Connected> {
  const connected = await connect(definition)
  t.after(() => connected.close())
  return connected
}

async function through(
  t: TestContext,
  servers: Readonly<Record<string, ServerDefinition>>,
  options: GatewayOptions = {},
): Promise<Connected> {
  const clients: Record<string, Client> = {}
  for (const [name, definition] of Object.entries(servers)) clients[name] = (await pair(t, definition)).client
  return pair(t, gateway(clients, options))
}
