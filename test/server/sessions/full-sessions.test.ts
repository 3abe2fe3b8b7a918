import * as assert from 'uvu/assert'
import {
  defineResource,
  defineServer,
  defineTool,
  files,
  records,
  type ServerEngine,
  ServerError,
  type SessionRecord,
  type SessionStore,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { makeFolder } from '../../support/folder.js'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { killAndWait } from '../_servers.js'

const test = suite('sessions: full ones')

const maxBytes = 4_096

/** A store of an author with a bound, which it tells with BAD_STATE, or before. */
function bounded(isChecked: boolean): SessionStore {
  const kept = new Map<string, string>()
  const textOf = (record: SessionRecord): string => {
    const text = JSON.stringify(record)
    if (text.length > maxBytes) throw new ServerError('BAD_STATE', `${text.length} of ${maxBytes}`)
    return text
  }
  return {
    load: (id) => {
      const text = kept.get(id)
      return text === undefined ? undefined : (JSON.parse(text) as SessionRecord)
    },
    save: async (record) => void kept.set(record.id, textOf(record)),
    delete: (id) => kept.delete(id),
    ...(isChecked && { check: (record: SessionRecord) => void textOf(record) }),
  }
}

const engines: Readonly<Record<string, (t: TestContext) => ServerEngine>> = {
  files: (t) => files({ folder: makeFolder(t), maxBytes }),
  'records with a check': () => records(bounded(true)),
  'records without one': () => records(bounded(false)),
}

const uris = Array.from({ length: 20 }, (_, n) => `file:///${n}/${'x'.repeat(400)}`)
const fill = defineTool({
  name: 'fill',
  session: true,
  input: { type: 'object', properties: { size: { type: 'integer' } } },
  async run({ size = 0 }, ctx) {
    const problem = await ctx
      .update('text', () => 'y'.repeat(size))
      .catch((error: unknown) => error as ServerError)
    return problem instanceof ServerError ? `${problem.code}: ${problem.message}` : 'taken'
  },
})
const size = defineTool({
  name: 'size',
  session: true,
  run: async (_nothing, ctx) => String(String((await ctx.get('text')) ?? '').length),
})

async function start(t: TestContext, engine: ServerEngine) {
  const resources = uris.map((uri, n) => defineResource({ name: `r${n}`, uri, read: () => 'text' }))
  const definition = defineServer({
    ...{ name: 'test', version: '1', logging: true, tools: [fill, size], resources },
  })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, engine })
  t.after(() => server.stop())
  return { server, client: await new RawClient(t, server.url).open() }
}

/** The most that the session takes, found by halves. */
async function fillUp(client: RawClient): Promise<number> {
  let [most, tooMuch] = [0, maxBytes]
  while (tooMuch - most > 1) {
    const middle = Math.floor((most + tooMuch) / 2)
    const isTaken = (await client.text('fill', { size: middle }).catch(() => '')) === 'taken'
    if (isTaken) most = middle
    else tooMuch = middle
  }
  return most
}

for (const [name, engineOf] of Object.entries(engines)) {
  test(`${name}: a subscription without room is refused, and in the way of nothing`, async (t) => {
    const { server, client } = await start(t, engineOf(t))
    const taken: string[] = []
    let problem = ''
    for (const uri of uris) {
      const { error } = await client.ask('resources/subscribe', { uri })
      if (error === undefined) taken.push(uri)
      else {
        assert.is(error.code, 429)
        problem = error.message
        break
      }
    }
    assert.ok(taken.length >= 6 && taken.length < 10, `it has ${taken.length}`)
    assert.match(problem, /no room for this subscription: unsubscribe from others first/)
    assert.is(await client.text('fill', { size: 10 }), 'taken')
    await killAndWait(server, 'test/base')
    assert.is(await client.text('size'), '10')
    await client.ask('resources/unsubscribe', { uri: taken[0] })
    const { error } = await client.ask('resources/subscribe', { uri: uris.at(-1) })
    assert.is(error, undefined, 'there is room again')
  })
}

for (const name of ['files', 'records with a check'] as const)
  test(`${name}: a client that there is no room for is told`, async (t) => {
    const { server } = await start(t, (engines[name] as (t: TestContext) => ServerEngine)(t))
    const client = new RawClient(t, server.url)
    const { messages } = await client.post(initialize('x'.repeat(maxBytes)))
    assert.is(messages[0]?.error?.code, -32602)
    assert.match(String(messages[0]?.error?.message), /less in clientInfo and capabilities/)
    await client.open('x'.repeat(maxBytes / 2))
    assert.is(await client.text('fill', { size: 10 }), 'taken')
  })

for (const name of ['files', 'records with a check'] as const)
  test(`${name}: a session that is full goes on by itself`, async (t) => {
    const { server, client } = await start(t, (engines[name] as (t: TestContext) => ServerEngine)(t))
    const most = await fillUp(client)
    assert.ok(most > maxBytes / 2)
    assert.is(await client.text('fill', { size: most }), 'taken')
    // what is a part of it besides its state grows
    for (const level of ['error', 'emergency'])
      assert.is((await client.ask('logging/setLevel', { level })).error, undefined)
    for (let n = 0; n < 3; n += 1) {
      await killAndWait(server, 'test/base')
      assert.is(await client.text('size'), String(most))
    }
    for (const less of [most - 1, most]) assert.is(await client.text('fill', { size: less }), 'taken')
  })

test('files: the refusal names what is too large', async (t) => {
  const { client } = await start(t, engines.files?.(t) as ServerEngine)
  assert.match(
    await client.text('fill', { size: 5_000 }),
    /^BAD_STATE: the state of a session: expected at most 4096 bytes in all, got 5\d\d\d \(state 50\d\d, /,
  )
  for (const uri of uris.slice(0, 7))
    assert.is((await client.ask('resources/subscribe', { uri })).error, undefined)
  assert.match(
    await client.text('fill', { size: 2_000 }),
    /^BAD_STATE: the subscriptions of a session: expected at most 4096 bytes in all, got 5\d\d\d \(subscriptions 2\d\d\d, state 20\d\d, client info \d+\)/,
  )
})

test.run()
