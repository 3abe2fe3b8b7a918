// second tier: third party
// time limit: 180 s
import { PGlite } from '@electric-sql/pglite'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, type Server, serveHttp, startServer } from 'caduceus'
import { type EngineBench, engineSuite } from 'caduceus/testing'
import { RawClient } from '../server/_client.js'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'
import { type Database, postgres } from './engine/postgres.js'

const test = suite('an engine on Postgres', { timeout: 40_000 })
const tables = ['shared', 'leases', 'sessions', 'lists', 'inbox', 'news', 'logs', 'streams', 'entries']
/** Opened once, as that takes seconds: each test has a schema of its own. */
const state: { opened?: Promise<PGlite>; schemas: number } = { schemas: 0 }

interface Serving {
  readonly server: Server
  readonly client: RawClient
}

engineSuite(
  Object.assign((name: string, fn: () => Promise<void>) => test(name, fn), {
    skip: (name: string) => test.skip(name, 'this engine does not know who listens'),
  }),
  startBench,
  { lacks: ['listeners'] },
)

test('two servers with it serve one session, also when one of them has ended', async (t) => {
  const db = await database()
  const count = defineTool({
    name: 'count',
    session: true,
    run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
  })
  const later = defineTool({ name: 'later', task: 'required', run: () => 'done' })
  const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count, later] })
  const [one, other] = (await Promise.all(
    [1, 2].map(async () => {
      const options = { transport: serveHttp(), engine: postgres(db), logger: false as const }
      const server = await startServer(counters, options)
      t.after(() => server.stop())
      return { server, client: new RawClient(t, server.url) }
    }),
  )) as [Serving, Serving]
  await one.client.open()
  other.client.sessionId = one.client.sessionId
  const counts: string[] = []
  for (const { client } of [one, other, one, other]) counts.push(await client.text('count'))
  // what no text of Postgres may have does not get there
  const unknown = await other.client.ask('tasks/get', { taskId: '\u0000' })
  assert.is(unknown.error?.code, -32602)
  await one.server.stop()
  counts.push(await other.client.text('count'))
  assert.equal(counts, ['1', '2', '3', '4', '5'])
})

test('the suite runs under node:test, and skips by name what is lacking', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'engine', 'tests.js')
  const { code, output } = await runNode(['--test-reporter=tap', program], root, t.signal)
  assert.is(code, 0, output)
  assert.match(output, /^# fail 0$/m)
  assert.match(output, /a silent engine .* \(silence\) # SKIP/)
})

test('the database is closed', async () => {
  await (await database()).close()
})

test.run()

function database(): Promise<PGlite> {
  state.opened ??= PGlite.create()
  return state.opened
}

async function startBench(): Promise<EngineBench> {
  const db = await database()
  state.schemas += 1
  const prefix = `test_${state.schemas}`
  const way = new Way(db)
  const drop = async (): Promise<void> =>
    void (await db.exec(`drop schema if exists ${prefix}_tests cascade`))
  return {
    at: () => postgres(way, prefix),
    stop: () => way.turn('away'),
    start: async () => {
      await drop()
      way.turn('up')
    },
    freeze: () => way.turn('frozen'),
    thaw: () => way.turn('up'),
    wipe: async () => {
      await db.exec(tables.map((table) => `delete from ${prefix}_tests.${table};`).join(''))
    },
    close: drop,
  }
}

/** The way to a database, which a test cuts. */
class Way implements Database {
  readonly #db: PGlite
  #phase: 'up' | 'frozen' | 'away' = 'up'
  readonly #waiting: (() => void)[] = []

  constructor(db: PGlite) {
    this.#db = db
  }

  turn(phase: 'up' | 'frozen' | 'away'): void {
    this.#phase = phase
    if (phase === 'up') for (const go of this.#waiting.splice(0)) go()
  }

  transaction: Database['transaction'] = async (work) => {
    if (this.#phase === 'away') throw new Error('connection refused')
    if (this.#phase === 'frozen') await new Promise<void>((go) => this.#waiting.push(go))
    return this.#db.transaction(work)
  }

  listen: Database['listen'] = (channel, hear) => this.#db.listen(channel, hear)
}
