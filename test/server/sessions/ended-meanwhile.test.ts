import * as assert from 'uvu/assert'
import { normal, resume, suspend } from 'caduceus/runtime'
import { defineTool, records, type Server, type SessionRecord, type SessionStore } from 'caduceus/server'
import type { SessionRef } from '../../../server/sessions/session-actor.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('sessions: one that ends while it is looked for')

test('an ended session is not restored by an earlier lookup', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const held: (() => void)[] = []
  let holds = false
  let told = (): void => {}
  const holding = new Promise<void>((resolve) => {
    told = resolve
  })
  const store: SessionStore = {
    async load(id) {
      const record = kept.get(id)
      if (!holds) return record
      holds = false
      await new Promise<void>((resolve) => {
        held.push(resolve)
        told()
      })
      return record
    },
    save: (record) => void kept.set(record.id, record),
    delete: (id) => void kept.delete(id),
  }
  const server = await startTestServer(t, [count], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const [session] = await server.sessions()
  const ended = new Promise((resolve) => session?.ref?.onExit(resolve))
  session?.ref?.kill()
  await ended
  holds = true
  const late = client.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'count' } })
  await holding
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is(kept.size, 0)
  for (const go of held) go()
  assert.is((await late).status, 404)
  assert.is(kept.size, 0, 'nothing of it is saved again')
})

test('an ended session is not restored by whoever has just found it', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const held: (() => void)[] = []
  let holds = false
  let told = (): void => {}
  const store: SessionStore = {
    async load(id) {
      const record = kept.get(id)
      if (holds) {
        const passed = new Promise<void>((resolve) => held.push(resolve))
        told()
        await passed
      }
      return record
    },
    save: (record) => void kept.set(record.id, record),
    delete: (id) => void kept.delete(id),
  }
  const server = await startTestServer(t, [count], { engine: records(store) })
  // the two go on in all orders, so many turns apart
  for (let by = -10; by <= 5; by++) {
    const client = await new RawClient(t, server.url).open()
    await killAll(server)
    holds = true
    const look = () =>
      new Promise<void>((resolve) => {
        told = resolve
      })
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'count' } }
    const late = client.post(call)
    await look()
    // whether it is let in was the first look
    held.pop()?.()
    await look()
    const goOn = held.pop()
    const over = client.send('DELETE', undefined, client.headers())
    await look()
    const end = held.pop()
    holds = false
    const [first, second] = by < 0 ? [end, goOn] : [goOn, end]
    first?.()
    for (let n = 0; n < Math.abs(by); n++) await undefined
    second?.()
    assert.is((await over).status, 204)
    await late
    assert.is((await client.post({ jsonrpc: '2.0', id: 8, method: 'ping' })).status, 404, String(by))
    assert.equal([(await server.sessions()).length, kept.size], [0, 0], String(by))
  }
})

test('one whose record is gone counts no more', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const store: SessionStore = {
    load: (id) => kept.get(id),
    save: (record) => {
      JSON.stringify(record)
      kept.set(record.id, record)
    },
    delete: (id) => void kept.delete(id),
  }
  const odd = defineTool({ name: 'odd', run: (_, ctx) => ctx.update('odd', () => 10n).then(() => 'taken') })
  const server = await startTestServer(t, [odd], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.ok((await client.call('odd')).error, 'it is as it was saved last')
  assert.is((await server.sessions()).length, 1)
  kept.clear()
  assert.is((await client.tell('notifications/initialized')).status, 404)
  assert.is((await server.sessions()).length, 0)
})

for (const method of ['DELETE', 'GET'] as const)
  for (const [how, reason, expected] of [
    ['ends', normal, 404],
    ['crashes', { type: 'crash', error: new Error('once') }, method === 'GET' ? 200 : 204],
  ] as const)
    test(`a ${method} behind the moment when a session ${how} is answered ${expected}`, async (t) => {
      const server = await startTestServer(t, [count])
      const client = await new RawClient(t, server.url).open()
      const ref = server.registry.whereis(`test/session ${client.sessionId}`) as SessionRef
      // it is at work for some turns yet: what comes now is behind the end
      for (let n = 0; n < 9_000; n += 1) ref.cast('missed')
      const ended = ref.stop(reason)
      const headers = { ...client.headers(), accept: 'text/event-stream' }
      const answered = fetch(client.url, { method, headers })
      await ended
      const { status, body } = await answered
      assert.is(status, expected)
      await body?.cancel()
    })

test('a session for which too much waits is told to be busy, and serves again', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const ref = server.registry.whereis(`test/session ${client.sessionId}`) as SessionRef
  await suspend(ref)
  for (let n = 0; n < 10_000; n += 1) ref.cast('missed')
  for (const method of ['GET', 'DELETE']) {
    const headers = { ...client.headers(), accept: 'text/event-stream' }
    const { status, headers: told } = await client.send(method, undefined, headers)
    assert.equal([status, told['retry-after']], [503, '1'], method)
  }
  assert.is((await client.tell('notifications/initialized')).status, 503)
  await resume(ref)
  assert.is(await client.text('count'), '1')
})

test('an ended session is not restored by a later save', async (t) => {
  const kept = new Map<string, SessionRecord>()
  let go = (): void => {}
  const held = new Promise<void>((resolve) => {
    go = resolve
  })
  let told = (): void => {}
  const holding = new Promise<void>((resolve) => {
    told = resolve
  })
  let holds = false
  let deleted = 0
  const store: SessionStore = {
    load: (id) => kept.get(id),
    async save(record) {
      if (holds) {
        told()
        await held
      }
      kept.set(record.id, record)
    },
    async delete(id) {
      deleted += 1
      kept.delete(id)
    },
  }
  const server = await startTestServer(t, [count], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  holds = true
  const late = client.call('count').catch(() => undefined)
  await holding
  const over = client.send('DELETE', undefined, client.headers())
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < 20; n++) await turn()
  assert.is(deleted, 0, 'it waits for the save')
  go()
  assert.is((await over).status, 204)
  await late
  assert.equal([...kept.keys()], [])
})

async function killAll(server: Server): Promise<void> {
  for (const { ref } of await server.sessions()) {
    const ended = new Promise((resolve) => ref?.onExit(resolve))
    ref?.kill()
    await ended
  }
}

test.run()
