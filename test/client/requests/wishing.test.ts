import * as assert from 'uvu/assert'
import { type CallOptions, type Client, startClient } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { scriptedServer } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('wishes before there is a connection', { timeout: 15_000 })

const wishes: Readonly<Record<string, (client: Client, options: CallOptions) => Promise<unknown>>> = {
  subscribe: (client, options) => client.subscribe('x:1', options),
  unsubscribe: (client, options) => client.unsubscribe('x:1', options),
  setLevel: (client, options) => client.setLevel('debug', options),
}
const script = {
  'resources/subscribe': () => undefined,
  'resources/unsubscribe': () => undefined,
  'logging/setLevel': () => undefined,
}

for (const [name, wish] of Object.entries(wishes)) {
  test(`${name} rejects at once when aborted, and need not wait to connect`, async (t) => {
    const clock = createFakeClock()
    const { transport } = scriptedServer(script, { refuse: Number.POSITIVE_INFINITY })
    const client = startClient({ transport, clock, logger: false })
    t.after(() => client.close())
    const aborter = new AbortController()
    const given = rejection(wish(client, { signal: aborter.signal }))
    aborter.abort(new Error('enough'))
    const error = await given
    assert.equal([error.code, error.data, error.retryable], ['CANCELLED', { sent: false }, false])
    assert.match(error.message, 'enough')
    const unready = await rejection(wish(client, { wait: false }))
    assert.equal([unready.code, unready.data], ['NOT_READY', { sent: false }])
    const late = rejection(wish(client, { timeout: 300 }))
    await clock.advance(300)
    assert.is((await late).code, 'NOT_READY')
  })

  test(`the timeout of ${name} starts before there is a connection`, async (t) => {
    const clock = createFakeClock()
    const server = scriptedServer(script, { refuse: Number.POSITIVE_INFINITY })
    const client = startClient({
      transport: server.transport,
      clock,
      logger: false,
      backoff: { base: 100, cap: 100 },
    })
    t.after(() => client.close())
    const wished = rejection(wish(client, { timeout: 1_000 }))
    await clock.advance(600)
    server.refuse(0)
    const method = { subscribe: 'resources/subscribe', unsubscribe: 'resources/unsubscribe' }[name]
    const arrived = server.next(method ?? 'logging/setLevel')
    await clock.advance(200)
    await arrived
    let ended = false
    void wished.then(() => {
      ended = true
    })
    await clock.advance(199)
    assert.is(ended, false)
    await clock.advance(1)
    assert.is((await wished).code, 'TIMEOUT')
    assert.is(clock.now(), 1_000)
  })
}

test('an aborted subscription stops waiting for its stream at once', async (t) => {
  const server = scriptedServer({
    'server/discover': () => ({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { resources: { subscribe: true } },
      serverInfo: { name: 'scripted', version: '1.0.0' },
      ttlMs: 0,
      cacheScope: 'private',
    }),
    'subscriptions/listen': () => undefined,
  })
  const client = startClient({ transport: server.transport, era: 'modern', logger: false })
  t.after(() => client.close())
  await client.ready()
  const aborter = new AbortController()
  const given = rejection(client.subscribe('x:1', { signal: aborter.signal }))
  await server.next('subscriptions/listen')
  aborter.abort(new Error('enough'))
  const error = await given
  assert.equal([error.code, error.data], ['CANCELLED', { sent: true }])
})

test.run()
