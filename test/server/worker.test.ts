// second tier: third party
// time limit: 120 s
import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { http, withClient } from 'caduceus'
import { until } from 'caduceus/testing'
import type { Miniflare } from 'miniflare'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'

const test = suite('a server in a Worker', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const key = '0123456789abcdef0123456789abcdef'
const program = hasWorkerd
  ? bundleWorker(`export { worker as default, Sessions } from './test/server/_worker.ts'`)
  : undefined

/** Where the program of these tests is served by workerd. */
async function start(t: TestContext): Promise<{ url: URL; isolate: Miniflare }> {
  const { text } = (await program) ?? { text: '' }
  return startWorker(t, text, { bindings: { KEY: key }, durableObjects: { SESSIONS: 'Sessions' } })
}

/** A plain Worker, in which each request has a server of its own, and an object that has one for all. */
const places = ['/mcp', '/object/mcp']

for (const place of places)
  inWorkerd(`our client calls tools with and without a session at ${place}`, async (t) => {
    const { url } = await start(t)
    for (const era of ['handshake', 'auto'] as const)
      await withClient({ transport: http(new URL(place, url)), era }, async (client) => {
        assert.is((await client.callTool('echo', { text: 'hello' })).text, 'hello')
        const heard: number[] = []
        const { text } = await client.callTool(
          'steps',
          {},
          { onProgress: ({ progress }) => heard.push(progress) },
        )
        assert.equal([text, heard], ['done', [1, 2, 3]])
        const many = Array.from({ length: 30 }, (_, number) => client.callTool('echo', { text: `${number}` }))
        assert.equal(
          (await Promise.all(many)).map(({ text: one }) => one),
          many.map((_, number) => `${number}`),
        )
      })
  })

for (const place of places)
  inWorkerd(`the official client calls tools at ${place}`, async (t) => {
    const { url } = await start(t)
    const client = new SdkClient({ name: 'sdk', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(place, url)))
    t.after(() => client.close())
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === 'echo'))
    const answer = await client.callTool({ name: 'echo', arguments: { text: 'hello' } })
    assert.equal(answer.content, [{ type: 'text', text: 'hello' }])
  })

inWorkerd('an object keeps the state of a session', async (t) => {
  const { url } = await start(t)
  await withClient({ transport: http(new URL('/object/mcp', url)) }, async (client) => {
    assert.is((await client.callTool('count')).text, '1')
    assert.is((await client.callTool('count')).text, '2')
  })
})

inWorkerd('a question is answered within an object, and without a session', async (t) => {
  const { url } = await start(t)
  const onElicit = () => ({ action: 'accept' as const, content: { amount: 3 } })
  for (const [place, era] of [
    ['/object/mcp', 'handshake'],
    ['/object/mcp', 'auto'],
    ['/mcp', 'auto'],
  ] as const)
    await withClient({ transport: http(new URL(place, url)), era, onElicit }, async (client) => {
      assert.is((await client.callTool('order')).text, 'accept 3', `${place} ${era}`)
    })
})

for (const place of places)
  inWorkerd(`a client that goes away aborts its tool at ${place}`, async (t) => {
    const { isolate } = await start(t)
    // the front of miniflare keeps it to itself that a client has gone
    const url = new URL(place, await isolate.unsafeGetDirectURL())
    await withClient({ transport: http(url), era: 'auto' }, async (client) => {
      const leaving = new AbortController()
      const heard = new Promise<void>((resolve) => {
        client.callTool('hang', {}, { signal: leaving.signal, onProgress: () => resolve() }).catch(() => {})
      })
      await heard
      leaving.abort()
      await until(async () => (await client.callTool('aborted')).text === '1')
    })
  })

inWorkerd('a token is asked for, and its owner is known', async (t) => {
  const { url } = await start(t)
  const guarded = new URL('/guarded/mcp', url)
  const refused = await fetch(guarded, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  assert.is(refused.status, 401)
  assert.match(refused.headers.get('www-authenticate') ?? '', 'oauth-protected-resource/guarded/mcp')
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/guarded/mcp', url))
  const { authorization_servers: servers } = (await metadata.json()) as Record<string, unknown>
  assert.equal(servers, ['https://login.example.com'])
  const headers = { authorization: 'Bearer good' }
  await withClient({ transport: http(guarded, { headers }), era: 'auto' }, async (client) => {
    assert.is((await client.callTool('who')).text, 'ada')
  })
})

inWorkerd('a session of one isolate goes on in another', async (t) => {
  const [one, other] = [await start(t), await start(t)]
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = (url: URL, message: object, more = {}): Promise<Response> =>
    fetch(new URL('/mcp', url), {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const opened = await post(one.url, { id: 1, method: 'initialize', params })
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const call = { id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }
  assert.match(await (await post(other.url, call, session)).text(), 'hello')
})

test.run()
