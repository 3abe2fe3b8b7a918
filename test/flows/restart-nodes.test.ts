// second tier: time
// time limit: 90 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { makeFolder } from '../support/folder.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('several programs, one folder', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_restart-program.js', import.meta.url))

test('three programs serve the official client in turn, then the two left', async (t) => {
  const folder = makeFolder(t)
  const nodes = await Promise.all([0, 1, 2].map(() => startNode(t, folder)))
  const balancer = new Balancer(nodes.map(({ origin }) => origin))
  const { client, transport } = await connect(t, balancer)
  const counts: number[] = []
  const callTimes = async (times: number): Promise<void> => {
    for (let call = 0; call < times; call++) counts.push(await countOnce(client))
  }
  await callTimes(12)
  nodes[1]?.child.kill('SIGKILL')
  await nodes[1]?.exited
  await callTimes(12)
  assert.equal(
    counts,
    Array.from({ length: 24 }, (_, index) => index + 1),
  )
  assert.ok(
    balancer.served.every((times) => times >= 4),
    String(balancer.served),
  )
  assert.not.ok(balancer.statuses.includes(404))
  await transport.terminateSession()
  for (let node = 0; node < 2; node++) assert.is(await statusOf(balancer, transport.before), 404)
})

/** Sends each request to the next program, and to the one after it when nobody answers. */
class Balancer {
  readonly origins: readonly string[]
  readonly served: number[]
  readonly statuses: number[] = []
  #next = 0

  constructor(origins: readonly string[]) {
    this.origins = origins
    this.served = origins.map(() => 0)
  }

  readonly fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url)
    for (let tries = 0; ; tries++) {
      const node = this.#next++ % this.origins.length
      try {
        const response = await fetch(new URL(pathname, this.origins[node]), init)
        this.served[node] = (this.served[node] ?? 0) + 1
        this.statuses.push(response.status)
        return response
      } catch (error) {
        if (tries >= this.origins.length || init?.signal?.aborted) throw error
      }
    }
  }
}

/** What this test uses of the official client. */
interface Official {
  connect(transport: object): Promise<void>
  callTool(params: object): Promise<{ content: { text: string }[] }>
  close(): Promise<void>
}

async function connect(t: TestContext, balancer: Balancer) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js' as string)
  const { StreamableHTTPClientTransport: Transport } = await import(
    '@modelcontextprotocol/sdk/client/streamableHttp.js' as string
  )
  const client: Official = new Client({ name: 'v1', version: '1' })
  const transport = new Transport(new URL('http://balancer.test/mcp'), { fetch: balancer.fetch })
  await client.connect(transport)
  t.after(() => client.close())
  const before = String(transport.sessionId)
  return {
    client,
    transport: { before, terminateSession: () => transport.terminateSession() as Promise<void> },
  }
}

async function countOnce(client: Official): Promise<number> {
  const { content } = await client.callTool({ name: 'count' })
  return JSON.parse(String(content[0]?.text)).count
}

async function statusOf(balancer: Balancer, sessionId: string): Promise<number> {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': sessionId,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const response = await balancer.fetch('http://balancer.test/mcp', { method: 'POST', headers, body })
  await response.text()
  return response.status
}

async function startNode(t: TestContext, folder: string) {
  const child: ChildProcess = spawn(process.execPath, [program, '0', 'records', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [port] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  return { child, exited, origin: `http://127.0.0.1:${port}` }
}

test.run()
