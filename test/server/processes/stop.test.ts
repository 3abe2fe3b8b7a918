// second tier: time
import * as assert from 'uvu/assert'
import { type ProcessesOptions, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'

const test = suite('stops of several processes', { timeout: 60_000 })
const module = new URL('./_server.js', import.meta.url)

test('calls in flight are answered, through whatever process they came', async (t) => {
  const { server, begin } = await start(t)
  const long = await begin(6_500)
  const short = await begin(1_500)
  const ms = await timeOf(server.stop())
  assert.equal(await short(), Array(connections).fill('worked'))
  assert.equal(await long(), Array(connections).fill('worked'))
  assert.ok(ms < 9_500, `${ms} ms: it waits for the calls, not for timeouts.drain`)
})

test('calls that take longer than timeouts.drain are answered with an error', async (t) => {
  const { server, begin } = await start(t, { timeouts: { drain: 500 } })
  const calls = await begin(60_000)
  const ms = await timeOf(server.stop())
  assert.equal(await calls(), Array(connections).fill('-32603'))
  assert.ok(ms < 6_000, `${ms} ms`)
})

test('a stop with nothing to wait for is over at once', async (t) => {
  const { server, clients } = await start(t)
  const streams = await Promise.all(clients.map((client) => client.listen()))
  const ms = await timeOf(server.stop())
  await Promise.all(streams.map(({ ended }) => ended))
  assert.ok(ms < 5_000, `${ms} ms`)
})

test('with a drainDelay clients are served while /readyz says that it ends', async (t) => {
  const transport = serveHttp({ drainDelay: 2_000, health: true })
  const { server, clients } = await start(t, { transport })
  const stopped = timeOf(server.stop())
  await pause(500)
  assert.is((await fetch(new URL('/readyz', server.url))).status, 503)
  const late = await new RawClient(t, server.url).open()
  assert.is(await late.text('count'), '1')
  assert.is(await clients[0]?.text('count'), '1')
  const ms = await stopped
  assert.ok(ms >= 1_900 && ms < 8_000, `${ms} ms`)
})

test('a stop while processes are replaced loses no call in flight', async (t) => {
  const { server, begin } = await start(t)
  const before = await server.processes()
  const calls = await begin(3_000)
  const reloaded = server.reload().then(
    () => 'replaced',
    () => 'stopped',
  )
  // the first one is retiring then
  while ((await server.processes()).includes(before[0] as (typeof before)[0])) await pause(20)
  const ms = await timeOf(server.stop())
  assert.equal(await calls(), Array(connections).fill('worked'))
  assert.is(await reloaded, 'stopped')
  assert.ok(ms < 9_000, `${ms} ms`)
})

test('a process that is killed while the server stops holds nothing up', async (t) => {
  const { server, begin, clients } = await start(t)
  const calls = await begin(60_000)
  const pid = Number(await clients[0]?.text('pid'))
  const stopped = timeOf(server.stop())
  await pause(200)
  process.kill(pid, 'SIGKILL')
  const ms = await stopped
  assert.ok((await calls()).every((answer) => answer !== 'worked'))
  assert.ok(ms < 9_000, `${ms} ms`)
})

test.run()

/** Connections of one session: they come to both processes. */
const connections = 6

async function start(t: TestContext, options: Partial<ProcessesOptions> = {}) {
  const server = await startServer(module, {
    transport: serveHttp(),
    processes: 2,
    logger: false,
    ...options,
  })
  t.after(() => server.stop())
  const { sessionId } = await new RawClient(t, server.url).open()
  const clients = Array.from({ length: connections }, () => {
    const client = new RawClient(t, server.url)
    client.sessionId = sessionId
    return client
  })
  let last = 100
  let underWay = 0
  /** A call on each connection; resolves once they run. Their answers are behind a function. */
  const begin = async (ms: number): Promise<() => Promise<string[]>> => {
    const calls = clients.map(async (client) => {
      last += 1
      const { result, error } = await client.call('works', { ms }, last)
      return error === undefined ? String(result?.content?.[0]?.text) : String(error.code)
    })
    const answers = Promise.all(calls.map((call) => call.catch(() => 'broken')))
    let isOver = false
    void answers.then(() => {
      isOver = true
    })
    underWay += connections
    while (!isOver && ((await server.sessions())[0]?.requests ?? 0) < underWay) await pause(20)
    return () => answers
  }
  return { server, clients, begin }
}

async function timeOf(work: Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work
  return Math.round(performance.now() - begun)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
