import * as assert from 'uvu/assert'
import { records, type SessionInfo, type SessionRecord, type SessionStore } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('sessions: a save that comes late')

test('a late save of an ended actor does not undo the next one', async (t) => {
  const kept = new Map<string, SessionRecord>()
  const held: (() => void)[] = []
  let holds = false
  let told = (): void => {}
  const holding = new Promise<void>((resolve) => {
    told = resolve
  })
  const keep = (record: SessionRecord): void => {
    const known = kept.get(record.id)
    if (known === undefined || known.version <= record.version) kept.set(record.id, record)
  }
  const store: SessionStore = {
    load: (id) => kept.get(id),
    async save(record) {
      if (holds) {
        holds = false
        const passed = new Promise<void>((resolve) => held.push(resolve))
        told()
        await passed
      }
      keep(record)
    },
    delete: (id) => void kept.delete(id),
  }
  const server = await startTestServer(t, [count], { engine: records(store) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  holds = true
  const lost = client.call('count', { by: 100 })
  await holding
  await kill((await server.sessions())[0])
  assert.ok((await lost).error, 'nobody knows whether it was done')
  assert.is(await client.text('count', { by: 10 }), '11')
  for (const go of held) go()
  await kill((await server.sessions())[0])
  assert.is(await client.text('count', { by: 0 }), '11', 'what was acknowledged stays')
})

async function kill(session: SessionInfo | undefined): Promise<void> {
  const ended = new Promise((resolve) => session?.ref?.onExit(resolve))
  session?.ref?.kill()
  await ended
}

test.run()
