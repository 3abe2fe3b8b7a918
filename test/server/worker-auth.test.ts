// second tier: third party
// time limit: 120 s
import { http, withClient } from 'caduceus'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'
import {
  type AuthorizationServer,
  resource,
  startAuthorizationServer,
} from '../transports/auth/_authorization-server.js'

const test = suite('a Worker that checks tokens', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const key = '0123456789abcdef0123456789abcdef'
const program = hasWorkerd
  ? bundleWorker(`export { worker as default, Sessions } from './test/server/_worker-auth.ts'`)
  : undefined

/** A Worker, with an authorization server on this machine that it asks. */
async function start(t: TestContext) {
  const issuer = await startAuthorizationServer(t)
  const { text } = (await program) ?? { text: '' }
  const bindings = { KEY: key, ISSUER: issuer.issuer }
  const { url, isolate } = await startWorker(t, text, { bindings, durableObjects: { SESSIONS: 'Sessions' } })
  return { issuer, url, isolate }
}

/** A plain Worker, an object with one server for all, and a Worker that asks the issuer about each token. */
const places = ['/mcp', '/object/mcp', '/asked/mcp']

/** A token that is good at all places. */
async function tokenOf(issuer: AuthorizationServer, place: string, sub = 'grace'): Promise<string> {
  if (!place.startsWith('/asked')) return issuer.issue({ sub })
  const token = `opaque-${sub}`
  issuer.opaque.set(token, { iss: issuer.issuer, sub, aud: resource })
  return token
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})

inWorkerd('who has no token is told where to get one', async (t) => {
  const { issuer, url } = await start(t)
  for (const place of places) {
    const refused = await fetch(new URL(place, url), { method: 'POST', headers: json, body: initialize })
    assert.is(refused.status, 401, place)
    const [, found = ''] =
      /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? []
    const metadata = await fetch(new URL(new URL(found).pathname, url))
    assert.is(metadata.status, 200, place)
    const said = (await metadata.json()) as Record<string, unknown>
    assert.equal([said.resource, said.authorization_servers], [resource, [issuer.issuer]], place)
  }
  assert.equal(issuer.asked, [])
})

inWorkerd('a token that is of nobody, of another, or too old is refused', async (t) => {
  const { issuer, url } = await start(t)
  const wrong = [
    await issuer.issue({ aud: 'https://other.example.com/mcp' }),
    await issuer.issue({ exp: Math.floor(Date.now() / 1_000) - 60 }),
    `${await issuer.issue()}x`,
    'made-up',
  ]
  for (const place of places)
    for (const token of wrong) {
      const headers = { ...json, authorization: `Bearer ${token}` }
      const refused = await fetch(new URL(place, url), { method: 'POST', headers, body: initialize })
      assert.is(refused.status, 401, place)
      assert.match(refused.headers.get('www-authenticate') ?? '', 'invalid_token')
    }
})

inWorkerd('a tool knows whose token came, and a session keeps state', async (t) => {
  const { issuer, url } = await start(t)
  for (const place of places)
    for (const era of ['handshake', 'auto'] as const) {
      const headers = { authorization: `Bearer ${await tokenOf(issuer, place)}` }
      await withClient({ transport: http(new URL(place, url), { headers }), era }, async (client) => {
        assert.is((await client.callTool('who')).text, 'grace', place)
        if (era === 'auto') return
        for (const expected of ['1', '2'])
          assert.is((await client.callTool('count')).text, expected, `${place} ${era}`)
      })
    }
  const keys = issuer.asked.filter((one) => one === 'GET /jwks')
  assert.is(keys.length, 2) // once for each verifier, however many requests there are
})

inWorkerd('a session is of the user whose token opened it', async (t) => {
  const { issuer, url } = await start(t)
  for (const place of places) {
    const as = async (sub: string, more = {}): Promise<Response> => {
      const headers = { ...json, ...more, authorization: `Bearer ${await tokenOf(issuer, place, sub)}` }
      return fetch(new URL(place, url), { method: 'POST', headers, body: more === none ? initialize : ping })
    }
    const opened = await as('grace', none)
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    assert.equal([(await as('grace', session)).status, (await as('ada', session)).status], [200, 404], place)
  }
})

const none = {}
const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })

inWorkerd('a question is put to the user whose token came', async (t) => {
  const { issuer, url } = await start(t)
  const onElicit = () => ({ action: 'accept' as const, content: { amount: 3 } })
  for (const [place, era] of [
    ['/object/mcp', 'handshake'],
    ['/object/mcp', 'auto'],
    ['/mcp', 'auto'],
    ['/asked/mcp', 'auto'],
  ] as const) {
    const headers = { authorization: `Bearer ${await tokenOf(issuer, place)}` }
    const transport = http(new URL(place, url), { headers })
    await withClient({ transport, era, onElicit }, async (client) => {
      assert.is((await client.callTool('order')).text, 'grace: accept 3', `${place} ${era}`)
    })
  }
})

for (const place of ['/mcp', '/bare/mcp', '/object/mcp', '/asked/mcp'])
  inWorkerd(`who leaves while a token is checked costs no other at ${place}`, async (t) => {
    const { issuer, isolate } = await start(t)
    // the front of miniflare keeps it to itself that a client has gone
    const url = new URL(place, await isolate.unsafeGetDirectURL())
    const headers = { ...json, authorization: `Bearer ${await tokenOf(issuer, place)}` }
    const post = (signal?: AbortSignal): Promise<Response> =>
      fetch(url, { method: 'POST', headers, body: initialize, ...(signal && { signal }) })
    issuer.silent = true
    const leaving = new AbortController()
    const asked = new Promise<void>((resolve) => {
      issuer.onAsked = resolve
    })
    const left = post(leaving.signal).catch(() => {})
    await asked
    leaving.abort()
    await left
    issuer.silent = false
    // at first a check of it may be shared that is on its way
    let response = await post()
    if (response.status === 503) response = await post()
    assert.is(response.status, 200)
  })

test.run()
