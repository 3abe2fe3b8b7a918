import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { TokenExchange } from '../../../transports/auth/token-exchange.js'
import { type Principal, TransportError } from 'caduceus/transports'
import type { KeptValue, Values } from '../../../transports/contract/values.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('exchange of tokens')
const ada = { issuer: 'https://login.example', subject: 'ada' }
const hour = 3_600_000

/** An exchange at a provider that numbers its tokens, and a clock that the test sets. */
async function start(t: TestContext, { expiresIn = 300 } = {}) {
  const time = { ms: 0 }
  const world = { ...systemWorld, date: () => time.ms, now: () => time.ms }
  const kept = new Map<string, KeptValue & { readonly until: number }>()
  let sets = 0
  const at = (key: string) => {
    const found = kept.get(key)
    return found !== undefined && found.until > time.ms ? found : undefined
  }
  const values: Values = {
    get: async (key) => at(key),
    async set(key, text, { ttl, was }) {
      if (at(key)?.tag !== was?.tag) return false
      sets += 1
      if (text === undefined) kept.delete(key)
      else kept.set(key, { text, tag: `${time.ms} ${text}`, until: time.ms + ttl })
      return true
    },
  }
  const traded: URLSearchParams[] = []
  const provider = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    traded.push(new URLSearchParams(Buffer.concat(chunks).toString()))
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ access_token: `t${traded.length}`, expires_in: expiresIn, token_type: 'Bearer' }),
    )
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  t.after(() => {
    provider.closeAllConnections()
    provider.close()
  })
  const tokenUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token`
  const exchange = new TokenExchange(values, world)
  const own = { tokenUrl, client: { id: 'gateway', secret: 's' } }
  const tokenFor = (resource: string) =>
    exchange.tokenFor(
      { ...own, resource },
      { server: 'mail', principal: ada, refused: undefined, subject: undefined },
    )
  return { time, exchange, traded, own, tokenFor, kept, values, sets: () => sets }
}

test('a token that was traded for one server is for no other one of its name', async (t) => {
  const { exchange, traded, tokenFor } = await start(t)
  exchange.heard(ada, 'own')
  assert.is(await tokenFor('https://a.example/mcp'), 't1')
  assert.is(await tokenFor('https://a.example/mcp'), 't1')
  assert.is(await tokenFor('https://b.example/mcp'), 't2')
  assert.equal(
    traded.map((form) => form.get('resource')),
    ['https://a.example/mcp', 'https://b.example/mcp'],
  )
})

test('the token of a caller is at hand as long as they come with it', async (t) => {
  const { time, exchange, traded, tokenFor } = await start(t)
  for (const minutes of [0, 20, 59, 61, 120, 121, 600]) {
    time.ms = minutes * 60_000
    exchange.heard({ ...ada, expiresAt: 24 * hour }, 'of a day')
    await tokenFor('https://a.example/mcp')
  }
  assert.ok(traded.length >= 5)
  assert.ok(traded.every((form) => form.get('subject_token') === 'of a day'))
})

test('a provider that is away is asked after pauses that grow', async (t) => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.writeHead(500).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { exchange, time } = await start(t)
  exchange.heard(ada, 'own')
  const tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`
  const options = { tokenUrl, client: { id: 'gateway', secret: 's' } }
  const request = { server: 'mail', principal: ada, refused: undefined, subject: undefined }
  for (let n = 0; n < 400; n += 1) {
    const error = await exchange.tokenFor(options, request).catch((cause: Error) => cause)
    assert.match(String(error), /500|away|available/)
    time.ms += 100
  }
  assert.ok(asked >= 5 && asked <= 9, `${asked} in 40 s`)
})

test('a token that lasts a few seconds is traded once in half of them', async (t) => {
  const { exchange, traded, tokenFor, time } = await start(t, { expiresIn: 8 })
  exchange.heard(ada, 'own')
  for (time.ms = 0; time.ms < 8_000; time.ms += 500) await tokenFor('https://a.example/mcp')
  assert.is(traded.length, 2)
})

test('tokens of one person that are good for other things are traded each', async (t) => {
  const { exchange, traded, own } = await start(t)
  const of = (claims: Principal['claims']) => ({
    ...ada,
    clientId: 'host',
    scopes: ['mcp'],
    claims: claims ?? {},
  })
  const call = async (principal: Principal): Promise<string> => {
    exchange.heard(principal, `of ${JSON.stringify(principal.claims)}`)
    const request = { server: 'mail', principal, refused: undefined, subject: undefined }
    return await exchange.tokenFor({ ...own, resource: 'https://a.example/mcp' }, request)
  }
  assert.is(await call(of({ org_id: 'A', permissions: ['read', 'write'], iat: 1 })), 't1')
  assert.is(await call(of({ org_id: 'B', permissions: ['read', 'write'] })), 't2')
  assert.is(await call(of({ org_id: 'A', permissions: ['read'] })), 't3')
  assert.is(await call(of({ org_id: 'A', permissions: ['read'], act: { sub: 'support' } })), 't4')
  assert.is(await call(of({ org_id: 'A', permissions: ['read'], act: { support: 'sub' } })), 't5')
  // renewed, and told in another order
  assert.is(await call(of({ jti: '2', permissions: ['write', 'read'], org_id: 'A', iat: 2, exp: 9 })), 't1')
  assert.is(traded.length, 5)
})

test('of two tokens that come at once the newer one counts', async (t) => {
  const { traded, exchange, tokenFor, time } = await start(t)
  for (const token of ['older', 'newer']) exchange.heard(ada, token)
  await tokenFor('https://a.example/mcp')
  time.ms = 10 * 60_000
  await tokenFor('https://a.example/mcp')
  assert.equal(
    traded.map((form) => form.get('subject_token')),
    ['newer', 'newer'],
  )
})

test('of one user so many tokens are kept, and the oldest makes room', async (t) => {
  const { exchange, own, kept, values } = await start(t)
  const of = (kind: string) => [...kept.keys()].filter((key) => key.startsWith(`upstream ${kind} `)).length
  const by = (n: number): Principal => ({ ...ada, clientId: `program ${n}` })
  const trade = (n: number) =>
    exchange.tokenFor(own, { server: 'mail', principal: by(n), refused: undefined, subject: undefined })
  const bob = { ...ada, subject: 'bob' }
  exchange.heard(bob, 'of bob')
  for (let n = 0; n < 150; n += 1) {
    exchange.heard(by(n), `token ${n}`)
    await trade(n)
  }
  // one list for each of two users, one for each kind of token
  assert.equal([of('came') - 2, of('traded') - 1], [129, 32])
  assert.is(await trade(149), 't150')
  // traded once more: that of before has made room
  assert.is(await trade(100), 't151')
  const error = await new TokenExchange(values, { ...systemWorld, date: () => 0 })
    .tokenFor(own, { server: 'mail', principal: by(1), refused: undefined, subject: undefined })
    .catch((cause: Error) => cause)
  assert.match(String(error), 'without a token')
})

test('a token that a provider says is good for ever is kept for a day', async (t) => {
  const { exchange, traded, tokenFor, time } = await start(t, { expiresIn: 1e300 })
  exchange.heard(ada, 'own')
  await tokenFor('https://a.example/mcp')
  time.ms = 24 * hour
  exchange.heard(ada, 'own')
  await tokenFor('https://a.example/mcp')
  assert.is(traded.length, 2)
})

test.slow('of 10,000 callers it is known here that their token is kept', async (t) => {
  const { exchange, sets } = await start(t)
  const come = (n: number) => exchange.heard({ ...ada, subject: `user ${n}` }, 'token')
  for (let n = 0; n < 10_001; n += 1) come(n)
  await settled()
  const before = sets()
  come(10_000)
  await settled()
  assert.is(sets(), before)
  come(0)
  await settled()
  assert.is(sets(), before + 2)
})

test.slow('of 10,000 trades it is known here that they have failed', async (t) => {
  const { exchange, own } = await start(t)
  let asked = 0
  const away = async (): Promise<string> => {
    asked += 1
    throw new TransportError('AUTHORIZATION_UNAVAILABLE', 'away', { retryable: true })
  }
  const fail = async (n: number): Promise<void> => {
    const principal = { ...ada, subject: `user ${n}` }
    const request = { server: 'mail', principal, refused: undefined, subject: away }
    await exchange.tokenFor(own, request).catch(() => {})
  }
  for (let n = 0; n < 10_001; n += 1) await fail(n)
  await fail(10_000)
  assert.is(asked, 10_001)
  await fail(0)
  assert.is(asked, 10_002)
})

/** All that was begun here has come to its end: nothing of it waits for a clock. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

test.run()
