import * as assert from 'uvu/assert'
import { durableObject, type ObjectStorage } from 'caduceus/fetch'
import {
  defineResource,
  defineServer,
  defineTool,
  records,
  type ServerEngine,
  ServerError,
  type SessionHooks,
  type SessionRecord,
  type SessionStore,
  startServer,
  type ToolContext,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { killAndWait } from '../_servers.js'

const test = suite('sessions: state that a store refuses')

/** How a store of an author refuses what is odd: by itself, or as what it writes with does. */
const ways = {
  'as JSON does': (record: SessionRecord) => void JSON.stringify(record),
  'as JSON does, wrapped': (record: SessionRecord) => {
    try {
      JSON.stringify({ at: 1, record })
    } catch (cause) {
      throw new Error('the record could not be written', { cause })
    }
  },
  'with BAD_STATE': (record: SessionRecord) => {
    if (Object.values(record.state).some((value) => typeof value === 'bigint'))
      throw new ServerError('BAD_STATE', 'no bigints')
  },
}
const times = { 'at once': false, later: true }

/** A store of an author, which writes with `write`. */
function makeStore(write: (record: SessionRecord) => void, isLate: boolean) {
  const kept = new Map<string, SessionRecord>()
  const outage = { isOn: false }
  const put = (record: SessionRecord): void => {
    if (outage.isOn) throw new Error('the store is away')
    write(record)
    if ((kept.get(record.id)?.version ?? -1) < record.version) kept.set(record.id, record)
  }
  const store: SessionStore = {
    load: (id) => kept.get(id),
    save: isLate ? async (record) => put(record) : put,
    delete: (id) => kept.delete(id),
  }
  return { store, outage, state: () => [...kept.values()][0]?.state }
}

/** Calls that are over when a test says so. */
class Gate {
  #open: (() => void) | undefined
  #arrived: (() => void) | undefined
  readonly arrived = new Promise<void>((resolve) => {
    this.#arrived = resolve
  })
  readonly #opened = new Promise<void>((resolve) => {
    this.#open = resolve
  })

  wait(): Promise<void> {
    this.#arrived?.()
    return this.#opened
  }

  open(): void {
    this.#open?.()
  }
}

const odd = 10n

function toolsOf(gates: Readonly<Record<string, Gate>> = {}) {
  const tool = (name: string, run: (ctx: ToolContext, text: string) => Promise<unknown>) =>
    defineTool({
      name,
      session: true,
      input: { type: 'object', properties: { text: { type: 'string' } } },
      run: async ({ text = '' }, ctx) => String(await run(ctx, text)),
    })
  const append = (ctx: ToolContext, text: string): Promise<unknown> =>
    ctx.update('words', (words = '') => `${words}${text}`)
  return [
    tool('append', append),
    tool('read', (ctx) => ctx.get('words')),
    tool('readOdd', (ctx) => ctx.get('odd')),
    tool('odd', async (ctx) => {
      await ctx.update('odd', () => odd)
      return 'taken'
    }),
    tool('oddWords', (ctx) => ctx.update('words', () => odd)),
    tool('oddThenGood', async (ctx, text) => {
      await ctx.update('words', () => odd)
      return ctx.update('words', () => text)
    }),
    tool('goodThenOdd', async (ctx, text) => {
      await append(ctx, text)
      await ctx.update('words', () => odd)
      return 'taken'
    }),
    tool('throws', async (ctx) => {
      await ctx.update('odd', () => odd)
      throw new Error('by itself')
    }),
    tool('set', async (ctx, text) => {
      await ctx.update('words', () => text)
      return 'set'
    }),
    tool('deletes', async (ctx) => {
      await ctx.update('words', () => undefined)
      return ctx.update('odd', () => odd)
    }),
    tool('appendAndWait', async (ctx, text) => {
      await append(ctx, text)
      await gates.append?.wait()
      return ctx.get('words')
    }),
    tool('oddAndWait', async (ctx) => {
      await ctx.update('odd', () => odd)
      await gates.odd?.wait()
      return 'taken'
    }),
    tool('checked', async (ctx) => {
      const problem = await ctx.update('odd', () => odd).catch((error: unknown) => error)
      return problem instanceof ServerError ? `${problem.code}: ${problem.message}` : 'taken'
    }),
  ]
}

async function start(
  t: TestContext,
  engine: ServerEngine,
  gates?: Readonly<Record<string, Gate>>,
  session?: SessionHooks,
) {
  const places = ['a', 'b'].map((name) =>
    defineResource({ name, uri: `file:///${name.repeat(700)}`, read: () => 'text' }),
  )
  const definition = defineServer({
    ...{ name: 'test', version: '1', tools: toolsOf(gates), resources: places },
    ...(session !== undefined && { session }),
  })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, engine })
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open()
  return { server, client, places: places.map(({ uri }) => uri) }
}

async function isRefused(client: RawClient, tool: string, text = 'x'): Promise<void> {
  const { result, error } = await client.call(tool, { text })
  // a handler that throws has its own answer
  const isTold = tool === 'throws' ? result?.isError === true : error?.code === -32603
  assert.ok(isTold, `${tool} is answered ${JSON.stringify(result ?? error)}`)
}

for (const [way, write] of Object.entries(ways))
  for (const [when, isLate] of Object.entries(times)) {
    const how = `${way}, ${when}`

    test(`${how}: its call is told, and the session is as it was saved last`, async (t) => {
      const { store, state } = makeStore(write, isLate)
      const { server, client } = await start(t, records(store))
      assert.is(await client.text('append', { text: 'a' }), 'a')
      for (const tool of ['odd', 'oddWords', 'goodThenOdd', 'deletes']) {
        await isRefused(client, tool)
        assert.equal(state(), { words: 'a' }, tool)
        assert.is(await client.text('read'), 'a', tool)
      }
      assert.is(await client.text('append', { text: 'b' }), 'ab')
      assert.is(await client.text('oddThenGood', { text: 'c' }), 'c')
      assert.equal(state(), { words: 'c' })
      await killAndWait(server, 'test/base')
      assert.is(await client.text('append', { text: 'd' }), 'cd')
    })

    test(`${how}: all calls of its session that are under way are told`, async (t) => {
      const { store, state } = makeStore(write, isLate)
      const gates = { append: new Gate(), odd: new Gate() }
      const { client } = await start(t, records(store), gates)
      assert.is(await client.text('append', { text: 'a' }), 'a')
      const first = client.call('appendAndWait', { text: 'b' })
      await gates.append.arrived
      const bad = client.call('oddAndWait')
      await gates.odd.arrived
      gates.odd.open()
      const [innocent, guilty] = (await Promise.all([first, bad])).map(({ error }) => error)
      assert.equal([innocent?.code, guilty?.code], [-32603, -32603])
      assert.is(innocent?.data?.retryable, true)
      assert.is(guilty?.data?.retryable, false)
      assert.match(String(guilty?.message), /is nothing that the record of the session can hold/)
      assert.equal(state(), { words: 'a' })
      assert.is(await client.text('append', { text: 'c' }), 'ac')
    })

    test(`${how}: who has only seen it may try again, and who has done it may not`, async (t) => {
      const { store } = makeStore(write, isLate)
      const gates = { odd: new Gate() }
      const { client } = await start(t, records(store), gates)
      const bad = client.call('oddAndWait')
      await gates.odd.arrived
      const seen = (await client.call('readOdd')).error
      const done = (await bad).error
      assert.is(seen?.data?.retryable, true)
      assert.is(done?.data?.retryable, false)
      assert.match(String(done?.message), /is nothing that the record of the session can hold/)
    })

    test(`${how}: what a call has left that is over is refused once`, async (t) => {
      const { store, state } = makeStore(write, isLate)
      const gates = { odd: new Gate() }
      const { client } = await start(t, records(store), gates)
      const cancelled = client.call('oddAndWait').catch(() => undefined)
      await gates.odd.arrived
      const params = { requestId: client.lastId }
      await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      await cancelled
      for (const text of ['a', 'b']) {
        await isRefused(client, 'append', 'x')
        assert.is(await client.text('append', { text }), text === 'a' ? 'a' : 'ab')
        if (text === 'a') await isRefused(client, 'throws')
      }
      assert.equal(state(), { words: 'ab' })
    })
  }

test('one that its store has become too small for is checked again once it fits', async (t) => {
  const { engine, bound, state } = boundStore()
  const { server, client, places } = await start(t, engine)
  const fill = (size: number) => client.call('set', { text: 'x'.repeat(size) })
  assert.not((await fill(4_000)).error)
  bound.bytes = 2_000
  await killAndWait(server, 'test/base')
  assert.is((await client.ask('resources/subscribe', { uri: places[0] })).error?.code, 429)
  for (const answer of [await fill(3_000), await client.call('read')]) {
    assert.equal([answer.error?.code, answer.error?.data?.retryable], [-32603, false])
    assert.match(String(answer.error?.message), /of 2000 bytes has no room .* remove more/)
  }
  assert.is((await fill(500)).result?.isError, undefined)
  assert.equal(state()?.subscriptions, undefined, 'what was refused is not wanted')
  // from here on no store could ever take it
  assert.ok((await fill(3_000)).result?.isError)
  assert.is((await client.text('read')).length, 500)
  assert.is((await client.ask('resources/subscribe', { uri: places[0] })).error, undefined)
  assert.equal(state()?.subscriptions, [places[0]])
})

test('what a store that is away did not save is gone with what it refuses', async (t) => {
  const { store, outage, state } = makeStore(ways['as JSON does'], true)
  const { client } = await start(t, records(store))
  outage.isOn = true
  await isRefused(client, 'append', 'a')
  assert.is((await client.call('odd')).error?.code, -32603)
  outage.isOn = false
  await isRefused(client, 'append', 'b')
  assert.is(await client.text('append', { text: 'c' }), 'c')
  assert.equal(state(), { words: 'c' })
})

test('what a hook has set, and initialize has saved, is there after a refusal', async (t) => {
  const { store, state } = makeStore(ways['as JSON does'], true)
  const session: SessionHooks = {
    init: (ctx, { restored }) => (restored ? undefined : ctx.update('words', () => 'hello')),
  }
  const { client } = await start(t, records(store), {}, session)
  assert.equal(state(), { words: 'hello' })
  await isRefused(client, 'oddWords')
  assert.is(await client.text('read'), 'hello')
})

for (const what of ['a refusal', 'an outage'])
  test(`shared: after ${what} in one program it goes on with what another has saved`, async (t) => {
    const { store, outage, state } = makeStore(ways['as JSON does'], true)
    const engine = (): ServerEngine => records({ ...store, shared: true })
    const [one, other] = [await start(t, engine()), await start(t, engine())]
    const again = new RawClient(t, other.server.url)
    Object.assign(again, { sessionId: one.client.sessionId, lastId: 1_000 })
    assert.is(await one.client.text('append', { text: 'a' }), 'a')
    assert.is(await again.text('append', { text: 'b' }), 'ab')
    outage.isOn = what === 'an outage'
    await isRefused(again, what === 'an outage' ? 'append' : 'odd')
    outage.isOn = false
    assert.is(await one.client.text('append', { text: 'c' }), 'abc')
    assert.is(await again.text('append', { text: 'd' }), 'abcd')
    assert.equal(state(), { words: 'abcd' })
  })

for (const [name, engineOf] of Object.entries({
  'a check of an author': () => {
    const { store, state } = makeStore(ways['as JSON does'], true)
    return { engine: records({ ...store, check: ways['as JSON does'] }), state }
  },
  'a check that answers with a promise': () => {
    const { store, state } = makeStore(() => {}, false)
    const check = async (record: SessionRecord) => ways['as JSON does'](record)
    return {
      engine: records({ ...store, check: (record) => ('odd' in record.state ? check(record) : undefined) }),
      state,
    }
  },
  'the storage of an object': () => {
    const { storage, state } = objectStorage()
    return { engine: durableObject({ storage }), state }
  },
}))
  test(`${name}: the tool itself is told`, async (t) => {
    const { engine, state } = engineOf()
    const { client } = await start(t, engine)
    assert.is(await client.text('append', { text: 'a' }), 'a')
    assert.match(await client.text('checked'), /^BAD_STATE: /)
    assert.ok((await client.call('odd')).result?.isError)
    assert.equal(state(), { words: 'a' })
    assert.is(await client.text('append', { text: 'b' }), 'ab')
    assert.equal(state(), { words: 'ab' })
  })

test('the storage of an object refuses what no row of it can hold', async (t) => {
  const { storage, state } = objectStorage()
  const { client } = await start(t, durableObject({ storage }))
  const text = 'x'.repeat(1_000_000)
  assert.is((await client.text('append', { text })).length, 1_000_000)
  assert.ok((await client.call('append', { text })).result?.isError)
  assert.is(String(state()?.words).length, 1_000_000)
  assert.is((await client.text('append', { text: 'more' })).length, 1_000_004)
})

test('records: a check is a function', () => {
  const { store } = makeStore(() => {}, false)
  assert.throws(() => records({ ...store, check: 'size' as never }), /records: check: expected a function/)
})

/** A store of an author that takes records of so many characters. */
function boundStore() {
  const kept = new Map<string, SessionRecord>()
  const bound = { bytes: 5_000 }
  const check = (record: SessionRecord): void => {
    const { bytes: maxBytes } = bound
    if (JSON.stringify(record).length > maxBytes)
      throw new ServerError('BAD_STATE', 'too large', { data: { maxBytes } })
  }
  const engine = records({
    load: (id) => kept.get(id),
    check,
    save(record) {
      check(record)
      if ((kept.get(record.id)?.version ?? -1) < record.version) kept.set(record.id, record)
    },
    delete: (id) => kept.delete(id),
  })
  return { engine, bound, state: () => [...kept.values()][0] }
}

/** What an engine asks of the SQLite of an object, with a map for its sessions. */
function objectStorage() {
  const rows = new Map<unknown, { version: unknown; record: unknown }>()
  const answers: readonly (readonly [RegExp, (...bound: readonly unknown[]) => object[]])[] = [
    [/^SELECT count/, () => [{ count: rows.size }]],
    [/^SELECT secret/, () => [{ secret: 'x'.repeat(43) }]],
    [/^SELECT (version|record) FROM caduceus_sessions/, (id) => [rows.get(id) ?? []].flat()],
    [
      /^INSERT OR REPLACE INTO caduceus_sessions/,
      (id, version, record) => {
        rows.set(id, { version, record })
        return []
      },
    ],
    [/^/, () => []],
  ]
  const exec = (query: string, ...bound: readonly unknown[]) => {
    const [, answer] = answers.find(([pattern]) => pattern.test(query)) ?? []
    return { toArray: () => answer?.(...bound) ?? [] }
  }
  const state = (): Record<string, unknown> | undefined =>
    [...rows.values()].map(({ record }) => JSON.parse(String(record)).state)[0]
  return { storage: { sql: { exec } } as ObjectStorage, state }
}

test.run()
