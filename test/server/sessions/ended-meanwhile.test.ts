import * as assert from 'uvu/assert'
import { records, type SessionRecord, type SessionStore } from 'caduceus/server'
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

test.run()
