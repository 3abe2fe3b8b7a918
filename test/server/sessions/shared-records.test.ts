import { createFakeClock } from 'caduceus/runtime'
import { defineTool, records, type SessionRecord } from 'caduceus/server'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('sessions: programs that share records')
const idle = 600_000
const hibernateAfter = 30_000
const look = defineTool({ name: 'look', run: () => 'x' })

/** Two programs that serve one session, the second of which may be cut off from the store. */
async function startPair(t: TestContext) {
  const kept = new Map<string, SessionRecord>()
  const outage = { isOn: false }
  const begin = async (isFragile: boolean) => {
    const clock = createFakeClock()
    const engine = records({
      shared: true,
      load: (id) => kept.get(id),
      save: (saved) => {
        if (isFragile && outage.isOn) throw new Error('the store is away')
        if ((kept.get(saved.id)?.version ?? 0) <= saved.version) kept.set(saved.id, saved)
      },
      delete: (id) => void kept.delete(id),
    })
    const server = await startTestServer(t, [count, look], {
      clock,
      engine,
      timeouts: { idle, hibernateAfter },
    })
    return { clock, client: new RawClient(t, server.url) }
  }
  const [here, there] = [await begin(false), await begin(true)]
  await here.client.open()
  Object.assign(there.client, { sessionId: here.client.sessionId, lastId: 1_000 })
  const counts = async (who: typeof here): Promise<number> => Number(await who.client.text('count'))
  return { here, there, counts, outage }
}

test('one that is quiet after it has looked writes over nothing', async (t) => {
  const { here, there, counts } = await startPair(t)
  assert.equal([await counts(here), await counts(there), await counts(here)], [1, 2, 3])
  await there.client.text('look')
  assert.equal([await counts(here), await counts(here)], [4, 5])
  await there.clock.advance(hibernateAfter + 1_000)
  assert.equal([await counts(here), await counts(there)], [6, 7])
})

test('one that is quiet after it has brought the session back writes over nothing', async (t) => {
  const { here, there, counts } = await startPair(t)
  assert.is(await counts(here), 1)
  await there.client.text('look')
  assert.equal([await counts(here), await counts(here)], [2, 3])
  await there.clock.advance(hibernateAfter + 1_000)
  assert.equal([await counts(here), await counts(there)], [4, 5])
})

test('one with a stream writes over nothing while others call', async (t) => {
  const { here, there, counts } = await startPair(t)
  assert.equal([await counts(here), await counts(there)], [1, 2])
  const stream = await there.client.listen()
  assert.equal([await counts(here), await counts(here)], [3, 4])
  await there.clock.advance(idle / 2 + 1_000)
  assert.is(await counts(here), 5)
  stream.close()
})

test('one whose save has failed goes on with what others have saved', async (t) => {
  const { here, there, counts, outage } = await startPair(t)
  assert.equal([await counts(here), await counts(there), await counts(here)], [1, 2, 3])
  outage.isOn = true
  assert.is((await there.client.call('count')).error?.code, -32603)
  outage.isOn = false
  for (const n of [4, 5, 6, 7]) assert.is(await counts(here), n)
  assert.is(await counts(there), 8)
})

test.run()
