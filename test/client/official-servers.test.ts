// second tier: third party
// shares a process
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { toNodeHandler } from '@modelcontextprotocol/node'
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { http, stdio } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { end } from '../transports/_http.js'
import { officialParts } from './_official-server.js'
import { watch } from './_raw.js'

const test = suite('servers of the official SDK 2', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_official-stdio.js', import.meta.url))
const onElicit = () => ({ action: 'accept', content: {} }) as const

async function tryEverything(client: Client): Promise<void> {
  await client.ready()
  assert.is(client.server?.revision, '2026-07-28')
  assert.is(client.server?.info.name, 'official')
  const { tools } = await client.listTools()
  assert.equal(tools.map(({ name }) => name).sort(), ['ask', 'echo'])
  assert.is((await client.callTool('echo', { text: 'hé' })).text, 'hé')
  assert.is((await client.callTool('ask')).text, 'sure: true')
  assert.is((await client.readResource('x:page')).text, 'a page')
  await client.ping()
}

test('over http: the era is found, and calls, questions and changes all work', async (t) => {
  const handler = createMcpHandler(await officialParts())
  const handle = toNodeHandler(handler)
  const server = createServer((request, response) => {
    void handle(request as Parameters<typeof handle>[0], response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const { client } = watch(t, { transport: http(url), era: 'auto', onElicit })
  await tryEverything(client)
  const changes = heard<object>()
  client.onNotification('notifications/tools/list_changed', changes.add)
  const updates = heard<{ uri: string }>()
  client.onNotification('notifications/resources/updated', updates.add)
  await client.subscribe('x:page')
  handler.notify.toolsChanged()
  handler.notify.resourceUpdated('x:page')
  await changes.next()
  assert.is((await updates.next()).uri, 'x:page')
})

test('over stdio: the same works after a probe on the same process', async (t) => {
  const transport = stdio({ command: process.execPath, args: [program] })
  const { client } = watch(t, { transport, era: 'auto', probeTimeout: 15_000, onElicit })
  await tryEverything(client)
})

test.run()
