import { startClient, withClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import {
  defineServer,
  defineTool,
  type RateOptions,
  type ServerEngine,
  sealed,
  startServer,
} from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { http, memory, serveHttp } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { rejection } from '../client/_raw.js'
import { suite, type TestContext } from '../support/suite.js'
import { as, byName } from './_principals.js'
import { startFake } from './nodes/_servers.js'

const test = suite('limits.rate')
const ada = { issuer: 'test', subject: 'ada', scopes: [] }
const bob = { issuer: 'test', subject: 'bob', scopes: [] }
const greet = defineTool({ name: 'greet', run: () => 'hello' })
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [greet] })
const rate: RateOptions = { calls: 3, per: 'minute' }

/** A clock on the wall that the test sets. */
function wall(date = 600_000) {
  const time = { date }
  return { time, clock: { ...systemWorld, date: () => time.date } }
}

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: each caller has so many calls in a period, and is told when it ends`, async () => {
    const { time, clock } = wall(612_000)
    await using pair = await connect(shop, {
      principal: ada,
      clock,
      server: { limits: { rate } },
      client: { era },
    })
    const { client } = pair
    const all = await Promise.all(
      Array.from({ length: 10 }, () => client.callTool('greet').catch((error: unknown) => error)),
    )
    const refused = all.filter((one) => one instanceof McpError)
    assert.is(refused.length, 7)
    for (const { code, message, data } of refused) {
      assert.equal([code, message], [429, 'too many calls: 3 a minute (limits.rate): try again in 48 s'])
      assert.equal(data, { retryable: true, retryAfter: 48_000 })
    }
    // another caller, and what is no call
    const other = startClient({
      transport: pair.connectAs(bob),
      era,
      logger: false,
    })
    assert.is((await other.callTool('greet')).text, 'hello')
    await other.close()
    assert.is((await client.listTools({ fresh: true })).tools.length, 1)
    time.date = 660_000
    assert.is((await client.callTool('greet')).text, 'hello')
  })

test('a call that asks its user counts once, and its state is good for one round', async () => {
  const ask = defineTool({
    name: 'ask',
    run: async (_args, ctx) => {
      const requestedSchema = { type: 'object' as const, properties: {} }
      return (await ctx.elicit('sure', { message: 'Sure?', requestedSchema })).action
    },
  })
  const asking = defineServer({ name: 'asking', version: '1.0.0', tools: [ask] })
  const { clock } = wall()
  await using pair = await connect(asking, {
    ...{ principal: ada, clock, server: { limits: { rate, parked: 0 } } },
    client: { era: 'modern', onElicit: () => ({ action: 'accept', content: {} }) },
  })
  const all = Array.from({ length: 5 }, () =>
    pair.client.callTool('ask').catch((error: McpError) => error.code),
  )
  const outcomes = await Promise.all(all)
  assert.is(outcomes.filter((one) => one === 429).length, 2)
  for (const one of outcomes) if (typeof one === 'object') assert.is(one.text, 'accept')
})

test('nodes count together', async (t) => {
  const { wayTo } = startFake()
  const { clock } = wall()
  const rate = { calls: 41, per: 'hour' } as const
  const servers = await Promise.all(
    [0, 1, 2].map((index) =>
      startServer(shop, {
        ...{
          engine: wayTo(index),
          clock,
          limits: { rate },
          logger: false,
          signals: false,
        },
        transport: serveHttp({ authenticate: byName }),
      }),
    ),
  )
  for (const server of servers) t.after(() => server.stop())
  const clients = servers.map(({ url }) =>
    startClient({
      transport: http(String(url), { headers: as('ada') }),
      logger: false,
    }),
  )
  for (const client of clients) t.after(() => client.close())
  const outcomes = await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 60 }, () =>
        client.callTool('greet').then(
          () => 'served',
          ({ code }) => code,
        ),
      ),
    ),
  )
  assert.is(outcomes.filter((one) => one === 'served').length, 41)
  assert.is(outcomes.filter((one) => one === 429).length, 139)
})

test('a node whose engine is away, or keeps no values, counts by itself', async (t: TestContext) => {
  const { engine, wayTo } = startFake()
  const node = async (own: ServerEngine) => {
    const pair = memory()
    const server = await startServer(shop, {
      ...{
        engine: own,
        clock: wall().clock,
        limits: { rate },
        logger: false,
        signals: false,
      },
      transport: pair.serve,
    })
    t.after(() => server.stop())
    const client = startClient({
      transport: pair.connectAs(ada),
      era: 'modern',
      logger: false,
    })
    t.after(() => client.close())
    return client
  }
  const counted = async (client: Awaited<ReturnType<typeof node>>): Promise<number> => {
    let served = 0
    for (let n = 0; n < 6; n += 1)
      served += await client.callTool('greet').then(
        () => 1,
        () => 0,
      )
    return served
  }
  assert.is(await counted(await node(sealed({ keys: ['a secret of the tests, and of nobody else'] }))), 3)
  const away = await node(wayTo(0))
  await away.callTool('greet')
  engine.stop()
  assert.is(await counted(away), 2)
})

test('an address is a caller where nobody has signed in, also one of this machine', async (t) => {
  const far = { 'x-forwarded-for': '203.0.113.7' }
  const transport = serveHttp({ trustProxy: true, authenticate: byName })
  const { clock } = wall()
  const server = await startServer(shop, {
    ...{ transport, clock, limits: { rate }, logger: false, signals: false },
  })
  t.after(() => server.stop())
  const served = async (headers: Record<string, string>): Promise<number> => {
    // each call comes in a session of its own
    const call = () =>
      withClient({ transport: http(String(server.url), { headers }), era: 'handshake' }, (client) =>
        client.callTool('greet').then(
          () => 1,
          () => 0,
        ),
      )
    return (await call()) + (await call()) + (await call()) + (await call())
  }
  assert.is(await served({}), 3)
  assert.is(await served(far), 3)
  assert.is(await served({ ...far, ...as('ada') }), 3)
})

test('who has neither a principal nor an address has no such limit', async () => {
  await using pair = await connect(shop, { server: { limits: { rate } } })
  for (let n = 0; n < 10; n += 1) await pair.client.callTool('greet')
})

test('a rate that says nothing is told', async () => {
  const start = (wrong: unknown) =>
    rejection(connect(shop, { server: { limits: { rate: wrong as RateOptions } } }))
  for (const [wrong, message] of [
    [{ calls: 0, per: 'minute' }, 'limits.rate.calls: expected a whole number above 0, got 0'],
    [
      { calls: 1, per: 'week' },
      "limits.rate.per: expected 'second' or 'minute' or 'hour' or 'day', got \"week\"",
    ],
    [{ calls: 1 }, "limits.rate.per: expected 'second' or 'minute' or 'hour' or 'day', got undefined"],
    [60, 'limits.rate: expected an object, got 60'],
  ] as const) {
    const { code, message: told } = await start(wrong)
    assert.equal([code, told], ['BAD_OPTION', message])
  }
})

test.run()
