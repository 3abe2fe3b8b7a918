import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { records, type SessionRecord, type SessionStore } from 'caduceus/server'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo, startTestServer } from '../_servers.js'

const test = suite('a store that does not answer')

test('a call whose save hangs fails after 5 s, and the session continues', async (t) => {
  const clock = createFakeClock()
  const saves = heard<'asked'>()
  const gone = { is: false }
  const store: SessionStore = {
    load: () => undefined,
    save() {
      if (!gone.is) return undefined
      saves.add('asked')
      return new Promise(() => {})
    },
    delete: () => undefined,
  }
  const server = await startTestServer(t, [count, echo], { clock, engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  gone.is = true
  const call = client.call('count')
  await saves.next()
  assert.is(await client.text('echo', { text: 'still here' }), 'still here')
  await clock.advance(5_000)
  assert.is((await call).error?.code, -32603)
  gone.is = false
  assert.is(await client.text('count'), '2')
})

for (const shared of [true, false])
  test(`a ${shared ? '' : 'not '}shared store saves readiness ${shared ? 'at once, and once' : 'with the next save'}`, async (t) => {
    const saved: (true | undefined)[] = []
    const store: SessionStore = {
      shared,
      load: (id) => kept.get(id),
      save(record) {
        kept.set(record.id, record)
        saved.push(record.initialized)
      },
      delete: (id) => void kept.delete(id),
    }
    const kept = new Map<string, SessionRecord>()
    const server = await startTestServer(t, [count], { engine: records(store) })
    const client = await new RawClient(t, server.url).open()
    await client.tell('notifications/initialized')
    assert.equal(saved, shared ? [undefined, true] : [undefined])
    assert.is(await client.text('count'), '1')
    assert.is(saved.at(-1), true)
  })

test.run()
