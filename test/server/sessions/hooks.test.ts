import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { ClientError, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import {
  AskError,
  defineServer,
  type ServerDefinitionOptions,
  ServerError,
  type ServerOptions,
  type SessionHooks,
  startServer,
  type ToolContext,
  ToolError,
} from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { processOf } from '../../../runtime/process/ref.js'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { ask } from '../exchanges/_rounds-definition.js'
import { count, killAndWait } from '../_servers.js'

const test = suite('session hooks')

async function start(
  t: TestContext,
  session: SessionHooks,
  options: Partial<ServerOptions> & Partial<ServerDefinitionOptions> = {},
) {
  const definition = defineServer({ name: 'test', version: '1.0.0', tools: [count], session })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, ...options })
  t.after(() => server.stop())
  return server
}

/** Hooks that write down what they hear; `next` resolves with it in order. */
function listen(more: Partial<SessionHooks> = {}) {
  const heard: string[] = []
  const waiting: ((line: string) => void)[] = []
  const say = (line: string): void => {
    const wake = waiting.shift()
    if (wake === undefined) heard.push(line)
    else wake(line)
  }
  const hooks: SessionHooks = {
    init: ({ session }, { restored }) => say(`init ${session.client.name} ${restored}`),
    terminate: ({ session }, { type }) => say(`terminate ${session.client.name} ${type}`),
    ...more,
  }
  const next = (): Promise<string> => {
    const line = heard.shift()
    return line === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(line)
  }
  return { hooks, next, say, heard }
}

test('init runs once before a session is opened, terminate once after DELETE', async (t) => {
  const { hooks, next, heard } = listen()
  const server = await start(t, hooks)
  const client = await new RawClient(t, server.url).open('a')
  assert.is(await next(), 'init a false')
  assert.equal([await client.text('count'), await client.text('count')], ['1', '2'])
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is(await next(), 'terminate a normal')
  await server.stop()
  assert.equal(heard, [])
})

test('init gets the start arguments unchanged, also for a restored session', async (t) => {
  const database = { open: () => true }
  const heard: [restored: boolean, same: boolean][] = []
  const init: SessionHooks['init'] = (_, { restored, initArg }) =>
    heard.push([restored, initArg === database])
  const server = await start(t, { init }, { initArg: database })
  const client = await new RawClient(t, server.url).open()
  server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
  assert.is(await client.text('count'), '1')
  assert.equal(heard, [
    [false, true],
    [true, true],
  ])
})

test('start arguments without init, and no transport, are reported at start', async () => {
  const definition = defineServer({ name: 'test', version: '1.0.0', session: { terminate() {} } })
  for (const [options, field, text] of [
    [{ transport: serveHttp(), initArg: 1 }, 'initArg', /^initArg: .*no session\.init/],
    [{}, 'transport', /^transport: expected what serveHttp\(\) or serveStdio\(\) returns, got undefined$/],
    [{ transport: undefined }, 'transport', /^transport: /],
    [{ transport: http('http://127.0.0.1/mcp') }, 'transport', /^transport: .*serveHttp\(\)/],
  ] as const) {
    const error = await startServer(definition, options as ServerOptions).catch(
      (thrown: ServerError) => thrown,
    )
    assert.instance(error, ServerError)
    assert.equal([(error as ServerError).code, (error as ServerError).data], ['BAD_OPTION', { field }])
    assert.match((error as ServerError).message, text)
  }
})

test('values of init are there for the first call and restored', async (t) => {
  const server = await start(t, {
    async init(ctx, { restored }) {
      if (!restored) await ctx.update('count', () => 40)
      else await ctx.update('count', (n: number = 0) => n + 100)
    },
  })
  const client = await new RawClient(t, server.url).open()
  server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
  assert.is(await client.text('count'), '141')
})

test('an unused session also runs terminate', async (t) => {
  const { hooks, next } = listen()
  const server = await start(t, hooks, { timeouts: { idle: 30 } })
  await new RawClient(t, server.url).open('a')
  assert.equal([await next(), await next()], ['init a false', 'terminate a normal'])
})

for (const name of ['session', 'test/tasks', 'test/base', 'test/transport', 'test/sessions', 'test/group']) {
  test(`after a kill of ${name} a session terminates before it is restored`, async (t) => {
    const { hooks, next, heard } = listen({
      async terminate({ session }, { type }) {
        await new Promise((resolve) => setImmediate(resolve))
        say(`terminate ${session.client.name} ${type === 'normal'}`)
      },
    })
    const say = (line: string) => heard.push(line)
    const server = await start(t, hooks)
    const client = await new RawClient(t, server.url).open('a')
    assert.is(await next(), 'init a false')
    assert.is(await client.text('count'), '1')
    if (name === 'session') server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
    else await killAndWait(server, name)
    assert.is(await client.text('count'), '2')
    assert.equal(heard, ['terminate a false', 'init a true'])
  })
}

test('a stopped server terminates every session before stop resolves', async (t) => {
  const { hooks, heard } = listen({
    async terminate({ session }) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      heard.push(`terminate ${session.client.name}`)
    },
  })
  const server = await start(t, hooks)
  for (const name of ['a', 'b', 'c']) await new RawClient(t, server.url).open(name)
  await server.stop()
  assert.equal(heard.slice(3).sort(), ['terminate a', 'terminate b', 'terminate c'])
})

test.slow('a hanging terminate delays the stop for one second and is reported', async (t) => {
  let aborted = 0
  const server = await start(t, {
    terminate: (ended) =>
      new Promise(() => {
        ended.signal.addEventListener('abort', () => {
          aborted += 1
        })
      }),
  })
  await new RawClient(t, server.url).open()
  const begun = performance.now()
  await server.stop()
  assert.ok(performance.now() - begun > 900)
  assert.is(aborted, 1)
})

test('hooks still work after their runner is killed', async (t) => {
  const { hooks, next } = listen()
  const server = await start(t, hooks)
  const client = await new RawClient(t, server.url).open('a')
  assert.is(await next(), 'init a false')
  const actor = server.registry.whereis('test/hooks')
  const [tasks] = [...((actor && processOf(actor).links) ?? [])].filter(({ name, kind }) => {
    return name === 'hooks' && kind === 'supervisor'
  })
  tasks?.ref.kill()
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is(await next(), 'terminate a normal')
  await new RawClient(t, server.url).open('b')
  assert.is(await next(), 'init b false')
  assert.is(server.registry.whereis('test/hooks'), actor)
})

test('a throwing init refuses the session, and only McpError is shown', async (t) => {
  const { hooks, heard } = listen({
    init({ session }) {
      if (session.client.name === 'told') throw new McpError(-32042, 'not today', { data: { why: 'closed' } })
      if (session.client.name === 'crash') throw new Error('a secret')
      heard.push('init')
    },
  })
  const server = await start(t, hooks)
  const told = await new RawClient(t, server.url).post(initialize('told'))
  assert.equal(told.messages[0]?.error, { code: -32042, message: 'not today', data: { why: 'closed' } })
  assert.is(told.headers['mcp-session-id'], undefined)
  const crash = await new RawClient(t, server.url).post(initialize('crash'))
  assert.is(crash.messages[0]?.error?.code, -32603)
  assert.not.match(crash.body, /secret/)
  assert.equal(await server.sessions(), [])
  await new RawClient(t, server.url).open('fine')
  await server.stop()
  assert.equal(heard, ['init', 'terminate fine shutdown'])
})

for (const [what, thrown, told] of [
  ['a word of its author', new McpError(-32042, 'not today'), /refused to initialize: not today \(-32042\)/],
  [
    'an internal error of its author',
    McpError.internal('closed'),
    /refused to initialize: closed \(-32603\)/,
  ],
  ['a ToolError', new ToolError('closed'), /refused to initialize: closed \(-32603\)/],
  ['a bug', new Error('a secret'), /refused to initialize: Internal error \(-32603\)/],
] as const)
  test(`a client refused in init by ${what} is told and gives up`, async (t) => {
    let tries = 0
    const server = await start(t, {
      init() {
        tries += 1
        throw thrown
      },
    })
    const client = startClient({ transport: http(server.url ?? ''), era: 'handshake', logger: false })
    t.after(() => client.close())
    const error = await client.callTool('any').catch((error: ClientError) => error)
    assert.instance(error, ClientError)
    const { code, message, retryable } = error as ClientError
    assert.equal([code, retryable, tries], ['CONNECT_FAILED', false, 1])
    assert.match(message, told)
    assert.not.match(message, 'secret')
  })

test.slow('a client refused as retryable by init tries again', async (t) => {
  let tries = 0
  const server = await start(t, {
    init() {
      tries += 1
      if (tries < 3) throw McpError.internal('not yet', { retryable: true })
    },
  })
  const client = startClient({ transport: http(server.url ?? ''), era: 'handshake', logger: false })
  t.after(() => client.close())
  await client.ready()
  assert.is(tries, 3)
})

test('an init that refuses a restored session leaves no process', async (t) => {
  const server = await start(t, {
    init(_, { restored }) {
      if (restored) throw new McpError(-32042, 'not again')
    },
  })
  const client = await new RawClient(t, server.url).open()
  const [session] = await server.sessions()
  session?.ref?.kill()
  assert.is((await client.ask('ping')).error?.code, -32042)
  assert.equal(await server.sessions(), [])
})

test('hooks cannot ask or notify, and a bad log level still throws', async (t) => {
  let refused: unknown
  const logged: unknown[] = []
  const init = async (ctx: ToolContext): Promise<void> => {
    refused = await ctx.elicit('name', ask('name')).catch((error: unknown) => error)
    logged.push(ctx.log('error', 'heard by nobody'))
    try {
      ctx.log('loud' as never, 'heard by nobody')
    } catch (error) {
      logged.push((error as ServerError).code)
    }
  }
  const server = await start(t, { init: (ctx) => init(ctx as unknown as ToolContext) })
  await new RawClient(t, server.url).open()
  assert.is(refused instanceof AskError && refused.code, 'NOT_INITIALIZED')
  assert.equal(logged, [false, 'BAD_OPTION'])
})

test('a hanging init is aborted at its timeout and refuses the session', async (t) => {
  let aborted = false
  const server = await start(t, {
    timeout: 30,
    init: ({ signal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          aborted = true
        })
      }),
  })
  const { messages } = await new RawClient(t, server.url).post(initialize())
  assert.is(messages[0]?.error?.code, -32603)
  assert.ok(aborted)
  assert.equal(await server.sessions(), [])
})

// of a long body the session is looked at first
for (const [body, filler] of [
  ['short', ''],
  ['long', 'x'.repeat(100_000)],
] as const)
  test(`a failed init of a restored session fails that request only (${body} body)`, async (t) => {
    let failures = 1
    const server = await start(t, {
      init(_ctx, { restored }) {
        if (restored && failures-- > 0) throw new McpError(-32042, 'the database is away')
      },
    })
    const client = await new RawClient(t, server.url).open()
    await client.text('count')
    server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
    const ask = () => client.ask('tools/call', { name: 'count', _meta: { 'example.com/x': filler } })
    assert.is((await ask()).error?.code, -32042)
    assert.is((await ask()).result?.content?.[0]?.text, '2')
  })

test('messages during a restore wait for init', async (t) => {
  let enter = (): void => {}
  let leave = (): void => {}
  const entered = new Promise<void>((resolve) => (enter = resolve))
  const left = new Promise<void>((resolve) => (leave = resolve))
  let isReady = true
  const server = await start(t, {
    async init(_ctx, { restored }) {
      if (!restored) return
      isReady = false
      enter()
      await left
      isReady = true
    },
  })
  const client = await new RawClient(t, server.url).open()
  server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
  const calls = [client.text('count')]
  await entered
  calls.push(client.text('count'), client.text('count'))
  await Promise.race([Promise.all(calls), new Promise((resolve) => setImmediate(resolve))])
  assert.not.ok(isReady)
  leave()
  assert.equal((await Promise.all(calls)).sort(), ['1', '2', '3'])
  assert.ok(isReady)
})

test.slow('over stdio the session terminates before the program ends', async (t) => {
  const program = fileURLToPath(new URL('./_hooks-program.js', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const errors = text(child.stderr)
  child.stdin.write(`${JSON.stringify(initialize('piped'))}\n`)
  await once(child.stdout, 'data')
  child.stdin.end()
  assert.is((await exited)[0], 0)
  assert.equal((await errors).trim().split('\n'), ['init piped', 'terminate piped shutdown'])
})

test('a terminate that throws is reported and changes nothing', async (t) => {
  const server = await start(t, {
    terminate() {
      throw new Error('cannot close')
    },
  })
  const [a, b] = [await new RawClient(t, server.url).open('a'), await new RawClient(t, server.url).open('b')]
  assert.is((await a.send('DELETE', undefined, a.headers())).status, 204)
  assert.is(await b.text('count'), '1')
})

test('wrong hooks are refused by name', () => {
  const wrong: [unknown, string][] = [
    [7, 'session'],
    [{ init: true }, 'session.init'],
    [{ terminate: 'x' }, 'session.terminate'],
    [{ timeout: 0 }, 'timeout'],
    [{ start() {} }, 'start'],
  ]
  for (const [session, field] of wrong) {
    try {
      defineServer({ name: 'x', version: '1', session: session as SessionHooks })
      assert.unreachable(`${field} was taken`)
    } catch (error) {
      const { code, data } = error as { code?: string; data?: { field: string } }
      assert.equal([code, data?.field], ['BAD_DEFINITION', field])
    }
  }
})

test.run()
