// second tier: time
import { BroadcastChannel } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { fileURLToPath } from 'node:url'
import { field, type ServerError } from 'caduceus'
import { subscribe } from 'caduceus/runtime'
import {
  createApp,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
} from 'caduceus/server'
import { connect, type Connected, fakeClock } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('isolated components', { timeout: 30_000 })
const reader = at('_reader')

test('resources, templates and prompts run isolated, completions in place', async (t) => {
  const complete = { style: (value: string) => ['kind', 'brief'].filter((one) => one.startsWith(value)) }
  const isolate = 'thread'
  const { client } = await start(t, {
    resources: [defineResource({ name: 'a', uri: 'test://a', isolate, module: reader })],
    resourceTemplates: [
      defineResourceTemplate({ name: 'b', uriTemplate: 'test://b/{path}', isolate, module: reader }),
    ],
    prompts: [
      definePrompt({ name: 'p', arguments: { style: field.string() }, complete, isolate, module: reader }),
    ],
  })
  const bytes = Buffer.from('bytes').toString('base64')
  assert.equal((await client.readResource('test://a')).contents, [{ uri: 'test://a', blob: bytes }])
  const { contents } = await client.readResource('test://b/c')
  assert.equal(contents, [{ uri: 'test://b/c', text: 'at c' }])
  assert.match(await messageOf(client.readResource('test://b/gone')), 'Resource not found')
  const lost = await client.readResource('test://b/exit').catch((error) => error)
  assert.equal([lost.code, lost.data], [-32603, { code: 'WORKER_ENDED' }])
  assert.match(lost.message, 'resources/read test://b/exit: its thread ended with exit code 3')
  const { messages } = await client.getPrompt('p', { style: 'kind' })
  assert.equal(messages[0]?.content, { type: 'text', text: 'Be kind.' })
  assert.match(await messageOf(client.getPrompt('p', {})), 'style: is required')
  const ref = { type: 'ref/prompt', name: 'p' } as const
  const { completion } = await client.complete({ ref, argument: { name: 'style', value: 'k' } })
  assert.equal(completion.values, ['kind'])
})

test('arguments are checked before the isolated run, its value after', async (t) => {
  const input = { what: field.string(), text: field.string({ default: 'a text' }) }
  const heavy = { input, isolate: 'thread', module: at('_heavy') } as const
  const { client } = await start(t, {
    tools: [
      defineTool({ ...heavy, name: 'text', output: field.string() }),
      defineTool({ ...heavy, name: 'number', output: field.integer() }),
    ],
  })
  assert.match(
    (await client.callTool('text', { what: 1 })).text,
    /The arguments for text are not valid:\n- what: /,
  )
  assert.is((await client.callTool('text', { what: 'echo' })).structuredContent, 'a text')
  assert.match((await client.callTool('number', { what: 'echo' })).text, 'returned what its output does not')
})

test('createApp takes isolated components, too', () => {
  const app = createApp<{ user: string }>()
  assert.is(app.defineTool({ name: 'a', isolate: 'process', module: reader }).isolated?.kind, 'process')
})

test('a wrong isolated definition is refused with field and advice', () => {
  const module = reader
  const wrong: readonly [object, field: string, problem: string][] = [
    [
      { isolate: 'fibre', module },
      'isolate',
      `tool "a": isolate: expected 'thread' or 'process', got "fibre"`,
    ],
    [{ module }, 'isolate', "isolate: expected 'thread' or 'process', got undefined"],
    [{ isolate: 'thread' }, 'module', 'module: expected the file: URL of a module'],
    [{ isolate: 'thread', module: './a.js' }, 'module', 'module: expected the file: URL of a module'],
    [{ isolate: 'thread', module: 'https://a.example/a.js' }, 'module', 'module: expected the file: URL'],
    [{ isolate: 'thread', module: at('_none') }, 'module', '_none.js is not there'],
    [{ isolate: 'thread', module, run: () => 'a' }, 'run', 'run: expected nothing beside module'],
    [{}, 'run', 'run: expected a function, got undefined'],
  ]
  for (const [options, where, problem] of wrong)
    assert.throws(
      () => defineTool({ name: 'a', ...options } as never),
      ({ code, data, message }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === where && message.includes(problem),
      problem,
    )
  defineTool({ name: 'a', isolate: 'thread', module: fileURLToPath(module) })
})

test('a module that lacks a handler or fails to load fails its calls and is logged', async (t) => {
  const tool = (name: string) => defineTool({ name, isolate: 'thread', module: at(name) })
  const { client } = await start(t, { tools: [tool('_nothing'), tool('_broken')] })
  const told: string[] = []
  t.after(subscribe('crash', ({ name, reason }) => void told.push(`${name}: ${reason.type}`)))
  assert.match(
    (await client.callTool('_nothing')).text,
    /module file:.*_nothing\.js: expected the handler, a function, as the default export, got "no function"/,
  )
  assert.match(
    (await client.callTool('_broken')).text,
    /module file:.*_broken\.js: it could not be imported: this module cannot be loaded/,
  )
  assert.equal(told, ['tools/call _nothing: crash', 'tools/call _broken: crash'])
})

for (const isolate of ['thread', 'process'] as const)
  test(`${isolate}: a module that exits its worker fails its own calls, without a storm`, async (t) => {
    const told: string[] = []
    t.after(subscribe('crash', ({ name, during }) => void told.push(`${name}: ${during}`)))
    const input = { what: field.string() }
    const { client } = await start(t, {
      tools: [
        defineTool({ name: 'ends', isolate, module: at('_ends') }),
        defineTool({ name: 'heavy', input, isolate, module: at('_heavy') }),
      ],
    })
    for (let turn = 0; turn < 3; turn += 1) {
      assert.match((await client.callTool('ends')).text, 'ended with exit code 9')
      assert.is((await client.callTool('heavy', { what: 'echo' })).text, '')
    }
    assert.ok(told.length <= 5, told.join(', '))
  })

for (const ms of [1_000, 10_000])
  test(`a module that loads for over ${ms} ms is logged and fails its own calls only`, async (t) => {
    const told: string[] = []
    t.after(
      subscribe('crash', ({ name, during, reason }) => {
        told.push(`${name}, ${during}: ${'error' in reason && reason.error}`)
      }),
    )
    const channel = new BroadcastChannel('endless')
    t.after(() => channel.close())
    const isLoading = new Promise((resolve) => (channel.onmessage = resolve))
    const clock = fakeClock()
    const input = { what: field.string() }
    const definition = defineServer({
      name: 'test',
      version: '1',
      tools: [
        defineTool({ name: 'endless', isolate: 'thread', module: at('_endless') }),
        defineTool({ name: 'heavy', input, isolate: 'thread', module: at('_heavy') }),
      ],
    })
    const { client, close } = await connect(definition, { clock, server: { isolation: { threads: 1 } } })
    t.after(close)
    await isLoading
    await clock.advance(ms)
    // its only thread is taken from it, at the latest by the call of another
    assert.is((await client.callTool('heavy', { what: 'ping' })).text, 'pong')
    assert.match(
      told.join('; '),
      new RegExp(
        `^isolation, loading a module ahead: .*_endless\\.js: it did not load within ${ms} ms, so its calls load it`,
      ),
    )
  })

test('a slow module delays no other, and modules load one after another', async (t) => {
  const channel = new BroadcastChannel('endless')
  t.after(() => channel.close())
  const isLoading = new Promise((resolve) => (channel.onmessage = resolve))
  const clock = fakeClock() // stands still: nothing is given up
  const input = { what: field.string() }
  const definition = defineServer({
    name: 'test',
    version: '1',
    tools: [
      defineTool({ name: 'endless', isolate: 'thread', module: at('_endless') }),
      defineTool({ name: 'heavy', input, isolate: 'thread', module: at('_heavy') }),
    ],
  })
  const { client, close } = await connect(definition, { clock, server: { isolation: { threads: 2 } } })
  t.after(close)
  await isLoading
  assert.is((await client.callTool('heavy', { what: 'ping' })).text, 'pong')
  const where = (await client.callTool('heavy', { what: 'where' })).text
  assert.is((await client.callTool('heavy', { what: 'where' })).text, where)
})

test('calls of a loading module wait for it and are all answered', async (t) => {
  const input = { what: field.string() }
  const definition = defineServer({
    name: 'test',
    version: '1',
    tools: [
      defineTool({ name: 'slow', isolate: 'thread', module: at('_slow') }),
      defineTool({ name: 'heavy', input, isolate: 'thread', module: at('_heavy') }),
    ],
  })
  const { client, close } = await connect(definition, { server: { isolation: { threads: 2 } } })
  t.after(close)
  const calls = ['slow', 'heavy', 'slow', 'heavy', 'slow'].map((name) =>
    client.callTool(name, name === 'heavy' ? { what: 'ping' } : {}),
  )
  assert.equal(
    (await Promise.all(calls)).map(({ text }) => text),
    ['slow', 'pong', 'slow', 'pong', 'slow'],
  )
})

test('an isolated tool can be added at run time if isolation is on', async (t) => {
  const tool = defineTool({
    name: 'text',
    isolate: 'thread',
    module: at('_heavy'),
    input: { what: field.string() },
  })
  const without = await start(t, { tools: [] })
  assert.match(
    await messageOf(without.server.addTool(tool)),
    'tool "text": isolate: this server runs no isolated handlers: start it with isolation: {}',
  )
  const pair = await connect(defineServer({ name: 'test', version: '1', tools: [] }), {
    server: { isolation: { threads: 1 } },
  })
  t.after(() => pair.close())
  await pair.server.addTool(tool)
  assert.is((await pair.client.callTool('text', { what: 'echo' })).text, '')
})

test('wrong isolation options are refused with their field', async () => {
  const definition = defineServer({ name: 'test', version: '1' })
  for (const [isolation, problem] of [
    [1, 'isolation: expected an object, got 1'],
    [{ threads: 0 }, 'isolation.threads: expected'],
    [{ spares: 0.5 }, 'isolation.spares: expected a whole number'],
    [{ memory: -1 }, 'isolation.memory: expected'],
    [{ maxResultBytes: 0 }, 'isolation.maxResultBytes: expected'],
    [{ idleTimeout: 'a' }, 'isolation.idleTimeout: expected'],
    [{ workers: 1 }, 'isolation.workers: expected'],
  ] as const)
    assert.match(await messageOf(connect(definition, { server: { isolation: isolation as never } })), problem)
})

function at(name: string): URL {
  return new URL(`./${name}.js`, import.meta.url)
}

async function start(t: TestContext, parts: Partial<Parameters<typeof defineServer>[0]>): Promise<Connected> {
  const pair = await connect(defineServer({ name: 'test', version: '1', ...parts }), {
    client: { era: 'auto' },
  })
  t.after(() => pair.close())
  return pair
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    (value) => assert.unreachable(`it resolved: ${JSON.stringify(value)}`),
    (error) => error.message,
  )
}

test.run()
