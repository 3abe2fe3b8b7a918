// second tier: third party
// What the table of the first page says: the same mishap, with a server and a client of the official SDKs,
// and with ours.
import { fileURLToPath } from 'node:url'
import { Client as TheirSecond } from '@modelcontextprotocol/client'
import { StdioClientTransport as SecondPipe } from '@modelcontextprotocol/client/stdio'
import { Client as TheirFirst } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as FirstPipe } from '@modelcontextprotocol/sdk/client/stdio.js'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { until } from 'caduceus/testing'
import { stdio } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('the same mishap', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_compared-program.js', import.meta.url))
const sides = ['sdk1', 'sdk2', 'ours'] as const
const clientInfo = { name: 'compared', version: '1.0.0' }

/** What all clients here can do. */
interface Caller {
  call(name: string): Promise<unknown>
  /** Ends the server, and waits until the client knows. */
  kill(): Promise<void>
}

for (const side of sides) {
  test(`a rejection that a tool leaves behind ends a server of ${side}: ${side !== 'ours'}`, async (t) => {
    const transport = stdio({ command: process.execPath, args: [program, side], stderr: () => {} })
    const client = startClient({ transport, logger: false })
    t.after(() => client.close())
    await client.ready()
    const sessions = client.inspect().counts.sessions
    await client.callTool('stray').catch(() => {})
    const other = await client.callTool('pid', {}, { retry: 'safe' })
    assert.ok(Number(other.text) > 0)
    assert.is(client.inspect().counts.sessions > sessions, side !== 'ours')
  })

  test(`a client of ${side} goes on with a server that was killed: ${side === 'ours'}`, async (t) => {
    const caller = await callers[side](t)
    await caller.call('pid')
    await caller.kill()
    const after = await caller.call('pid').then(
      () => 'goes on',
      () => 'failed',
    )
    assert.is(after, side === 'ours' ? 'goes on' : 'failed')
  })
}

test.run()

const callers: Record<(typeof sides)[number], (t: TestContext) => Promise<Caller>> = {
  async sdk1(t) {
    const pipe = new FirstPipe({ command: process.execPath, args: [program, 'sdk1'] })
    const client = new TheirFirst(clientInfo)
    await client.connect(pipe)
    t.after(() => client.close())
    return caller(client, () => pipe.pid)
  },
  async sdk2(t) {
    const pipe = new SecondPipe({ command: process.execPath, args: [program, 'sdk1'] })
    const client = new TheirSecond(clientInfo)
    await client.connect(pipe)
    t.after(() => client.close())
    return caller(client, () => pipe.pid)
  },
  async ours(t) {
    const transport = stdio({ command: process.execPath, args: [program, 'sdk1'] })
    const client = startClient({ transport, logger: false })
    t.after(() => client.close())
    return {
      call: (name) => client.callTool(name),
      async kill() {
        const { text } = await client.callTool('pid')
        const lost = until(client, ({ phase }) => phase === 'disconnected')
        process.kill(Number(text), 'SIGKILL')
        await lost
      },
    }
  },
}

interface Theirs {
  callTool(params: { name: string }): Promise<unknown>
  onclose?: (() => void) | undefined
}

function caller(client: Theirs, pid: () => number | null): Caller {
  return {
    call: (name) => client.callTool({ name }),
    async kill() {
      const closed = new Promise<void>((resolve) => {
        client.onclose = resolve
      })
      process.kill(Number(pid()), 'SIGKILL')
      await closed
    },
  }
}
