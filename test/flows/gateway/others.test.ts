// second tier: time
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { gateway, startServer } from 'caduceus/server'
import { http, serveHttp, stdio } from 'caduceus/transports'
import { serverPid } from '../../client/_peer.js'
import { startAllowance } from '../../support/allowance.mjs'
import { heard } from '../../support/heard.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: servers of others', { timeout: 30_000 })
/** On a busy machine a process takes its time to start. */
const patient = { startTimeout: 15_000 }
const eras = ['handshake', 'modern'] as const
const first = '@modelcontextprotocol/sdk'
const second = '@modelcontextprotocol/client'

/** What is used of an official client, whichever version. */
interface Official {
  close(): Promise<void>
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: object): Promise<{ content: { text: string }[] }>
}

for (const era of eras) {
  test(`${era}: four official servers work through one address and survive kills`, async (t) => {
    const folder = await realpath(mkdtempSync(join(tmpdir(), 'gateway-')))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const taken = heard<string>()
    const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }
    // what the servers ask goes to whoever calls
    const plan = gateway(async ({ answers }) => {
      const clients = await startClients(
        {
          everything: { command: process.execPath, args: [program('everything'), 'stdio'] },
          files: { command: process.execPath, args: [program('filesystem'), folder] },
          memory: { command: process.execPath, args: [program('memory')], env },
          think: { command: process.execPath, args: [program('sequential-thinking')] },
        },
        {
          logger: false,
          client: (name) => ({ ...(name === 'everything' && answers(name)), backoff: { base: 10, cap: 50 } }),
        },
      )
      for (const [name, client] of clients) pids.set(name, () => serverPid(client))
      return clients
    }, patient)
    const pids = new Map<string, () => number>()
    const server = await startServer(plan, {
      transport: serveHttp(),
      logger: false,
      limits: { pageSize: 1_000 },
    })
    t.after(() => server.stop())
    const client = startClient({
      transport: http(String(server.url)),
      era,
      logger: false,
      onElicit: () => ({ action: 'accept', content: { name: 'Žofie' } }),
      onSample: ({ messages }) => {
        taken.add(`${messages.length} message`)
        return { role: 'assistant', model: 'm1', content: { type: 'text', text: 'a poem' } }
      },
    })
    t.after(() => client.close())
    const { tools } = await client.listTools()
    const of = (name: string): number => tools.filter((tool) => tool.name.startsWith(`${name}__`)).length
    assert.ok(of('everything') > 5 && of('files') > 5 && of('memory') > 5)
    assert.is((await client.callTool('everything__echo', { message: 'hé' })).text, 'Echo: hé')
    const sampled = await client.callTool('everything__trigger-sampling-request', {
      prompt: 'a',
      maxTokens: 10,
    })
    assert.match(sampled.text, /a poem/)
    const thought = { thought: 'one', thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true }
    const { structuredContent } = await client.callTool('think__sequentialthinking', thought)
    assert.is((structuredContent as { thoughtHistoryLength?: number }).thoughtHistoryLength, 1)
    const steps: number[] = []
    await client.callTool(
      'everything__trigger-long-running-operation',
      { duration: 0.2, steps: 2 },
      { onProgress: ({ progress }) => void steps.push(progress) },
    )
    assert.equal(steps, [1, 2])
    assert.match((await client.readResource('demo://resource/dynamic/text/3')).text, /3/)
    writeFileSync(join(folder, 'note'), 'kept')
    const read = () => client.callTool('files__read_text_file', { path: join(folder, 'note') })
    assert.is((await read()).text, 'kept')
    const entities = [{ name: 'Eva', entityType: 'person', observations: ['was here'] }]
    assert.equal((await client.callTool('memory__create_entities', { entities })).json, { entities })
    for (const pid of pids.values()) process.kill(pid(), 'SIGKILL')
    // the first one may find the old connection
    await read().catch(() => undefined)
    assert.is((await read()).text, 'kept')
    const nodes = () => client.callTool('memory__open_nodes', { names: ['Eva'] })
    await nodes().catch(() => undefined)
    assert.match(JSON.stringify((await nodes()).json), /Eva/)
    await client.callTool('everything__echo', { message: 'a' }).catch(() => undefined)
    assert.is((await client.callTool('everything__echo', { message: 'b' })).text, 'Echo: b')
  })
}

/** The official clients, by what they speak. */
const official: Readonly<Record<string, (url: URL) => Promise<Official>>> = {
  async 'SDK 1'(url) {
    const { Client } = await import(`${first}/client/index.js`)
    const { StreamableHTTPClientTransport } = await import(`${first}/client/streamableHttp.js`)
    const client = new Client({ name: 'official', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(url))
    return client
  },
  async 'SDK 2'(url) {
    const { Client, StreamableHTTPClientTransport } = await import(second)
    const versionNegotiation = { mode: { pin: '2026-07-28' } }
    const client = new Client({ name: 'official', version: '2' }, { versionNegotiation })
    await client.connect(new StreamableHTTPClientTransport(url))
    return client
  },
}

for (const [name, open] of Object.entries(official)) {
  test(`the client of ${name} calls a server that is killed, in one session`, async (t) => {
    const raw = child(t, 'raw')
    const server = await startServer(gateway({ raw }, patient), { transport: serveHttp(), logger: false })
    t.after(() => server.stop())
    const client = await open(new URL(String(server.url)))
    t.after(() => client.close())
    const call = async (tool: string, args: object = {}) =>
      (await client.callTool({ name: `raw__${tool}`, arguments: args })).content[0]?.text
    const listed = async () => (await client.listTools()).tools.map((tool) => tool.name)
    const tools = ['raw__pid', 'raw__echo', 'raw__hang']
    assert.equal(await listed(), tools)
    assert.is(await call('echo', { text: 'žluťoučký 🐍' }), 'žluťoučký 🐍')
    const pid = await call('pid')
    const hanging = call('hang').catch((error: unknown) => error)
    await call('echo', { text: 'the server has the call before' })
    process.kill(Number(pid), 'SIGKILL')
    const { code, data } = (await hanging) as { code: number; data: { code: string; retryable: boolean } }
    assert.equal([code, data.code], [-32_603, 'CONNECTION_LOST'])
    const allowance = startAllowance(2_000)
    assert.is.not(await call('pid'), pid)
    assert.ok(allowance.left() > 0)
    assert.equal(await listed(), tools)
  })
}

test('a server frozen during calls delays no other and is replaced', async (t) => {
  // whoever does not answer two pings is given up
  const frozen = child(t, 'frozen', { every: 500, misses: 2 })
  const other = child(t, 'other')
  const server = await startServer(gateway({ frozen, other }, patient), {
    transport: serveHttp(),
    logger: false,
  })
  t.after(() => server.stop())
  const client = startClient({ transport: http(String(server.url)), logger: false })
  t.after(() => client.close())
  const pid = Number((await client.callTool('frozen__pid')).text)
  const hanging = client.callTool('frozen__hang').catch((error: unknown) => error)
  await client.callTool('frozen__echo', { text: 'a' })
  process.kill(pid, 'SIGSTOP')
  const { tools } = await client.listTools({ fresh: true })
  assert.is(tools.length, 6)
  assert.is((await client.callTool('other__echo', { text: 'b' })).text, 'b')
  const lost = await hanging
  assert.ok(lost instanceof McpError, String(lost))
  assert.is((lost.data as { code: string }).code, 'CONNECTION_LOST')
  assert.is.not(Number((await client.callTool('frozen__pid')).text), pid)
})

test.run()

function child(t: TestContext, name: string, health?: { every: number; misses: number }) {
  const path = inRoot('.t', 'test', 'flows', 'gateway', '_upstream-program.js')
  const transport = stdio({ command: process.execPath, args: [path], stopTimeout: 100 })
  const client = startClient({
    name,
    transport,
    logger: false,
    ...(health && { health }),
    backoff: { base: 10, cap: 50 },
  })
  t.after(() => client.close())
  return client
}

function program(name: string): string {
  return inRoot('node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js')
}
