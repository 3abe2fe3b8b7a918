import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import {
  ClientError,
  type Clients,
  type ClientState,
  findClient,
  type ServerEntries,
  startClients,
  type StartClientsOptions,
} from 'caduceus/client'
import { createFakeClock, Registry, subscribe } from 'caduceus/runtime'
import { defineServer } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { json, listen, polite, result, type Seen } from '../../transports/_http.js'
import { flaky } from '../_flaky.js'
import { raw, rejection } from '../_raw.js'
import { hasty, rawEntry, runs } from '../_servers.js'

const test = suite('clients of many servers')

async function start(
  t: TestContext,
  servers: ServerEntries,
  options: StartClientsOptions = {},
): Promise<Clients> {
  const clients = await startClients(servers, { logger: false, client: hasty, ...options })
  t.after(() => clients.close())
  return clients
}

function echo(seen: Seen): void {
  json(seen, result(seen, { content: [{ type: 'text', text: String(seen.headers.authorization) }] }))
}

async function text(clients: Clients, name: string, tool: string): Promise<string | undefined> {
  return (await clients.get(name).callTool(tool))?.text
}

test('a desktop host configuration makes a client per entry, with env and headers', async (t) => {
  const server = await listen(t, polite(echo))
  const config = JSON.parse(
    JSON.stringify({
      mcpServers: {
        files: { ...rawEntry(), env: { TOKEN: 'of files' }, autoApprove: ['echo'], timeout: 60 },
        web: { type: 'http', url: server.url, headers: { Authorization: 'Bearer x' } },
        plain: { url: server.url },
        off: { command: 'no-such-command', disabled: true },
      },
    }),
  )
  const clients = await start(t, config.mcpServers, { required: 'all' })
  assert.equal(clients.names, ['files', 'web', 'plain'])
  const { env } = JSON.parse((await text(clients, 'files', 'environment')) ?? '')
  assert.is(env.TOKEN, 'of files')
  assert.is(await text(clients, 'web', 'echo'), 'Bearer x')
  assert.is(await text(clients, 'plain', 'echo'), 'undefined')
  assert.is(clients.has('off'), false)
  assert.equal(
    [...clients.states()].map(([name, { phase }]) => [name, phase]),
    [
      ['files', 'ready'],
      ['web', 'ready'],
      ['plain', 'ready'],
    ],
  )
  const found = await findClient(clients.registry, 'files')
  assert.is((await found.callTool('count')).text, '1')
  assert.is(await text(clients, 'files', 'count'), '2')
})

test('a slow, a missing and a refusing server delay neither the start nor the others', async (t) => {
  const clients = await start(t, {
    slow: rawEntry(['--init', 'hang']),
    missing: { command: '/no/such/command' },
    refusing: { url: 'http://127.0.0.1:9/' },
    good: rawEntry(),
  })
  assert.is(await text(clients, 'good', 'count'), '1')
  assert.is((await rejection(clients.ready({ names: ['missing'] }))).code, 'CONNECT_FAILED')
  const states = clients.states()
  assert.is(states.get('slow')?.phase === 'ready', false)
  assert.is(states.get('refusing')?.phase === 'ready', false)
  assert.is(states.get('missing')?.phase, 'failed')
})

test('a required server that cannot start rejects the start and leaves nothing', async () => {
  const servers = { good: rawEntry(), missing: { command: '/no/such/command' } }
  const ready = heard<string>()
  const error = await rejection(
    startClients(servers, {
      required: ['good', 'missing'],
      readyTimeout: Number.POSITIVE_INFINITY,
      onStderr: (name, line) => ready.add(`${name}: ${line}`),
      logger: false,
    }),
  )
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, 'missing: ')
  assert.match(error.message, '/no/such/command')
  assert.is((error.data as { client: string }).client, 'missing')
})

test('a required server not ready in time rejects the start and leaves nothing', async () => {
  const pids = heard<string>()
  const error = await rejection(
    startClients(
      { slow: rawEntry(['--init', 'hang', '--say', 'here I am']) },
      { required: 'all', readyTimeout: 300, onStderr: (_, line) => pids.add(line), logger: false },
    ),
  )
  assert.equal([error.code, (error.data as { client: string }).client], ['NOT_READY', 'slow'])
})

test('variables with defaults expand in command, args, env, cwd, url and headers', async (t) => {
  const server = await listen(t, polite(echo))
  const variables = {
    NODE: process.execPath,
    SCRIPT: rawEntry().args?.[0],
    HOME_OF_TESTS: '/tmp',
    EMPTY: '',
    URL: server.url,
    SECRET: 'Bearer s',
  }
  const servers = {
    files: {
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the form that configurations have
      command: '${NODE}',
      args: ['${env:SCRIPT}'],
      env: { A: '<${HOME_OF_TESTS}>', B: '${EMPTY:-usual}', C: '${UNSET:-}', D: '$PATH ${input:x} ${A B}' },
      cwd: '${HOME_OF_TESTS}',
    },
    web: { url: '${URL}', headers: { authorization: '${SECRET}' } },
  }
  const clients = await start(t, servers, { variables })
  const { env, cwd } = JSON.parse((await text(clients, 'files', 'environment')) ?? '')
  assert.equal([env.A, env.B, env.C, env.D], ['</tmp>', 'usual', '', '$PATH ${input:x} ${A B}'])
  assert.is(cwd, '/tmp')
  assert.is(await text(clients, 'web', 'echo'), 'Bearer s')
  // a literal one is a variable that stands for itself
  const itself = { HOME_OF_TESTS: '${HOME_OF_TESTS}' }
  const literal = await start(
    t,
    { files: rawEntry([], { env: { A: '${HOME_OF_TESTS}' } }) },
    { variables: itself },
  )
  assert.is(JSON.parse((await text(literal, 'files', 'environment')) ?? '').env.A, '${HOME_OF_TESTS}')
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: the form that configurations have
})

test('an unset variable is refused before any start, and names its server', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the form that configurations have
  const servers = { files: rawEntry([], { env: { TOKEN: '${NOPE}' } }) }
  for (const [options, words] of [
    [{}, 'variables'],
    [{ variables: {} }, 'variable NOPE'],
  ] as const) {
    const refused = await startClients(servers, options).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(refused instanceof ClientError && refused.code === 'BAD_OPTION', String(refused))
    for (const word of ['mcpServers.files.env.TOKEN', words, 'NOPE'])
      assert.ok(refused.message.includes(word), refused.message)
  }
})

test.slow('clients are added and removed while others work; a name is taken once', async (t) => {
  const clients = await start(t, { first: rawEntry() })
  const states = heard<[string, ClientState]>()
  clients.onState((name, state) => states.add([name, state]))
  const second = await clients.add('second', rawEntry())
  const pid = Number((await second.callTool('pid')).text)
  await states.next(([name, { phase }]) => name === 'second' && phase === 'ready')
  assert.is((await rejection(clients.add('second', rawEntry()))).code, 'BAD_OPTION')
  const call = second.callTool('hang')
  await Promise.resolve()
  assert.is(await clients.remove('second'), true)
  assert.is((await rejection(call)).code, 'CLOSED')
  assert.is(runs(pid), false)
  assert.is(await clients.remove('second'), false)
  assert.equal(clients.names, ['first'])
  assert.is(clients.inspect().children.length, 1)
  const again = await clients.add('second', { transport: raw() })
  assert.is((await again.callTool('count')).text, '1')
  assert.is(await text(clients, 'first', 'count'), '1')
})

test.slow('a client in a crash loop affects no other and returns behind the same handle', async (t) => {
  const clients = await start(t, { bad: rawEntry(), good: rawEntry() })
  const [bad, good] = [clients.get('bad'), clients.get('good')]
  if (bad === undefined || good === undefined) throw new Error('expected two clients')
  const pid = (await good.callTool('pid')).text
  for (let round = 1; round <= 3; round++) {
    const gaveUp = supervisorGivesUp(t)
    for (let crash = 0; crash <= 3; crash++) {
      await clients.registry.whenUp('client bad')
      clients.registry.whereis('client bad')?.kill()
    }
    await gaveUp
    // Made while nobody is there: it waits for the next one.
    assert.is((await bad.callTool('count')).text, '1')
  }
  assert.is(clients.get('bad'), bad)
  assert.is((await good.callTool('pid')).text, pid)
})

function supervisorGivesUp(t: TestContext): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = subscribe('supervisor', ({ reason }) => {
      if (reason !== 'reached_max_restart_intensity') return
      unsubscribe()
      resolve()
    })
    t.after(unsubscribe)
  })
}

test('pauses grow while a client keeps crashing, and the end does not wait for one', async (t) => {
  const clock = createFakeClock()
  const registry = new Registry()
  const { transport } = flaky(0)
  const backoff = { base: 1_000, cap: 3_000, stable: 60_000, random: () => 1 }
  const clients = await startClients(
    { one: { transport } },
    { clock, registry, logger: false, client: { backoff, intensity: 0 } },
  )
  t.after(() => clients.close())
  const client = clients.get('one')
  const waits: number[] = []
  for (let round = 0; round < 4; round++) {
    await registry.whenUp('client one')
    registry.whereis('client one')?.kill()
    const since = clock.now()
    await clock.advance(0)
    while (registry.state('client one').state !== 'up') await clock.advance(500)
    waits.push(clock.now() - since)
  }
  assert.equal(waits, [1_000, 2_000, 3_000, 3_000])
  registry.whereis('client one')?.kill()
  await clock.advance(0)
  assert.is(registry.state('client one').state, 'starting')
  await clients.close()
  await client?.closed
})

test('close ends every child process, slow starters too, and may be called again', async () => {
  const pids = heard<string>()
  const clients = await startClients(
    { one: rawEntry(), two: rawEntry(['--init', 'hang', '--say', 'up']) },
    { logger: false, onStderr: (name, line) => pids.add(`${name} ${line}`) },
  )
  const pid = Number(await text(clients, 'one', 'pid'))
  await pids.next((line) => line === 'two up')
  const call = clients.get('two').ping() ?? Promise.resolve()
  await Promise.all([clients.close(), clients[Symbol.asyncDispose]()])
  assert.is(runs(pid), false)
  assert.is((await rejection(call)).code, 'CLOSED')
  assert.is((await rejection(clients.add('late', rawEntry()))).code, 'CLOSED')
})

for (const [field, servers, options] of [
  ['mcpServers', undefined, {}],
  ['mcpServers', [], {}],
  ['mcpServers.a', { a: 'node server.js' }, {}],
  ['mcpServers.a', { a: {} }, {}],
  ['mcpServers.a', { a: { command: 'x', url: 'http://host/' } }, {}],
  ['mcpServers.a.type', { a: { type: 'carrier pigeon', url: 'http://host/' } }, {}],
  ['mcpServers.a.command', { a: { command: 7 } }, {}],
  ['mcpServers.a.command', { a: { type: 'stdio', url: 'http://host/' } }, {}],
  ['mcpServers.a.args[1]', { a: { command: 'x', args: ['y', 1] } }, {}],
  ['mcpServers.a.env.B', { a: { command: 'x', env: { B: 1 } } }, {}],
  ['mcpServers.a.url', { a: { url: 'no address' } }, {}],
  ['mcpServers.a.headers.host', { a: { url: 'http://host/', headers: { host: 'x' } } }, {}],
  ['mcpServers.a.args[0]', { a: { command: 'x', args: ['$' + '{MISSING}'] } }, { variables: {} }],
  ['mcpServers.a.command', { a: { transport: 'stdio' } }, {}],
  ['mcpServers.a.transport', { a: { transport: 'carrier pigeon', url: 'http://host/' } }, {}],
  ['mcpServers.a.transport', { a: { transport: {} } }, {}],
  ['mcpServers.a.disabled', { a: { command: 'x', disabled: 'yes' } }, {}],
  ['required', {}, { required: 7 }],
  ['required[0]', { a: { url: 'http://host/' } }, { required: ['b'] }],
  ['required[0]', { a: { url: 'http://host/', disabled: true } }, { required: ['a'] }],
  ['readyTimeout', {}, { readyTimeout: 0 }],
  ['client.timeout', {}, { client: { timeout: 0 } }],
  ['client.retries', {}, { client: { retries: 1 } }],
  ['client.name', {}, { client: { name: 'x' } }],
  ['client', {}, { client: 7 }],
  ['variables', {}, { variables: 'PATH' }],
  ['onStderr', {}, { onStderr: true }],
  ['name', {}, { name: '' }],
  ['registry', {}, { registry: {} }],
  ['retries', {}, { retries: 1 }],
] as const) {
  test(`a wrong argument is refused: ${field} of ${JSON.stringify(servers)}, ${JSON.stringify(options)}`, async () => {
    const error = await rejection(startClients(servers as never, options as never))
    assert.is(error.code, 'BAD_OPTION')
    assert.is((error.data as { field: string }).field, field)
  })
}

test('transport is read as type in host files where it is a word', async (t) => {
  const { url } = await listen(t, polite(echo))
  const servers = { older: { url, transport: 'sse' }, newer: { url, transport: 'streamable-http' } }
  const clients = await start(t, servers as never)
  const { host, pathname } = new URL(url)
  assert.equal(
    [...clients].map(([, client]) => client.inspect().transport),
    [`sse ${host}${pathname}`, `http ${host}${pathname}`],
  )
})

test('no value of env, headers or variables is shown in an error', async () => {
  const servers = { a: { command: 'x', args: ['$' + '{SECRET}\0'], env: {} } }
  const error = await rejection(startClients(servers, { variables: { SECRET: 'hush' } }))
  assert.is(error.code, 'BAD_OPTION')
  assert.not.match(error.message, 'hush')
})

test.slow('errors of a connection name variables where their values stand', async (t) => {
  const variables = { HOME: '/Users of Ada Lovelace', KEY: 'hush-hush', PORT: '9' }
  const talk = 'console.error("bad key " + process.argv[1]); process.exit(1)'
  const servers = {
    absent: { command: '${HOME}/no-such-server', args: ['${KEY}'] },
    nowhere: { command: process.execPath, cwd: '${HOME}' },
    talks: { command: process.execPath, args: ['-e', talk, '${KEY}'] },
    away: { url: 'http://127.0.0.1:${PORT}/${KEY}/${HOME}/mcp' },
  }
  const clients = await start(t, servers, { variables })
  const states = heard<readonly [string, ClientState]>()
  clients.onState((name, state) => states.add([name, state]))
  const errors: Record<string, unknown> = {}
  for (const name of ['absent', 'nowhere']) errors[name] = await rejection(clients.get(name).ready())
  for (const name of ['talks', 'away']) {
    // its last words may come after its end
    const said = name === 'talks' ? 'bad key' : 'ECONNREFUSED'
    await states.next(([of, { reason }]) => of === name && String(reason).includes(said))
    errors[name] = await rejection(clients.get(name).ready({ timeout: 1 }))
  }
  const shown = inspect(errors, { depth: 20 }) + JSON.stringify(errors)
  assert.not.match(shown, /Ada|hush/)
  assert.match(String(errors.absent), '${HOME}/no-such-server')
  assert.match(shown, 'bad key ${KEY}')
  assert.match(String((errors.away as Error).cause), 'http://127.0.0.1:9/${KEY}/')
})

test('a throwing getter in the options throws to the caller unchanged', async () => {
  const own = new Error('mine')
  const client = {
    get timeout(): number {
      throw own
    },
  }
  assert.is(await rejection(startClients({}, { client })), own)
})

test('a watcher of states also hears of clients that were ready before', async (t) => {
  const server = await connect(defineServer({ name: 'here', version: '1' }))
  t.after(() => server.close())
  const clients = await start(t, {})
  const told: string[] = []
  clients.onState((name, { phase }) => told.push(`${name} ${phase}`))
  await (await clients.add('here', { transport: server.transport })).ready()
  assert.is(told.at(-1), 'here ready')
})

test.run()
