// second tier: time
// shares a process
// time limit: 120 s
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type ClientState, startClient } from 'caduceus/client'
import { stdio, TransportError } from 'caduceus/transports'
import { cpuTime } from '../../support/allowance.mjs'
import { heard } from '../../support/heard.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startLink } from '../_link.js'

const test = suite('stdio faults', { timeout: 20_000 })

const rawServer = inRoot('test', 'support', 'raw-server.mjs')

/** A client of the raw server that comes back at once. */
function start(t: TestContext, args: readonly string[] = [], env: Record<string, string> = {}) {
  const transport = stdio({ command: process.execPath, args: [rawServer, ...args], env, stopTimeout: 100 })
  const backoff = { base: 1, cap: 1 }
  const client = startClient({ transport, backoff, timeout: 60_000, logger: false })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  return { client, states }
}

/** A folder that goes away with the test. */
function folder(t: TestContext, name: string): string {
  const top = mkdtempSync(join(tmpdir(), 'caduceus-'))
  t.after(() => rmSync(top, { recursive: true, force: true }))
  const path = join(top, name)
  mkdirSync(path)
  return path
}

/** The first line a program writes that is a message, through a transport of its own. */
async function firstMessage(
  t: TestContext,
  command: string,
  args: readonly string[],
): Promise<Record<string, unknown>> {
  const link = await startLink(t, stdio({ command, args }))
  link.open(1)
  return link.message()
}

test('a server starts when Node adds variables, as for coverage', async (t) => {
  const coverage = folder(t, 'coverage')
  const before = process.env.NODE_V8_COVERAGE
  process.env.NODE_V8_COVERAGE = coverage
  t.after(() => {
    if (before === undefined) Reflect.deleteProperty(process.env, 'NODE_V8_COVERAGE')
    else process.env.NODE_V8_COVERAGE = before
  })
  const { client } = start(t)
  await client.ready()
})

test('fault 32: a server that exits before initialize restarts and its stderr is told', async (t) => {
  const { states } = start(t, ['--init', 'die', '--say', 'no database'])
  for (let i = 0; i < 3; i++) {
    const { reason } = await states.next(({ phase }) => phase === 'disconnected')
    assert.ok(reason instanceof TransportError && reason.code === 'PROCESS_EXITED', String(reason))
    assert.match(reason.message, 'exited with code 7; it said: ')
    assert.equal((reason.data as { stderr: string[] }).stderr[0], 'no database')
  }
})

test('fault 32: exit code 137 during a call fails it with the code and restarts', async (t) => {
  const { client, states } = start(t)
  const error = await client.callTool('die', { code: 137, last: 'Killed' }).catch((thrown: unknown) => thrown)
  const data = (error as { data: Record<string, unknown> }).data
  assert.equal(
    [data.exitCode, data.sent, (data.stderr as string[]).at(-1)],
    [137, true, 'Killed'],
    String(error),
  )
  await states.next(({ phase }) => phase === 'disconnected')
  await states.next(({ phase }) => phase === 'ready')
  assert.is((await client.callTool('count')).text, '1')
})

test('fault 32: 1 GiB on stderr is read on and costs no memory', async (t) => {
  const { client } = start(t)
  await client.ready()
  const before = process.memoryUsage().rss
  const flooding = client.callTool('floodErrors', { mebibytes: 1024 })
  let highest = 0
  let longestTurn = 0
  let last = cpuTime()
  const flooded = flooding.then(() => true)
  while (!(await Promise.race([flooded, turn().then(() => false)]))) {
    longestTurn = Math.max(longestTurn, cpuTime() - last)
    last = cpuTime()
    highest = Math.max(highest, process.memoryUsage().rss)
  }
  assert.is((await flooding).text, 'flooded')
  assert.ok(longestTurn < 1_000, `a turn took ${longestTurn} ms of work`)
  // what is garbage stays a while on a busy machine
  assert.ok(highest - before < 400 * 1024 * 1024, `${highest - before} bytes more`)
})

test('fault 33: commands and arguments with special characters pass unchanged', async (t) => {
  const odd = folder(t, `a "b" 'c' $(d); e`)
  const command = join(odd, `no de's "own"`)
  symlinkSync(process.execPath, command)
  const script = join(odd, 'tell args.mjs')
  writeFileSync(
    script,
    `console.log(JSON.stringify({ jsonrpc: '2.0', method: 'args', params: { args: process.argv.slice(2) } }))\nprocess.stdin.resume()`,
  )
  const hard = [
    '',
    ' ',
    'a;b',
    '$(touch x)',
    '`id`',
    '%PATH%',
    '"q"',
    "'s'",
    '\\',
    '*',
    '| cat',
    '&& true',
    '\n',
    'größe',
  ]
  const { params } = await firstMessage(t, command, [script, ...hard])
  assert.equal((params as { args: string[] }).args, hard)
})

test('fault 33: a file without execute permission is fatal and says so', async (t) => {
  const path = join(folder(t, 'bin'), 'server')
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, 0o644)
  const client = startClient({ transport: stdio({ command: path }), logger: false })
  t.after(() => client.close())
  const { cause } = (await client.ready().catch((thrown: unknown) => thrown)) as Error
  assert.ok(cause instanceof TransportError && cause.code === 'SPAWN_FAILED', String(cause))
  assert.match(cause.message, 'EACCES')
  assert.is(client.state.phase, 'failed')
})

test('fault 33: a command or cwd that cannot run is fatal and says what it is', async (t) => {
  const top = folder(t, 'here')
  const file = join(top, 'a file')
  writeFileSync(file, '')
  const script = join(top, 'script')
  writeFileSync(script, '#!/no/such/program\n', { mode: 0o755 })
  for (const [options, code, pattern] of [
    [{ command: top }, 'SPAWN_FAILED', `${top} could not be started: it is a folder`],
    [
      { command: 'node server.js' },
      'COMMAND_NOT_FOUND',
      'command not found: node server.js, arguments belong in args (not in PATH, cwd: ',
    ],
    [
      { command: script },
      'COMMAND_NOT_FOUND',
      `command not found: ${script}, the file is there, but not the program that its first line (#!) names (cwd: `,
    ],
    [
      { command: join(file, 'server') },
      'COMMAND_NOT_FOUND',
      `command not found: ${join(file, 'server')} (cwd: `,
    ],
    [{ command: 'node', cwd: file }, 'SPAWN_FAILED', `cwd: the folder ${file} is a file`],
    [
      { command: 'node', cwd: join(top, 'gone') },
      'SPAWN_FAILED',
      `cwd: the folder ${join(top, 'gone')} does not exist`,
    ],
  ] as const) {
    const client = startClient({ transport: stdio(options), logger: false })
    t.after(() => client.close())
    const { cause } = (await client.ready().catch((thrown: unknown) => thrown)) as Error
    assert.ok(cause instanceof TransportError && cause.code === code, String(cause))
    assert.ok(cause.message.startsWith(pattern), cause.message)
    assert.is(client.state.phase, 'failed')
  }
})

test('our environment secrets do not reach a server, given variables do', async (t) => {
  process.env.CADUCEUS_TEST_SECRET = 'canary'
  t.after(() => delete process.env.CADUCEUS_TEST_SECRET)
  const { client } = start(t, [], { GIVEN: 'yes' })
  const { env } = JSON.parse((await client.callTool('environment')).text)
  assert.is(env.GIVEN, 'yes')
  assert.not.ok(JSON.stringify(env).includes('canary'))
})

test('messages and junk are counted over all restarts of the server', async (t) => {
  const { client } = start(t, ['--ignore-eof'])
  await client.callTool('echo', { text: 'größer' })
  const before = client.inspect().link
  await client.callTool('junk')
  const { link, counts } = client.inspect()
  // three lines that are no messages and an answer; the line that is no UTF-8 never was a text
  assert.equal([link.received - before.received, counts.junk, link.troubles], [4, 3, 1])
  assert.is(link.sent - before.sent, 1)
  assert.ok(
    link.receivedCharacters > before.receivedCharacters && link.sentCharacters > before.sentCharacters,
  )
  await client.callTool('deaf')
  const waiting = client.callTool('echo', { text: 'x'.repeat(1_000_000) }).catch(() => {})
  while (client.inspect().link.queuedBytes === 0) await turn()
  assert.ok(client.inspect().link.queuedBytes <= 1_000_200)
  const { tree } = client.inspect()
  process.kill(Number(/pid (\d+)/.exec(String(tree?.children[1]?.about))?.[1]), 'SIGKILL')
  await waiting
  await client.callTool('count')
  assert.is(client.inspect().link.queuedBytes, 0)
  assert.ok(client.inspect().link.received > link.received)
})

const python = spawnSync('python3', ['--version']).status === 0
const server = inRoot('test', 'support', 'python-server.py')
if (python) {
  test('a Python server works like any other', async (t) => {
    const transport = stdio({ command: 'python3', args: [server] })
    const client = startClient({ transport, logger: false })
    t.after(() => client.close())
    assert.is((await client.callTool('add', { a: 2, b: 40 })).text, '42')
    assert.is(client.server?.info.name, 'python')
  })
} else test.skip('a Python server works like any other', 'python3 is not installed')

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
