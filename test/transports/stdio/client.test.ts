// second tier: time
// shares a process
import { tmpdir } from 'node:os'
import * as assert from 'uvu/assert'
import { buildRequest } from 'caduceus/protocol'
import { stdio, type StdioOptions, type TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { type LinkTree, startLink } from '../_link.js'
import { gone, isAlive } from '../_processes.js'

const test = suite('stdio client')

const server = inRoot('test', 'support', 'raw-server.mjs')

function raw(args: readonly string[] = [], options: Partial<StdioOptions> = {}) {
  return stdio({ command: process.execPath, args: [server, ...args], ...options })
}

/** Starts the raw server and connects to it. */
async function connect(t: TestContext, args: readonly string[] = [], options: Partial<StdioOptions> = {}) {
  const link = await startLink(t, raw(args, options))
  link.open(1)
  const opened = await link.news.next(({ type }) => type === 'opened')
  return { link, pid: opened.type === 'opened' ? Number(opened.detail.pid) : 0 }
}

let lastId = 0

/** Asks the raw server for one of its tools. */
function use(link: LinkTree, name: string, args: object = {}, number = 1): number {
  lastId += 1
  link.send(number, buildRequest(lastId, 'tools/call', { name, arguments: args }))
  return lastId
}

/** The text of the next answer. */
async function answer(link: LinkTree): Promise<string> {
  const { result } = await link.message()
  return (result as { content: { text: string }[] }).content[0]?.text ?? ''
}

function factsOf(error: TransportError | undefined): { exitCode: unknown; signal: unknown; stderr: unknown } {
  return error?.data as { exitCode: unknown; signal: unknown; stderr: unknown }
}

test('messages are one per line, in the given folder and environment', async (t) => {
  const { link, pid } = await connect(t, [], { cwd: tmpdir(), env: { TOKEN: 'secret' } })
  use(link, 'environment')
  const { env, cwd } = JSON.parse(await answer(link))
  assert.is(cwd, tmpdir())
  assert.is(env.TOKEN, 'secret')
  assert.is(env.PATH, process.env.PATH)
  use(link, 'pid')
  assert.is(await answer(link), String(pid))
  use(link, 'echo', { text: 'a\nb\r\u2028c' })
  assert.is(await answer(link), 'a\nb\r\u2028c')
})

test('an unknown command is fatal and named with cwd and PATH', async (t) => {
  const link = await startLink(
    t,
    stdio({ command: 'no-such-server', env: { PATH: '/nowhere' }, cwd: tmpdir() }),
  )
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.is(fatal, true)
  assert.is(error?.code, 'COMMAND_NOT_FOUND')
  assert.equal(error?.data, { command: 'no-such-server', cwd: tmpdir() })
  assert.match(error?.message ?? '', `no-such-server (not in PATH, cwd: ${tmpdir()})`)
  assert.match(String(error?.cause), 'PATH: /nowhere')
})

test('a missing folder is fatal and distinct from a missing command', async (t) => {
  const link = await startLink(t, raw([], { cwd: '/no/such/folder' }))
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.is(fatal, true)
  assert.is(error?.code, 'SPAWN_FAILED')
  assert.match(error?.message ?? '', '/no/such/folder')
})

test('a file that is not executable is fatal', async (t) => {
  const link = await startLink(t, stdio({ command: inRoot('package.json') }))
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.is(fatal, true)
  assert.is(error?.code, 'SPAWN_FAILED')
})

test('an exiting server reports code and last stderr', async (t) => {
  const { link } = await connect(t, ['--say', 'hello'])
  use(link, 'die', { code: 3, last: 'out of luck' })
  const { error, fatal } = await link.closed()
  assert.is(error?.code, 'PROCESS_EXITED')
  assert.is(error?.retryable, true)
  assert.is(fatal ?? false, false)
  const { exitCode, signal, stderr } = factsOf(error)
  assert.is(exitCode, 3)
  assert.is(signal, null)
  assert.equal(stderr, ['hello', 'got tools/call die', 'out of luck'])
  assert.match(error?.message ?? '', 'exited with code 3; it said: out of luck')
})

test('a killed server reports the signal', async (t) => {
  const { link, pid } = await connect(t)
  process.kill(pid, 'SIGKILL')
  const { error } = await link.closed()
  assert.is(error?.code, 'PROCESS_EXITED')
  assert.is(factsOf(error).signal, 'SIGKILL')
})

test('an answer written right before the exit is not lost', async (t) => {
  const { link } = await connect(t)
  use(link, 'answerAndDie')
  assert.is(await answer(link), 'last words')
  assert.is(factsOf((await link.closed()).error).exitCode, 3)
})

test('a server that reads the end of stdin exits in order', async (t) => {
  const { link, pid } = await connect(t)
  link.close(1)
  assert.equal(await link.closed(), {})
  assert.is(isAlive(pid), false)
})

test('a server that ignores the end of stdin gets SIGTERM', async (t) => {
  const { link, pid } = await connect(t, ['--ignore-eof'], { stopTimeout: 50 })
  link.close(1)
  assert.equal(await link.closed(), {})
  assert.is(isAlive(pid), false)
})

test('a server that ignores SIGTERM, too, is killed', async (t) => {
  const said = heard<string>()
  const { link, pid } = await connect(t, ['--ignore-eof', '--ignore-term', '--say', 'up'], {
    stopTimeout: 50,
    stderr: said.add,
  })
  await said.next((line) => line === 'up')
  link.close(1)
  await said.next((line) => line === 'got SIGTERM')
  assert.equal(await link.closed(), {})
  assert.is(isAlive(pid), false)
})

test('descendants of a server end with it in every case', async (t) => {
  const { link, pid } = await connect(t)
  use(link, 'grandchild')
  const first = Number(await answer(link))
  process.kill(pid, 'SIGKILL')
  await link.closed()
  await gone(first)
  link.open(2)
  await link.news.next(({ type }) => type === 'opened')
  use(link, 'grandchild', {}, 2)
  const second = Number(await answer(link))
  link.close(2)
  await link.closed()
  await gone(second)
})

test('the process of a dead incarnation is gone before the next incarnation starts', async (t) => {
  const { link, pid } = await connect(t, ['--ignore-eof', '--ignore-term'])
  link.registry.whereis('transport')?.kill()
  await link.news.next(({ type }) => type === 'attached')
  assert.is(isAlive(pid), false)
})

test('a group restart does not wait for a deaf server', async (t) => {
  const { link, pid } = await connect(t, ['--ignore-eof', '--ignore-term'], { stopTimeout: 600_000 })
  link.registry.whereis('owner')?.kill()
  await link.news.next(({ type }) => type === 'attached')
  assert.is(isAlive(pid), false)
})

test('each stderr line goes to the function, and its throw stops nothing', async (t) => {
  const lines = heard<string>()
  const { link } = await connect(t, [], {
    stderr(line) {
      lines.add(line)
      throw new Error('a handler that fails')
    },
  })
  use(link, 'pid')
  assert.is(await lines.next(), 'got tools/call pid')
  use(link, 'count')
  assert.is(await lines.next(), 'got tools/call count')
  await answer(link)
  assert.is(await answer(link), '1')
})

test('an invalid UTF-8 line is trouble, and the next one is read', async (t) => {
  const { link } = await connect(t)
  use(link, 'junk')
  const trouble = await link.news.next(({ type }) => type === 'trouble')
  assert.is(trouble.type === 'trouble' && trouble.error.code, 'BAD_RESPONSE')
  assert.is(await answer(link), 'after the junk')
})

test('an answer beyond the limit fails its call alone, for good', async (t) => {
  const { link, pid } = await connect(t, [], { limits: { messageBytes: 1_000 } })
  const id = use(link, 'long', { length: 2_000 })
  const lost = await link.news.next(({ type }) => type === 'lost')
  assert.ok(lost.type === 'lost')
  assert.equal([lost.id, lost.error.code, lost.error.retryable], [id, 'MESSAGE_TOO_LONG', false])
  assert.match(lost.error.message, /1000 bytes \(limits\.messageBytes\), got \d{4}$/)
  use(link, 'echo', { text: 'after' })
  assert.is(await answer(link), 'after')
  assert.is(isAlive(pid), true)
})

test('a request beyond the limit is not sent and affects no other', async (t) => {
  const { link } = await connect(t, [], { limits: { messageBytes: 1_000 } })
  for (const length of [1_000, 1_000_000]) {
    const id = use(link, 'echo', { text: 'x'.repeat(length) })
    const lost = await link.news.next(({ type }) => type === 'lost')
    assert.ok(lost.type === 'lost')
    assert.equal([lost.id, lost.error.code, lost.error.retryable], [id, 'SEND_FAILED', false])
    assert.match(lost.error.message, 'limits.messageBytes')
  }
  use(link, 'echo', { text: 'after' })
  assert.is(await answer(link), 'after')
})

test('long lines are written in pieces, what comes after waits, and all is whole', async (t) => {
  const { link } = await connect(t)
  // one of both has a pair of surrogates at the end of a piece
  const long = ['😀'.repeat(300_000), `x${'😀'.repeat(300_000)}`]
  for (const text of long) use(link, 'echo', { text })
  use(link, 'echo', { text: 'short' })
  assert.equal([await answer(link), await answer(link), await answer(link)], [...long, 'short'])
  use(link, 'echo', { text: 'after' })
  assert.is(await answer(link), 'after')
})

test('what is long and still to be written is written before the input ends', async (t) => {
  const { link } = await connect(t, ['--ignore-eof'])
  const text = 'x'.repeat(2_000_000)
  use(link, 'echo', { text })
  link.close(1)
  assert.is(await answer(link), text)
})

test('a server that does not read has a bounded queue, and more is refused', async (t) => {
  const { link } = await connect(t, [], { limits: { queuedBytes: 200_000 } })
  use(link, 'deaf')
  await answer(link)
  const ids = Array.from({ length: 6 }, () => use(link, 'echo', { text: 'x'.repeat(100_000) }))
  const lost = await link.news.next(({ type }) => type === 'lost')
  assert.is(lost.type === 'lost' && lost.error.code, 'SEND_FAILED')
  assert.ok(lost.type === 'lost' && ids.slice(2).includes(Number(lost.id)))
})

test('a server that closes stdout and lives on is ended', async (t) => {
  const { link, pid } = await connect(t, ['--ignore-eof'])
  use(link, 'mute')
  const { error } = await link.closed()
  assert.is(error?.code, 'CONNECTION_LOST')
  assert.is(isAlive(pid), false)
})

test.run()
