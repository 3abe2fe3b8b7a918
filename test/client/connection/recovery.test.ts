// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { stdio, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { closeWith, flaky } from '../_flaky.js'
import { rejection, watch } from '../_raw.js'

const test = suite('client recovery')

test('a server killed during a call rejects it at once, and the client is ready again', async (t) => {
  const { client, said, phase } = watch(t)
  const pid = Number((await client.callTool('pid')).text)
  const call = client.callTool('hang', {}, { timeout: 60_000 })
  await said.next((line) => line === 'got tools/call hang')
  process.kill(pid, 'SIGKILL')
  const error = await rejection(call)
  assert.instance(error, ClientError)
  assert.is(error.code, 'CONNECTION_LOST')
  assert.is(error.retryable, true)
  assert.equal(error.data, { exitCode: null, signal: 'SIGKILL', stderr: said.all.slice(), sent: true })
  const lost = await phase('disconnected')
  assert.is(lost.attempt, 1)
  assert.instance(lost.reason, TransportError)
  await phase('ready')
  const next = Number((await client.callTool('pid')).text)
  assert.is.not(next, pid)
})

test('a crashed client keeps its handle, gets a new process and rejects its calls', async (t) => {
  const { client, said, kill, phase } = watch(t)
  const pid = Number((await client.callTool('pid')).text)
  const call = client.callTool('hang')
  await said.next((line) => line === 'got tools/call hang')
  kill('client')
  const error = await rejection(call)
  assert.is(error.code, 'CONNECTION_LOST')
  assert.equal([(error.data as { sent: boolean }).sent, error.retryable], [true, true])
  await phase('disconnected')
  await phase('ready')
  assert.is.not(Number((await client.callTool('pid')).text), pid)
  const { tree, counts } = client.inspect()
  assert.equal(
    tree?.children.map(({ restarts }) => restarts),
    [1, 1],
  )
  assert.is(counts.sessions, 2)
  assert.throws(() => process.kill(pid, 0))
})

test('a crash of the transport is a crash of the client, too', async (t) => {
  const { client, kill, phase } = watch(t)
  await client.ready()
  kill('transport')
  await phase('disconnected')
  await phase('ready')
  assert.is((await client.callTool('count')).text, '1')
})

test('a call unsent when the client crashed is resent under its own deadline', async (t) => {
  const puppet = flaky(0, 1)
  const { client, kill } = watch(t, { transport: puppet.transport })
  const call = client.request('custom/one', {}, { timeout: 4_000 })
  const short = client.ping({ timeout: 1_000 })
  // the attempt that hangs is that of the first incarnation
  while (client.inspect().waiting < 2 || puppet.attempts() < 1) await new Promise(setImmediate)
  kill('client')
  await call
  assert.equal(
    puppet.asked.filter((method) => method === 'custom/one'),
    ['custom/one'],
  )
  await Promise.allSettled([short])
})

test('a call made while the client is being restarted waits for the next incarnation', async (t) => {
  const { client, kill } = watch(t)
  await client.ready()
  const call = client.callTool('count')
  kill('client')
  assert.is((await call).text, '1')
  assert.is((await client.callTool('count')).text, '2')
})

test('calls that wait while a server cannot be started go on when it can', async (t) => {
  const puppet = flaky(3)
  const { client, states } = watch(t, { transport: puppet.transport })
  const call = client.ping()
  await client.ready()
  await call
  assert.equal(
    states.all.filter(({ phase }) => phase === 'disconnected').map(({ attempt }) => attempt),
    [1, 2, 3],
  )
})

test('a call that does not wait rejects at once as unsent without a connection', async (t) => {
  const puppet = flaky(1)
  const backoff = { base: 60_000, random: () => 1 }
  const { client, phase } = watch(t, { transport: puppet.transport, backoff })
  await phase('disconnected')
  const error = await rejection(client.ping({ wait: false }))
  assert.equal([error.code, error.retryable, error.data], ['NOT_READY', true, { sent: false }])
  assert.match(error.message, 'no luck')
  assert.is(client.inspect().waiting, 0)
  assert.is((await rejection(client.ping({ wait: 1 as never }))).code, 'BAD_OPTION')
})

test('backoff doubles up to its cap with full jitter and resets once stable', async (t) => {
  const clock = createFakeClock()
  const puppet = flaky(7)
  const { client, states } = watch(t, {
    clock,
    transport: puppet.transport,
    backoff: { base: 100, cap: 1_000, stable: 5_000, random: () => 0.5 },
  })
  await clock.advance(0)
  await clock.advance(60_000)
  assert.is(client.state.phase, 'ready')
  const delays = (): unknown[] =>
    states.all.filter(({ phase }) => phase === 'disconnected').map(({ delay }) => delay)
  assert.equal(delays(), [50, 100, 200, 400, 500, 500, 500])
  puppet.drop()
  await clock.advance(0)
  assert.is(delays().at(-1), 50)
  await clock.advance(50)
  await clock.advance(4_999)
  puppet.drop()
  await clock.advance(0)
  assert.is(delays().at(-1), 100)
  await closeWith(client, clock)
})

test('a call that times out unsent names the last connection error', async (t) => {
  const clock = createFakeClock()
  const { client } = watch(t, {
    clock,
    transport: flaky(Number.POSITIVE_INFINITY).transport,
    backoff: { base: 10_000, cap: 10_000, random: () => 1 },
  })
  await clock.advance(0)
  assert.is(client.state.phase, 'disconnected')
  const call = rejection(client.ping({ timeout: 1_000 }))
  await clock.advance(0)
  await clock.advance(1_100)
  const error = await call
  assert.equal([error.code, error.data, error.retryable], ['TIMEOUT', { sent: false }, true])
  assert.is(error.message, 'ping: not sent within 1000 ms (no luck)')
  assert.is((error.cause as TransportError).code, 'CONNECTION_LOST')
  await closeWith(client, clock)
})

test('a call that waited for a server that does not answer initialize says so', async (t) => {
  const { client, phase } = watch(t, {}, ['--init', 'hang'])
  await phase('initializing')
  const { code, message } = await rejection(client.ping({ timeout: 10 }))
  assert.is(code, 'TIMEOUT')
  assert.is(message, 'ping: not sent within 10 ms (initializing: the server has not answered yet)')
})

test('an unknown command rejects ready and waiting calls at once; the tree stays', async (t) => {
  const { client, phase } = watch(t, {
    transport: stdio({ command: 'no-such-server', env: { PATH: '/nowhere' } }),
  })
  const waiting = client.ping()
  const error = await rejection(client.ready())
  assert.is(error.code, 'CONNECT_FAILED')
  assert.is((error.cause as TransportError).code, 'COMMAND_NOT_FOUND')
  assert.match(error.message, /no-such-server \(not in PATH, cwd: /)
  assert.is(error.retryable, false)
  assert.is((await rejection(waiting)).code, 'CONNECT_FAILED')
  assert.is((await phase('failed')).reason, error.cause)
  const later = await rejection(client.ping())
  assert.equal(later.data, { command: 'no-such-server', cwd: process.cwd(), sent: false })
  assert.is(client.inspect().tree?.status, 'running')
  await client.close()
  await client.closed
})

test('a server without a common revision is a permanent failure', async (t) => {
  const { client } = watch(t, {}, ['--init', '1999-01-01'])
  const error = await rejection(client.ready())
  assert.is(error.code, 'NO_COMMON_REVISION')
  assert.match(error.message, '1999-01-01')
  assert.is((await rejection(client.ping())).code, 'NO_COMMON_REVISION')
})

test('a server that refuses to initialize, answers junk or dies is tried again', async (t) => {
  for (const [init, code, message] of [
    ['error', 'CONNECT_FAILED', /not today/],
    ['junk', 'INVALID_RESPONSE', /protocolVersion/],
    ['die', 'PROCESS_EXITED', /exited with code 7/],
  ] as const) {
    const { states, client } = watch(t, { name: init }, ['--init', init])
    const second = await states.next(({ phase, attempt }) => phase === 'disconnected' && attempt === 2)
    assert.is((second.reason as ClientError).code, code)
    assert.match(second.reason?.message ?? '', message)
    await client.close()
  }
})

test('a server without an answer to initialize is retried after the handshake timeout', async (t) => {
  const { client, states, said } = watch(t, { handshakeTimeout: 300 }, ['--init', 'hang'])
  const lost = await states.next(({ phase }) => phase === 'disconnected')
  assert.match(lost.reason?.message ?? '', 'the answer to initialize did not come within 300 ms')
  await said.next((line) => line === 'got initialize')
  await states.next(({ phase }) => phase === 'initializing')
  await client.close()
  assert.equal(
    said.all.filter((line) => line.includes('cancelled')),
    [],
  )
})

test('a server that logs to stdout and never answers is quoted in the reason', async (t) => {
  const program = "console.log('Starting.'); console.log('Listening.'); process.stdin.resume()"
  const transport = stdio({ command: process.execPath, args: ['-e', program], stopTimeout: 100 })
  const { states } = watch(t, { handshakeTimeout: 2_000, transport })
  const { reason } = await states.next(({ phase }) => phase === 'disconnected')
  assert.match(
    reason?.message ?? '',
    'initialize did not come within 2000 ms, 2 texts did that are no messages of MCP: "Starting."',
  )
})

test(
  'a flooding server is throttled and counted, and the connection stays',
  async (t) => {
    const { client } = watch(t)
    const controller = new AbortController()
    const flooding = rejection(client.callTool('flood', { lines: 120_000 }, { signal: controller.signal }))
    assert.is((await client.callTool('echo', { text: 'calm' }, { timeout: 30_000 })).text, 'calm')
    controller.abort()
    assert.is((await flooding).code, 'CANCELLED')
    assert.is(client.inspect().counts.junk, 120_000)
    assert.is(client.inspect().counts.sessions, 1)
  },
  { timeout: 20_000 },
)

test('a flood through a transport without backpressure costs the connection only', async (t) => {
  const puppet = flaky(0)
  const { client, phase } = watch(t, { transport: puppet.transport })
  await client.ready()
  puppet.flood(200_000)
  const { reason } = await phase('disconnected')
  assert.match(String(reason), 'faster than the client can take')
  await phase('ready')
})

test.run()
