import { createFakeClock } from 'caduceus/runtime'
import { defineServer, defineTool, records, type SessionRecord, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('sessions: programs that share records')
const idle = 600_000
const hibernateAfter = 30_000
const request = 2_000
const look = defineTool({ name: 'look', run: () => 'x' })
const odd = defineTool({ name: 'odd', run: (_args, ctx) => ctx.update('odd', () => 10n).then(() => 'taken') })

/** Something that comes about, to be waited for. */
function signal() {
  let tell = (): void => {}
  const told = new Promise<void>((resolve) => {
    tell = resolve
  })
  return { told, tell }
}

/** Two programs that serve one session, the second of which may be cut off from the store. */
async function startPair(t: TestContext, { quiet = hibernateAfter } = {}) {
  const kept = new Map<string, SessionRecord>()
  const outage = { isOn: false, holds: false, begun: signal(), fail: (_error: Error): void => {} }
  const handler = { begun: signal(), end: signal() }
  const hold = (): Promise<never> =>
    new Promise((_resolve, reject) => {
      Object.assign(outage, { holds: false, fail: reject })
      outage.begun.tell()
    })
  const begin = async (isFragile: boolean) => {
    const clock = createFakeClock()
    const engine = records({
      shared: true,
      load: (id) => kept.get(id),
      save: (saved) => {
        if (isFragile && outage.isOn) throw new Error('the store is away')
        if (isFragile && outage.holds) return hold()
        JSON.stringify(saved)
        if ((kept.get(saved.id)?.version ?? 0) <= saved.version) kept.set(saved.id, saved)
        return undefined
      },
      delete: (id) => void kept.delete(id),
    })
    const definition = defineServer({
      ...{ name: 'test', version: '1', tools: [count, look, odd] },
      notifications: {
        'test/add': async (_params, ctx) => {
          await ctx.update<number>('count', (n = 0) => n + 100)
          handler.begun.tell()
          await handler.end.told
        },
      },
    })
    const timeouts = { idle, hibernateAfter: quiet, request }
    const transport = serveHttp()
    const server = await startServer(definition, { transport, logger: false, clock, engine, timeouts })
    t.after(() => server.stop())
    return { clock, client: new RawClient(t, server.url) }
  }
  const [here, there] = [await begin(false), await begin(true)]
  await here.client.open()
  Object.assign(there.client, { sessionId: here.client.sessionId, lastId: 1_000 })
  const counts = async (who: typeof here): Promise<number> => Number(await who.client.text('count'))
  return { here, there, counts, outage, handler }
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

for (const how of ['is cancelled', 'takes too long'])
  test(`one whose request ${how} while it is saved goes on with what others have saved`, async (t) => {
    const { here, there, counts, outage } = await startPair(t)
    assert.equal([await counts(here), await counts(there)], [1, 2])
    outage.holds = true
    const bad = there.client.call('count', { by: 100 }).catch(String)
    await outage.begun.told
    if (how === 'takes too long') await there.clock.advance(request + 100)
    else await there.client.tell('notifications/cancelled', { requestId: there.client.lastId })
    await bad
    assert.is(await counts(here), 3)
    outage.fail(new Error('the store is away'))
    assert.equal([await counts(there), await counts(here)], [4, 5])
  })

test('a notification that is out of time while it is saved writes over nothing', async (t) => {
  const { here, there, counts, outage, handler } = await startPair(t, { quiet: idle })
  assert.equal([await counts(here), await counts(there)], [1, 2])
  await there.client.tell('test/add')
  await handler.begun.told
  await there.clock.advance(58_000)
  outage.holds = true
  handler.end.tell()
  await outage.begun.told
  await there.clock.advance(3_000)
  assert.is(await counts(here), 3)
  outage.fail(new Error('the store is away'))
  assert.equal([await counts(there), await counts(here)], [4, 5])
})

test('a notification meets a session that comes back as it was', async (t) => {
  const { there, outage } = await startPair(t)
  const client = new RawClient(t, String(there.client.url))
  const { headers } = await client.post(initialize())
  client.sessionId = String(headers['mcp-session-id'])
  outage.holds = true
  const confirmed = client.tell('notifications/initialized')
  await outage.begun.told
  assert.is((await client.call('odd')).error?.data?.retryable, false)
  assert.is((await confirmed).status, 202)
  outage.fail(new Error('the store is away'))
  assert.is(await client.text('look'), 'x')
})

/** A program whose store forgets what is not saved for `idle`, and may fail. */
async function startForgetful(t: TestContext, shared: boolean, timeouts: object) {
  const clock = createFakeClock()
  const kept = new Map<string, { readonly record: SessionRecord; readonly at: number }>()
  const outage = { fails: 0 }
  const live = (id: string): SessionRecord | undefined => {
    const found = kept.get(id)
    return found !== undefined && found.at > clock.now() - idle ? found.record : undefined
  }
  const engine = records({
    ...(shared && { shared }),
    load: live,
    save: (record) => {
      if (outage.fails-- > 0) throw new Error('the store is away')
      if ((live(record.id)?.version ?? 0) <= record.version) kept.set(record.id, { record, at: clock.now() })
    },
    delete: (id) => void kept.delete(id),
  })
  const server = await startTestServer(t, [count, look], { clock, engine, timeouts: { idle, ...timeouts } })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  return { clock, outage, server, client, isKept: () => live(String(client.sessionId)) !== undefined }
}

for (const shared of [true, false])
  for (const hibernateAfter of [30_000, Number.POSITIVE_INFINITY]) {
    const how = `${shared ? 'shared' : 'of its own'}, ${hibernateAfter} ms`
    test(`one with a stream outlasts a save that fails once: ${how}`, async (t) => {
      const { clock, outage, client, isKept } = await startForgetful(t, shared, { hibernateAfter })
      const stream = await client.listen()
      outage.fails = 1
      for (let n = 0; n < 140; n++) {
        await clock.advance(10_000)
        assert.ok(isKept(), `after ${n} times 10 s`)
      }
      assert.is(outage.fails < 0, true)
      assert.is(await client.text('count'), '2')
      stream.close()
    })
  }

test('one that is brought back shows its store that it is in use', async (t) => {
  const { clock, server, client } = await startForgetful(t, true, {
    hibernateAfter: Number.POSITIVE_INFINITY,
  })
  const [session] = await server.sessions()
  const ended = new Promise((resolve) => session?.ref?.onExit(resolve))
  session?.ref?.kill()
  await ended
  await clock.advance(idle * 0.9)
  assert.is(await client.text('look'), 'x')
  await clock.advance(idle * 0.2)
  assert.is(await client.text('count'), '2')
})

test.run()
