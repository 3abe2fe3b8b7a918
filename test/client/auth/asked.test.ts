// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { oauth, type OAuthOptions } from 'caduceus/client'
import { http, sse } from 'caduceus/transports'
import { AskedTimes } from '../../../client/auth/asked.js'
import { suite, type TestContext } from '../../support/suite.js'
import { listen, type Seen, status } from '../../transports/_http.js'
import { type GuardedServer, quickSignIn, startGuarded, startOAuthServer } from './_oauth.js'
import { rejection, watch } from '../_raw.js'

const test = suite('OAuth client: how often somebody is asked', { timeout: 10_000 })

async function setup(t: TestContext, options: OAuthOptions = {}) {
  const issuer = await startOAuthServer(t)
  const server = await startGuarded(t, issuer)
  const signIn = quickSignIn()
  const auth = oauth({ signIn, ...options })
  t.after(() => auth.close())
  return { issuer, server, signIn, auth }
}

/** A server that lets nobody in at `method`: it always wants one scope more. */
async function startGreedy(t: TestContext, server: GuardedServer, wants: (seen: Seen) => boolean) {
  let scopes = 0
  const { url } = await listen(t, (seen) => {
    const address = `resource_metadata="${new URL('/.well-known/oauth-protected-resource/mcp', server.url).href}"`
    if (seen.headers.authorization === undefined)
      return status(seen, 401, { 'www-authenticate': `Bearer ${address}` })
    if (!wants(seen)) return status(seen, 500)
    const more = `Bearer error="insufficient_scope", scope="s${scopes++}", ${address}`
    return status(seen, 403, { 'www-authenticate': more })
  })
  server.metadata = { resource: new URL(url).origin }
  return url
}

for (const [what, answer] of Object.entries({
  '500': { status: 500, body: {} },
  '429': { status: 429, body: {} },
  '503 with an error': { status: 503, body: { error: 'temporarily_unavailable' } },
}))
  test(`a token endpoint that is out of order (${what}) is tried with the same code`, async (t) => {
    const { issuer, server, signIn, auth } = await setup(t)
    let left = 2
    issuer.instead = () => (left-- > 0 ? answer : undefined)
    const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
    assert.is((await client.callTool('x')).text, 'in')
    assert.is(signIn.opened.length, 1)
    const codes = issuer.of('/token').map(({ form }) => form.code)
    assert.is(codes.length, 3)
    assert.is(new Set(codes).size, 1)
  })

test('a token endpoint that stays out of order ends the attempt, once', async (t) => {
  const { issuer, server, signIn, auth } = await setup(t)
  issuer.instead = () => ({ status: 500 })
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  for (let i = 0; i < 3; i++) {
    const { message } = await rejection(client.callTool('x'))
    assert.match(message, /status 500; somebody had signed in, and is not asked again for that/)
  }
  assert.is(signIn.opened.length, 1)
  assert.is(issuer.of('/token').length, 4)
})

test('a token endpoint that hangs ends the attempt, once', async (t) => {
  const { issuer, server, signIn, auth } = await setup(t, { requestTimeout: 200 })
  issuer.silent.add('/token')
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  for (let i = 0; i < 2; i++)
    assert.match((await rejection(client.callTool('x'))).message, /is not asked again/)
  assert.is(signIn.opened.length, 1)
})

for (const [what, transport] of Object.entries({ http, sse }))
  test(`other scopes at each greeting end the client (${what})`, async (t) => {
    const { server, signIn, auth } = await setup(t)
    const url = await startGreedy(t, server, () => true)
    const { client } = watch(t, { transport: transport(url, { auth }) })
    for (let i = 0; i < 3; i++) assert.match((await rejection(client.callTool('x'))).message, /scopes/)
    assert.is(signIn.opened.length, 2)
  })

test('calls that want other scopes each time have somebody asked five times', async (t) => {
  const { server, signIn, auth } = await setup(t)
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  await client.callTool('x')
  for (let i = 0; i < 8; i++) {
    // no token has both: the server wants what it has never been asked for
    server.wants.set(`t${i}`, `scope-${i} more`)
    assert.match((await rejection(client.callTool(`t${i}`))).message, /scopes|sign in 5 times/)
  }
  assert.is(signIn.opened.length, 5)
  assert.match((await rejection(client.callTool('t7'))).message, /5 times within 10 minutes/)
  assert.is((await client.callTool('x')).text, 'in')
  // somebody who signs out wants to sign in
  await auth.signOut(server.url)
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(signIn.opened.length, 6)
})

test('whoever was asked is asked again later', () => {
  const times = new AskedTimes()
  const refused = (now: number): string => {
    try {
      times.add(now)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  for (let i = 0; i < 5; i++) assert.is(refused(i * 1_000), '')
  assert.match(refused(10_000), /not asked again for 590 s/)
  assert.is(refused(600_000), '')
  assert.match(refused(600_500), /10 minutes/)
  let asked = 6
  for (let minute = 20; minute < 24 * 60; minute += 5) if (refused(minute * 60_000) === '') asked += 1
  assert.is(asked, 50)
  assert.match(refused(86_300_000), /50 times within a day/)
})

test.run()
