import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { defineTool, files, records, sealed, type Server, subscribeServer } from 'caduceus/server'
import { type Authenticate, type HttpServeOptions, mount } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient, type Stream } from './_client.js'
import { inTurns, memorySessions } from './engine/_file-store.js'
import { makeFolder } from '../support/folder.js'
import { as, byName } from './_principals.js'
import { count, startTestServer } from './_servers.js'

const test = suite('principals', { timeout: 15_000 })
const keys = ['a secret of the tests, and of nobody else']

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => JSON.stringify(ctx.principal ?? null) })

function startIdentifying(
  t: TestContext,
  options: Parameters<typeof startTestServer>[2] = {},
  http: HttpServeOptions = {},
): Promise<Server> {
  return startTestServer(t, [count, whoami], { ...options, http: { authenticate: byName, ...http } })
}

function clientOf(t: TestContext, { url }: Server, name?: string, sessionId?: string): RawClient {
  const client = new RawClient(t, url)
  if (name !== undefined) client.own = as(name)
  client.sessionId = sessionId
  return client
}

/** What every road into a session answers. */
async function roads(client: RawClient): Promise<unknown[]> {
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const posts = [ping, `[${ping}]`, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })]
  const answers: unknown[] = []
  for (const body of posts) {
    const { status, body: said } = await client.send('POST', body, client.headers())
    answers.push([status, said])
  }
  const streams = [await client.listen(), await client.listen({ 'last-event-id': 'nonsense' })]
  answers.push(...streams.map(close))
  const { status, body } = await client.send('DELETE', undefined, client.headers())
  return [...answers, [status, body]]
}

function close(stream: Stream): number {
  stream.close()
  return stream.status
}

test('a session is 404 for other principals on every route, and works for its own', async (t) => {
  const server = await startIdentifying(t)
  const ada = await clientOf(t, server, 'ada').open()
  assert.is(await ada.text('count'), '1')
  for (const other of ['bob', 'ada@https://other.example', undefined]) {
    const known = await roads(clientOf(t, server, other, ada.sessionId))
    const unknown = await roads(clientOf(t, server, other, 'no-such-session'))
    assert.equal(known, unknown, String(other))
    assert.ok(JSON.stringify(known).match(/404/g)?.length === 6, JSON.stringify(known))
  }
  assert.is(await ada.text('count'), '2')
  assert.is((await ada.send('DELETE', undefined, ada.headers())).status, 204)
})

test('an anonymous session is not taken over by a principal', async (t) => {
  const server = await startIdentifying(t)
  const nobody = await clientOf(t, server).open()
  assert.is(await nobody.text('count'), '1')
  const ada = clientOf(t, server, 'ada', nobody.sessionId)
  assert.is((await ada.tell('notifications/initialized')).status, 404)
  assert.is(await nobody.text('count'), '2')
})

test('requests of strangers do not keep a session alive', async (t) => {
  const clock = createFakeClock()
  const server = await startIdentifying(t, { clock, timeouts: { idle: 1_000 } })
  const ended = heard<void>()
  t.after(subscribeServer('session', ({ type }) => type === 'ended' && ended.add()))
  const ada = await clientOf(t, server, 'ada').open()
  await clock.advance(900)
  for (const other of ['bob', undefined]) await roads(clientOf(t, server, other, ada.sessionId))
  await clock.advance(100)
  await ended.next()
  assert.equal(await server.sessions(), [])
})

test('a tool sees the principal', async (t) => {
  const server = await startIdentifying(t)
  const ada = await clientOf(t, server, 'ada').open()
  assert.equal(JSON.parse(await ada.text('whoami')), {
    issuer: 'https://issuer.example',
    subject: 'ada',
    clientId: 'app',
    scopes: ['read'],
  })
  const nobody = await clientOf(t, server).open()
  assert.is(await nobody.text('whoami'), 'null')
})

for (const how of ['files', 'common records', 'sealed ids'] as const) {
  test(`another program with ${how} knows the owner of a session`, async (t) => {
    const folder = makeFolder(t)
    const kept = memorySessions()
    const options = () => ({
      engine: {
        files: () => files({ folder }),
        'common records': () => inTurns(kept),
        'sealed ids': () => sealed({ keys }),
      }[how](),
    })
    const before = await startIdentifying(t, options())
    const opened = await clientOf(t, before, 'ada').open()
    const { sessionId } = opened
    assert.is(await opened.text('count'), '1')
    await before.stop()
    const after = await startIdentifying(t, options())
    for (const other of ['bob', undefined])
      assert.ok(
        (await roads(clientOf(t, after, other, sessionId))).every((answer) => /404/.test(String(answer))),
      )
    assert.equal(await after.sessions(), [], 'what is not theirs is not even brought back')
    // while others try, too
    const [mine, theirs] = await Promise.all([
      clientOf(t, after, 'ada', sessionId).text('count'),
      clientOf(t, after, 'bob', sessionId).tell('notifications/initialized'),
    ])
    assert.equal([mine, theirs.status], [how === 'sealed ids' ? '1' : '2', 404])
    const bob = clientOf(t, after, 'bob', sessionId)
    assert.is((await bob.send('DELETE', undefined, bob.headers())).status, 404)
    const ada = clientOf(t, after, 'ada', sessionId)
    assert.is((await ada.send('DELETE', undefined, ada.headers())).status, 204)
    assert.is((await ada.tell('notifications/initialized')).status, 404)
  })
}

test('records of sessions do not show the principal', async (t) => {
  const saved: object[] = []
  const store = { load: () => undefined, delete: () => {}, save: (record: object) => saved.push(record) }
  const server = await startIdentifying(t, { engine: records(store) })
  const ada = await clientOf(t, server, 'ada').open()
  await ada.text('count')
  assert.ok(saved.length >= 2)
  for (const record of saved) {
    assert.not.match(JSON.stringify(record), /\bada\b|issuer/)
    assert.match(String(Reflect.get(record, 'principal')), /^[\w-]{43}$/)
  }
})

test('timeouts.authenticate may exceed the longest timer of Node', async (t) => {
  for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31]) {
    // longer than the 1 ms that such a timer has
    const authenticate: Authenticate = async (peer, how) => setTimeout(20, byName(peer, how))
    const server = await startIdentifying(t, {}, { authenticate, timeouts: { authenticate: ms } })
    const ada = await clientOf(t, server, 'ada').open()
    assert.is(await ada.text('count'), '1')
  }
})

test('an unidentified request is 401 with a challenge; a broken check fails alone', async (t) => {
  const server = await startIdentifying(t, {}, { timeouts: { authenticate: 50 } })
  const good = await clientOf(t, server, 'ada').open()
  const answers = ['refused', 'expired', 'thrower', 'wrong', 'never'].map(async (name) => {
    const client = clientOf(t, server, name, good.sessionId)
    const { status, headers, body } = await client.tell('notifications/initialized')
    assert.not.match(body, /canary/)
    return [name, status, headers['www-authenticate'] ?? headers['retry-after']]
  })
  assert.is(await good.text('count'), '1')
  assert.equal(await Promise.all(answers), [
    ['refused', 401, 'Bearer realm="x"'],
    ['expired', 401, 'Bearer error="invalid_token", error_description="the token has expired"'],
    ['thrower', 500, undefined],
    ['wrong', 500, undefined],
    ['never', 503, '1'],
  ])
  assert.is((await server.sessions()).length, 1)
})

test('a hundred throwing checks fail their own requests only', async (t) => {
  const server = await startIdentifying(t)
  const good = await clientOf(t, server, 'ada').open()
  const failing = Array.from({ length: 100 }, () =>
    clientOf(t, server, 'thrower').tell('notifications/initialized'),
  )
  assert.is(await good.text('count'), '1')
  assert.ok((await Promise.all(failing)).every(({ status }) => status === 500))
  assert.is(await good.text('count'), '2')
})

test('authentication runs after the guard and before the body', async (t) => {
  const asked: string[] = []
  const server = await startIdentifying(
    t,
    {},
    {
      cors: true,
      allowedOrigins: ['https://app.example'],
      authenticate(peer, how) {
        asked.push(String(peer.headers.authorization))
        return byName({ ...peer, headers: { authorization: 'Bearer refused' } }, how)
      },
    },
  )
  const client = clientOf(t, server, 'ada')
  const unread = await client.send('POST', 'this is no message', client.headers())
  assert.is(unread.status, 401)
  assert.is((await client.send('POST', '{}', { ...client.headers(), host: 'evil.example' })).status, 403)
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  assert.is((await client.send('OPTIONS', undefined, preflight)).status, 204)
  assert.equal(asked, ['Bearer ada'])
})

test('a web framework passes the principal, directly or in assigns', async (t) => {
  const mcp = mount({ authenticate: ({ assigns }) => assigns?.user as never })
  await startTestServer(t, [whoami, count], { transport: mcp })
  const user = { issuer: 'accounts', subject: 'ada' }
  const host = createServer((request, response) => {
    const { authorization } = request.headers
    if (authorization === undefined) return mcp.handle(request, response, { assigns: { user } })
    mcp.handle(request, response, { principal: { issuer: 'accounts', subject: authorization } })
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    host.closeAllConnections()
    return new Promise((resolve) => host.close(resolve))
  })
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/`
  const assigned = await new RawClient(t, url).open()
  assert.equal(JSON.parse(await assigned.text('whoami')), user)
  const given = new RawClient(t, url)
  given.own = { authorization: 'ada' }
  given.sessionId = assigned.sessionId
  assert.is(await given.text('count'), '1', 'the same one')
  given.own = { authorization: 'bob' }
  assert.is((await given.tell('notifications/initialized')).status, 404)
})

test('options that identify nobody are refused at once', () => {
  assert.throws(() => mount({ authenticate: 'bearer' as never }), /authenticate: expected a function/)
  assert.throws(
    () => mount({ timeouts: { authenticate: 0 } }),
    /timeouts\.authenticate: expected milliseconds above 0/,
  )
})

test.run()
