// second tier: redis, time
// shares a process
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { redisTest, startRedis } from '../support/redis.js'
import { suite, type TestContext } from '../support/suite.js'
import { newHome, serverFile } from './_caduceus.js'
import { begin, servedAt } from './_serve.js'

const test = suite('caduceus serve, several with one Redis', { timeout: 60_000 })
const keys = ['k'.repeat(32)]

/** Serves a file with such a section, and resolves with its address. */
async function serve(t: TestContext, file: string, section: object): Promise<string> {
  const home = newHome(t)
  const sample = { command: process.execPath, args: [serverFile, '--stdio'] }
  const caduceus = { listen: { port: 0, health: true }, ...section }
  writeFileSync(join(home, file), JSON.stringify({ mcpServers: { sample }, caduceus }))
  const [, url = ''] = await begin(t, ['serve', file], home).line(servedAt)
  return url
}

function post(url: string, body: object, session?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  })
}

redisTest(test, 'those of one name and the same keys have the sessions together', async (t) => {
  const { url: redis } = await startRedis(t)
  const engine = { redis, keys }
  const first = await serve(t, 'mcp.json', { engine })
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'ada', version: '1.0.0' },
  }
  const opened = await post(first, { id: 1, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id') ?? ''
  assert.match(session, /./)
  const ping = async (url: string): Promise<number> =>
    (await post(url, { id: 2, method: 'ping' }, session)).status

  const second = await serve(t, 'another.json', { engine })
  await until(async () => (await ping(second)) === 200, { timeout: 20_000 })
  assert.is(await ping(first), 200)
  const named = await serve(t, 'mcp.json', { engine, name: 'another' })
  await until(async () => (await ping(named)) === 404, { timeout: 20_000 })
  // strangers by their keys: one side serves
  const strange = await serve(t, 'mcp.json', { engine: { redis, keys: ['o'.repeat(32)] } })
  await until(async () => (await fetch(new URL('/readyz', strange))).status === 503, { timeout: 20_000 })
  assert.is(await ping(strange), 503)
  assert.is(await ping(first), 200)
})

test.run()
