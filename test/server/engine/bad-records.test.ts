import * as assert from 'uvu/assert'
import { records, type SessionRecord, type SessionStore } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('server bad records')
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/** A store whose records a test exchanges for anything. */
function looseStore() {
  const kept = new Map<string, unknown>()
  const store: SessionStore = {
    load: (id) => kept.get(id) as SessionRecord | undefined,
    save: (record) => void kept.set(record.id, record),
    delete: (id) => void kept.delete(id),
  }
  return { store, kept }
}

async function start(t: TestContext) {
  const { store, kept } = looseStore()
  const server = await startTestServer(t, [count], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const id = String(client.sessionId)
  const good = kept.get(id) as SessionRecord
  /** Leaves nothing of the session but this. */
  const exchange = async (record: unknown): Promise<void> => {
    for (const { ref } of await server.sessions()) ref?.kill()
    kept.set(id, record)
  }
  return { server, client, id, good, kept, exchange }
}

const damages: { readonly [name: string]: (good: SessionRecord) => unknown } = {
  'a number': () => 5,
  'a text': () => 'record',
  'a list': (good) => [good],
  'an empty object': () => ({}),
  'the record of another session': (good) => ({ ...good, id: 'another' }),
  'one without a client': ({ client: _, ...good }) => good,
  'one with a version that is no number': (good) => ({ ...good, version: Number.NaN }),
  'one with a catalog that is a text': (good) => ({ ...good, catalog: '1' }),
  'one without state': (good) => ({ ...good, state: null }),
  'one with a principal that is no text': (good) => ({ ...good, principal: {} }),
  'one with a level that is none': (good) => ({ ...good, logLevel: 'loud' }),
  'one with subscriptions that are no list': (good) => ({ ...good, subscriptions: 5 }),
  'one with a subscription that is no uri': (good) => ({ ...good, subscriptions: [null] }),
}

for (const [name, damage] of Object.entries(damages))
  test(`an unusable record is 404 and deleted: ${name}`, async (t) => {
    const { server, client, id, good, kept, exchange } = await start(t)
    const other = await new RawClient(t, server.url).open()
    await exchange(damage(good))
    assert.is((await client.post(ping)).status, 404)
    assert.is(kept.has(id), false)
    await exchange(damage(good))
    assert.is((await client.listen()).status, 404)
    await exchange(damage(good))
    assert.is((await client.send('DELETE', undefined, client.headers())).status, 404)
    assert.is(kept.has(id), false)
    assert.is(await other.text('count'), '1')
  })

test('a store may answer null for an unknown session', async (t) => {
  const { client, exchange } = await start(t)
  await exchange(null)
  assert.is((await client.post(ping)).status, 404)
})

test('a record of an unserved revision is 404 and stays for a program that serves it', async (t) => {
  const { client, id, good, kept, exchange } = await start(t)
  await exchange({ ...good, revision: '2099-01-01' })
  assert.is((await client.post(ping, { 'mcp-protocol-version': '2025-03-26' })).status, 404)
  assert.is(kept.has(id), true)
})

test('a store that cannot load fails requests of that session until it can', async (t) => {
  const { store } = looseStore()
  let isAway = false
  const load = (id: string) => {
    if (isAway) throw new Error('the store is away')
    return store.load(id)
  }
  const server = await startTestServer(t, [count], { engine: records({ ...store, load }) })
  const client = await new RawClient(t, server.url).open()
  for (const { ref } of await server.sessions()) ref?.kill()
  isAway = true
  for (const filler of ['', 'x'.repeat(100_000)]) {
    const { error } = await client.ask('tools/call', { name: 'count', _meta: { 'example.com/x': filler } })
    assert.is(error?.code, -32603)
  }
  isAway = false
  assert.is(await client.text('count'), '1')
})

test.run()
