import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { inTurns, memorySessions } from './engine/_file-store.js'
import { makeFolder } from '../support/folder.js'
import { count, echo, startTestServer } from './_servers.js'

const test = suite('several programs with one store', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_shared-program.js', import.meta.url))
const first = '@modelcontextprotocol/sdk'

async function startProgram(t: TestContext, folder: string) {
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return { pid: Number(child.pid), url: new URL(String(line).trim()) }
}

/** An address in front of programs, which takes one after the other. */
async function inFrontOf(t: TestContext, urls: readonly URL[]): Promise<URL> {
  let count = 0
  const proxy = createServer((incoming, outgoing) => {
    const { hostname, port, host } = urls[count++ % urls.length] as URL
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, host }
    const onward = request({ hostname, port, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      outgoing.flushHeaders()
      response.on('error', () => outgoing.destroy()).pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`)
}

test.slow('behind round robin, a program that missed initialized asks the client, too', async (t) => {
  const folder = makeFolder(t)
  const programs = await Promise.all([startProgram(t, folder), startProgram(t, folder)])
  const url = await inFrontOf(
    t,
    programs.map((one) => one.url),
  )
  const { Client } = await import(`${first}/client/index.js`)
  const { StreamableHTTPClientTransport } = await import(`${first}/client/streamableHttp.js`)
  const { ElicitRequestSchema } = await import(`${first}/types.js`)
  const capabilities = { elicitation: {} }
  const client = new Client({ name: 'official', version: '1' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, async () => {
    // so that the answer comes to the program that has asked
    await client.ping()
    return { action: 'accept', content: { name: 'Ada' } }
  })
  await client.connect(new StreamableHTTPClientTransport(url))
  t.after(() => client.close())
  const askers = new Set<string>()
  for (let i = 0; i < 5; i++) {
    const { content } = await client.callTool({ name: 'ask' })
    askers.add(content[0].text)
    if (i % 2 === 0) await client.ping()
  }
  assert.equal([...askers].sort(), programs.map(({ pid }) => `accept at ${pid}`).sort())
})

test('the store records that the client is ready', async (t) => {
  const store = memorySessions()
  const engine = inTurns(store)
  const client = new RawClient(t, (await startTestServer(t, [echo], { engine })).url)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const opened = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  client.sessionId = String(opened.headers['mcp-session-id'])
  assert.is((await store.load(client.sessionId))?.initialized, undefined)
  assert.is((await client.tell('notifications/initialized')).status, 202)
  assert.is((await store.load(client.sessionId))?.initialized, true)
})

test('a stream of the opening program gets changes when another got initialized', async (t) => {
  const engine = inTurns(memorySessions())
  const start = () => startTestServer(t, [echo], { engine })
  const [opener, other] = [await start(), await start()]
  const client = new RawClient(t, opener.url)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const opened = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  client.sessionId = String(opened.headers['mcp-session-id'])
  const stream = await client.listen()
  const elsewhere = new RawClient(t, other.url)
  elsewhere.sessionId = client.sessionId
  assert.is((await elsewhere.tell('notifications/initialized')).status, 202)
  await opener.addTool(count)
  assert.is((await stream.next()).method, 'notifications/tools/list_changed')
  stream.close()
})

test.run()
