import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { definePrompt, defineResource, defineServer, defineTool, type ToolDefinition } from 'caduceus/server'
import * as testing from 'caduceus/testing'
import { rejection } from '../client/_raw.js'
import { count, echo } from '../server/_servers.js'
import { heard } from '../support/heard.js'
import { runProgram } from '../runtime/_program.js'
import { suite } from '../support/suite.js'

const test = suite('testing: a connected pair')

const { connect, crash, fakeClock, scriptedClient, until } = testing
const definitionOf = (tool: ToolDefinition) => defineServer({ name: 'counting', version: '1', tools: [tool] })
const counting = definitionOf(count)

test('a connected client calls the tools of the server, and both end with the pair', async () => {
  const ended: string[] = []
  {
    await using pair = await connect(counting)
    assert.is((await pair.client.callTool('count')).text, '1')
    assert.is((await pair.client.callTool('count', { by: 2 })).text, '3')
    assert.is(pair.client.server?.info.name, 'counting')
    pair.server.onExit(({ type }) => ended.push(type))
    void pair.client.closed.then(() => ended.push('closed'))
  }
  assert.equal(ended, ['closed', 'shutdown'])
})

test('close can be repeated, and a failed start leaves nothing', async () => {
  const pair = await connect(counting)
  await Promise.all([pair.close(), pair.close()])
  await pair.close()
  const wrong = await rejection(connect(counting, { client: { timeout: -1 } }))
  assert.equal([wrong.code, (wrong.data as { field: string }).field], ['BAD_OPTION', 'timeout'])
  const unknown = await rejection(connect(counting, { port: 1 } as object))
  assert.match(unknown.message, 'port: expected an option among server, client')
  assert.is((await rejection(connect({} as typeof counting))).code, 'BAD_DEFINITION')
})

test('options of the server, the client and both reach them, and more clients join', async (t) => {
  const lines: string[] = []
  const logger = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [level, (_: object, line: string) => lines.push(line)]),
  ) as never
  const pair = await connect(counting, {
    server: { name: 'first' },
    client: { name: 'caller', clientInfo: { name: 'me', version: '9' } },
    logger,
  })
  t.after(() => pair.close())
  assert.equal([pair.server.name, pair.client.name], ['first', 'caller'])
  assert.is(pair.client.registry, pair.server.registry)
  await using other = await scriptedClient(pair.transport)
  await other.initialize()
  const names = (await pair.server.sessions()).map(({ client }) => client.name)
  assert.equal(names.sort(), ['me', 'scripted'])
  await crash(pair.server)
  await until(() => lines.length > 0)
})

test('a test names the user of a client, adds other clients and has scopes checked', async () => {
  const who = defineTool({ name: 'who', run: (_, ctx) => String(ctx.principal?.subject) })
  const admin = defineTool({ name: 'admin', scopes: ['admin'], run: () => 'done' })
  const definition = defineServer({ name: 'users', version: '1', tools: [who, admin, count] })
  const user = (subject: string, ...scopes: string[]) => ({ issuer: 'test', subject, scopes })
  for (const era of ['handshake', 'modern'] as const) {
    await using pair = await connect(definition, {
      principal: user('ada', 'admin'),
      client: { era },
      server: { revisions: ['2025-11-25', '2026-07-28'] },
    })
    assert.equal(
      [(await pair.client.callTool('who')).text, (await pair.client.callTool('admin')).text],
      ['ada', 'done'],
    )
    const bob = startClient({ transport: pair.connectAs(user('bob')), era, logger: false })
    assert.is((await bob.callTool('who')).text, 'bob')
    assert.is((await rejection(bob.callTool('admin'))).code, 403)
    assert.not.ok((await bob.listTools()).tools.some(({ name }) => name === 'admin'))
    await bob.close()
  }
  await using trusted = await connect(definition)
  assert.equal((await trusted.client.callTool('who')).text, 'undefined')
  assert.equal((await trusted.client.callTool('admin')).text, 'done')
  const wrong = await rejection(connect(definition, { principal: { subject: 'ada' } as never }))
  assert.equal(
    [wrong.code, wrong.message],
    ['BAD_OPTION', 'principal: issuer: expected a non-empty string, got undefined'],
  )
})

test('a logger for one side is used by that side only', async () => {
  const lines: string[] = []
  const write = (_: object, line: string): void => void lines.push(line)
  const logger = { debug: write, info: write, warn: write, error: write }
  const categories = { 'client.request': 'debug', 'server.request': 'debug' } as const
  {
    await using pair = await connect(counting, { client: { logger, logLevels: categories } })
    await pair.client.callTool('count')
  }
  assert.ok(lines.includes('client.request stop'), lines.join())
  assert.not.ok(lines.some((line) => line.startsWith('server.')))
})

test.slow('unless told, errors that belong to no call are written, and nothing else', async (t) => {
  const program = `
    import { defineServer, defineTool, field } from ${JSON.stringify(import.meta.resolve('caduceus'))}
    import { connect } from ${JSON.stringify(import.meta.resolve('caduceus/testing'))}
    const late = defineTool({ name: 'late', run: () => void Promise.reject(new Error('nobody awaits')) ?? 'done' })
    const crash = defineTool({ name: 'crash', run: () => { throw new Error('told to the caller') } })
    const who = defineTool({ name: 'who', run: async (_none, ctx) => (await ctx.elicit('who', { message: 'Who?', form: { name: field.string() } })).action })
    const definition = defineServer({ name: 'test', version: '1', tools: [late, crash, who] })
    const logger = process.argv[1] === 'quiet' ? { logger: false } : {}
    const pair = await connect(definition, { ...logger, client: { onElicit: () => ({ action: 'yes' }) } })
    await pair.client.callTool('crash')
    await pair.client.callTool('who').catch(() => {})
    await pair.client.callTool('late')
    await pair.close()
  `
  const { stderr } = await runProgram(t, program)
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { category: string; err: { message: string } })
  assert.equal(
    lines.map(({ category }) => category),
    ['stray', 'stray'],
  )
  assert.match(lines[0]?.err.message ?? '', /elicitation\/create: expected onElicit to return/)
  assert.is(lines[1]?.err.message, 'nobody awaits')
  assert.is((await runProgram(t, `process.argv[1] = 'quiet'\n${program}`)).stderr, '')
})

test('both sides share the fake clock, and a waiting pair can close', async () => {
  const clock = fakeClock()
  const entered = heard<AbortSignal>()
  const wait = defineTool({
    name: 'wait',
    timeout: 60_000,
    run: (_args, { signal }) => {
      entered.add(signal)
      return new Promise<string>(() => {})
    },
  })
  const definition = defineServer({ name: 'slow', version: '1', tools: [wait] })
  await using pair = await connect(definition, { clock, client: { timeout: 120_000 } })
  const slow = pair.client.callTool('wait')
  await entered.next()
  await clock.advance(59_999)
  assert.is(pair.client.inspect().inFlight, 1)
  await clock.advance(1)
  const { isError } = await slow
  assert.is(isError, true)
  const given = rejection(pair.client.callTool('wait', {}, { timeout: 10_000 }))
  await entered.next()
  await clock.advance(10_000)
  assert.is((await given).code, 'TIMEOUT')
  void rejection(pair.client.callTool('wait'))
  await entered.next()
})

test('a test client gets message, stack and causes of a crash', async () => {
  const refused = new TypeError('no route to host')
  const lookUp = (): never => {
    throw new RangeError('DB down', { cause: refused })
  }
  const definition = defineServer({
    name: 'crashing',
    version: '1',
    tools: [
      defineTool({ name: 'tool', run: lookUp }),
      defineTool({ name: 'later', run: async () => lookUp() }),
      defineTool({
        name: 'odd',
        run: () => {
          throw 'a text'
        },
      }),
    ],
    prompts: [definePrompt({ name: 'prompt', get: lookUp })],
    resources: [defineResource({ name: 'resource', uri: 'a:b', read: lookUp })],
  })
  for (const era of ['handshake', 'modern'] as const) {
    await using pair = await connect(definition, { client: { era } })
    const { client } = pair
    const failed = await Promise.all([client.callTool('tool'), client.callTool('later')])
    const refused = await Promise.all([
      rejection(client.getPrompt('prompt')),
      rejection(client.readResource('a:b')),
    ])
    assert.ok(failed.every(({ isError }) => isError))
    for (const [told, error] of [
      ...failed.map(({ text, cause }) => [text, cause] as const),
      ...refused.map(({ message, cause }) => [message, cause] as const),
    ]) {
      assert.is(told, 'Internal error: DB down')
      const cause = error as Error
      assert.equal(
        [String(cause), String(cause.cause)],
        ['RangeError: DB down', 'TypeError: no route to host'],
      )
      assert.match(cause.stack ?? '', /lookUp.*connect\.test/s)
    }
    const odd = await client.callTool('odd')
    assert.equal([odd.text, String(odd.cause)], ['Internal error: a text', 'Error: a text'])
  }
  await using hidden = await connect(definition, { server: { exposeErrors: false } })
  const { text, cause } = await hidden.client.callTool('tool')
  assert.equal([text, cause], ['Internal error', undefined])
})

test('a test server starts whatever the environment says', async (t) => {
  const before = process.env.CADUCEUS_SERVER
  process.env.CADUCEUS_SERVER = '0'
  t.after(() => {
    if (before === undefined) delete process.env.CADUCEUS_SERVER
    else process.env.CADUCEUS_SERVER = before
  })
  for (const server of [undefined, {}, { start: undefined }]) {
    await using pair = await connect(counting, { server } as object)
    assert.is((await pair.client.callTool('count')).text, '1')
  }
  assert.is((await rejection(connect(counting, { server: { start: false } }))).code, 'IGNORED')
})

test('a pair of 2026-07-28 has no session, and everything else', async () => {
  const started = until('server.request', ({ type, method }) => type === 'start' && method === 'tools/call')
  await using pair = await connect(definitionOf(echo), { client: { era: 'modern' } })
  assert.is(pair.client.server?.revision, '2026-07-28')
  assert.is((await pair.client.callTool('echo', { text: 'hi' })).text, 'hi')
  assert.is((await started).process, undefined)
  assert.equal(await pair.server.sessions(), [])
  await crash(pair.server)
  assert.is((await pair.client.callTool('echo', { text: 'again' })).text, 'again')
})

test('caduceus/testing has these names, and no others', async () => {
  assert.equal(Object.keys(testing).sort(), [
    'Recording',
    'connect',
    'connectionMachine',
    'crash',
    'engineSuite',
    'fakeClock',
    'fakeIdentityProvider',
    'record',
    'scriptedClient',
    'scriptedServer',
    'sessionMachine',
    'until',
  ])
})

test.run()
