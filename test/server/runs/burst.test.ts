// second tier: time
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import * as assert from 'uvu/assert'
import WebSocket from 'ws'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'

const test = suite('a burst of calls', { timeout: 60_000 })
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'burst', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

interface Burst {
  readonly transport: 'http' | 'websocket'
  /** MiB. */
  readonly heap: number
  /** Of an answer. */
  readonly length: number
}

async function start(t: TestContext, { transport, heap, length }: Burst) {
  const program = inRoot('.t', 'test', 'server', 'runs', '_burst.js')
  const limits = [`--max-old-space-size=${heap}`]
  const child = spawn(process.execPath, [...limits, program, transport, String(length)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { url, child }
}

async function endsInOrder(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  assert.equal(child.exitCode === null ? await once(child, 'exit') : [child.exitCode, null], [0, null])
}

function calls(name: string, count: number, more: object = {}): object[] {
  const params = { name, arguments: {}, ...more }
  return Array.from({ length: count }, (_, at) => ({
    jsonrpc: '2.0',
    id: at + 1,
    method: 'tools/call',
    params,
  }))
}

/** Sends all at once; resolves with what became of them when each has an answer, or the connection has not. */
async function send(t: TestContext, url: string, messages: readonly object[], count: number) {
  const socket = new WebSocket(url, ['mcp'])
  t.after(() => socket.terminate())
  await once(socket, 'open')
  let answered = 0
  return new Promise<string>((resolve) => {
    socket.on('close', (code) => resolve(`closed with ${code}`))
    socket.on('error', () => {})
    socket.on('message', () => {
      answered += 1
      if (answered === count) resolve('all are answered')
    })
    for (const message of messages) socket.send(JSON.stringify(message))
  })
}

test('a session keeps no answer that it has given, however many calls wait', async (t) => {
  // all answers together are more than twice as much
  const { url, child } = await start(t, { transport: 'websocket', heap: 128, length: 1_000_000 })
  const messages = [initialize('burst', '2025-06-18', {}), initialized, ...calls('now', 300)]
  assert.is(await send(t, url, messages, 301), 'all are answered')
  await endsInOrder(child)
})

// together the answers are more than twice the heap
const many = 16
const tight = { heap: 64, length: 3_500_000 }

for (const name of ['now', 'soon']) {
  test(`calls of one turn, answered ${name}, find room in a small heap: WebSocket`, async (t) => {
    const { url, child } = await start(t, { transport: 'websocket', ...tight })
    const messages = [initialize('burst', '2025-06-18', {}), initialized, ...calls(name, many)]
    const told = await Promise.all([1, 2, 3].map(() => send(t, url, messages, many + 1)))
    assert.equal(told, Array(3).fill('all are answered'))
    await endsInOrder(child)
  })

  test(`calls of one turn, answered ${name}, find room in a small heap: no session`, async (t) => {
    const { url, child } = await start(t, { transport: 'websocket', ...tight })
    const messages = calls(name, many, { _meta: meta })
    const told = await Promise.all([1, 2, 3].map(() => send(t, url, messages, many)))
    assert.equal(told, Array(3).fill('all are answered'))
    await endsInOrder(child)
  })

  test(`calls of one turn, answered ${name}, find room in a small heap: a batch`, async (t) => {
    const { url, child } = await start(t, { transport: 'http', ...tight })
    const batches = [1, 2, 3].map(async () => {
      const client = await new RawClient(t, url).open('raw', '2025-03-26')
      const { status, messages } = await client.post(calls(name, many))
      return { status, answers: messages.length }
    })
    assert.equal(await Promise.all(batches), Array(3).fill({ status: 200, answers: many }))
    await endsInOrder(child)
  })
}

test.run()
