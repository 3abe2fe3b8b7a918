// second tier: redis
// time limit: 60 s
import { serialize } from 'node:v8'
import { equal, is, match } from 'uvu/assert'
import { defineServer, defineTool, type NodeEvent, redis, subscribeServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { redisTest, startRedis, type TestRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { as, byName } from '../_principals.js'
import { eventually } from '../nodes/_servers.js'
import { type EngineNode, startEngineNode } from '../nodes/_nodes.js'

const test = suite('who may write to Redis', { timeout: 30_000 })
const keys = ['a secret of 32 characters or more, for all']
const records = '{caduceus:test}:1:r:'

const note = defineTool({
  name: 'note',
  session: true,
  input: { type: 'object', properties: { text: { type: 'string' } } },
  async run(args, ctx) {
    const { text } = args as { text?: string }
    return String(await ctx.update<string>('note', (known = '') => text ?? known))
  },
})
const definition = defineServer({ name: 'test', version: '1', tools: [note] })

interface Attacked {
  readonly server: TestRedis
  readonly ada: RawClient
  readonly bob: RawClient
  /** A record of a session in Redis. */
  read(client: RawClient): string
  write(client: RawClient, text: string): void
  /** The node that served the sessions has left; the next one is asked as this client. */
  elsewhere(client: RawClient): RawClient
  readonly told: NodeEvent[]
}

/** Ada and Bob have a session each, and the node that served them has ended in order. */
async function attacked(t: TestContext, given: readonly string[] | undefined): Promise<Attacked> {
  const server = await startRedis(t)
  const told: NodeEvent[] = []
  t.after(subscribeServer('node', (event) => void told.push(event)))
  const start = (name: string): Promise<EngineNode> =>
    startEngineNode(t, definition, () => redis({ url: server.url, keys: given, lease: 1_000 }), {
      name,
      options: { transport: serveHttp({ authenticate: byName }) },
    })
  const first = await start('first')
  const clients = await Promise.all(
    ['ada', 'bob'].map(async (name) => {
      const client = new RawClient(t, first.url)
      client.own = as(name)
      await client.open()
      is(await client.text('note', { text: `a secret of ${name}` }), `a secret of ${name}`)
      return client
    }),
  )
  const [ada, bob] = clients as [RawClient, RawClient]
  await first.supervisor.stop()
  const next = await start('next')
  await eventually(() => next.cluster.problem === undefined)
  return {
    server,
    ada,
    bob,
    told,
    read: ({ sessionId }) => server.cli('GET', `${records}${sessionId}`).join('\n'),
    write: ({ sessionId }, text) => void server.cli('SET', `${records}${sessionId}`, text, 'KEEPTTL'),
    elsewhere(client) {
      const other = new RawClient(t, next.url)
      return Object.assign(other, {
        own: client.own,
        sessionId: client.sessionId,
        revision: client.revision,
        lastId: 50,
      })
    },
  }
}

function statusOf(client: RawClient): Promise<number> {
  return client
    .post({ jsonrpc: '2.0', id: 70, method: 'tools/call', params: { name: 'note', arguments: {} } })
    .then(({ status }) => status)
}

redisTest(test, 'with keys a reassigned session is refused and reported', async (t) => {
  const { ada, bob, read, write, elsewhere, told } = await attacked(t, keys)
  const [hers, his] = [read(ada), read(bob)]
  const digest = (text: string): string => String(/"principal":"([^"]+)"/.exec(text)?.[1])
  write(ada, hers.replace(digest(hers), digest(his)))
  is(await statusOf(elsewhere(Object.assign(ada, { own: bob.own }))), 404)
  await eventually(() => told.some(({ type }) => type === 'damaged'))
  const { problem } = told.find(({ type }) => type === 'damaged') as NodeEvent
  match(problem ?? '', /not what a node of this cluster has written: session \d+/)
  // as it was written, it is hers
  write(ada, hers)
  is(await elsewhere(Object.assign(ada, { own: as('ada') })).text('note'), 'a secret of ada')
})

redisTest(test, 'with keys a record is valid for its session only', async (t) => {
  const { ada, bob, read, write, elsewhere } = await attacked(t, keys)
  // what her node has signed, under the name of his session
  write(bob, read(ada))
  is(await statusOf(elsewhere(bob)), 404)
  is(await statusOf(elsewhere(Object.assign(bob, { own: as('ada') }))), 404)
  is(await elsewhere(ada).text('note'), 'a secret of ada')
})

redisTest(test, 'with keys only records written by a node are deserialized', async (t) => {
  const { ada, write, elsewhere } = await attacked(t, keys)
  const v8 = process.getBuiltinModule('node:v8')
  const { deserialize } = v8
  let read = 0
  v8.deserialize = (bytes) => {
    read += 1
    return deserialize(bytes)
  }
  t.after(() => {
    v8.deserialize = deserialize
  })
  const forged = serialize({ id: ada.sessionId, version: 99 }).toString('base64')
  for (const text of [`v8 ${forged}`, `\nv8 ${forged}`, `AAAA\nv8 ${forged}`]) {
    write(ada, text)
    is(await statusOf(elsewhere(ada)), 404)
  }
  is(read, 0)
})

redisTest(test, 'without keys the log warns once that any writer is trusted', async (t) => {
  const { told } = await attacked(t, undefined)
  const unsafe = (): NodeEvent[] => told.filter(({ type }) => type === 'unsafe')
  await eventually(() => unsafe().length === 2)
  equal(
    unsafe().map(({ node }) => node),
    ['first', 'next'],
  )
  for (const { problem } of unsafe()) match(problem ?? '', /nothing is signed.*may be any client/)
})

redisTest(test, 'an evicting Redis is reported', async (t) => {
  const server = await startRedis(t, { args: ['--maxmemory-policy', 'allkeys-lru'] })
  const told: NodeEvent[] = []
  t.after(subscribeServer('node', (event) => void told.push(event)))
  await startEngineNode(t, definition, () => redis({ url: server.url, keys, lease: 1_000 }), { name: 'one' })
  await eventually(() => told.some(({ type }) => type === 'unsafe'))
  equal(
    told.map(({ type, problem }) => [
      type,
      /maxmemory-policy is allkeys-lru.*noeviction/.test(problem ?? ''),
    ]),
    [['unsafe', true]],
  )
})

test.run()
