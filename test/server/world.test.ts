import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { startSupervisor } from 'caduceus/runtime'
import {
  defineServer,
  defineTool,
  files,
  records,
  sealed,
  type Server,
  serverSpec,
  type SessionRecord,
  startServer,
} from 'caduceus/server'
import { http, memory, serveHttp } from 'caduceus/transports'
import { processOf } from '../../runtime/process/ref.js'
import { SealedIds } from '../../server/engine/sealed-ids.js'
import { suite } from '../support/suite.js'
import { drawn, drawnWorld, worldAt } from '../support/world.js'
import { RawClient } from './_client.js'
import { count, startTestServer } from './_servers.js'
import { makeFolder } from '../support/folder.js'

const test = suite('the world of a server')
const keys = ['a secret of the tests, and of nobody else']
const visit = defineTool({
  name: 'visit',
  async run(_args, ctx) {
    return (await ctx.elicit('page', { mode: 'url', message: 'Go', url: 'https://a.example/' })).action
  },
})
const definition = defineServer({ name: 'test', version: '1', tools: [count, visit] })

test('session ids, list dates, cursors and question ids use the world', async (t) => {
  const world = drawnWorld()
  const saved: SessionRecord[] = []
  const store = { load: () => undefined, save: (one: SessionRecord) => saved.push(one), delete: () => {} }
  const server = await startTestServer(t, [count, visit], {
    clock: world,
    limits: { pageSize: 1 },
    engine: records(store),
  })
  assert.is(processOf(server.ref).tree.world, world)
  const client = await new RawClient(t, server.url).open()
  assert.match(String(client.sessionId), /^drawn-id-\d{12}$/)
  assert.is(saved[0]?.id, client.sessionId)
  assert.is(saved[0]?.catalog, drawn.date)
  const { result } = await client.ask('tools/list')
  const nonce = Buffer.from(String(result?.nextCursor), 'base64url').subarray(5, 17)
  assert.equal(nonce, Buffer.alloc(12, drawn.byte))
})

for (const era of ['handshake', 'modern'] as const)
  test(`URL elicitations and request state use the world (${era})`, async (t) => {
    const world = drawnWorld()
    const server = await startServer(definition, { transport: serveHttp(), logger: false, clock: world })
    t.after(() => server.stop())
    const seen: unknown[] = []
    const client = startClient({
      transport: http(String(server.url)),
      era,
      logger: false,
      onElicit: {
        url({ elicitationId }) {
          seen.push(elicitationId)
          return { action: 'accept' }
        },
      },
    })
    t.after(() => client.close())
    const turns = world.asked.setImmediate
    const bytes = world.asked.randomBytes
    assert.is((await client.callTool('visit')).text, 'accept')
    if (era === 'handshake') assert.match(String(seen[0]), /^drawn-id-/)
    else {
      assert.ok(world.asked.setImmediate > turns, 'questions of one turn travel together')
      assert.ok(world.asked.randomBytes > bytes, 'the state is sealed')
    }
  })

test('a server in the tree of another has its world', async (t) => {
  const world = drawnWorld()
  const { serve, connect } = memory()
  const spec = serverSpec(definition, { transport: serve })
  const supervisor = await startSupervisor({ clock: world, logger: false, strategy: 'one_for_one' })
  t.after(() => supervisor.stop())
  const server = (await supervisor.startChild(spec)) as { readonly extra: Server }
  const client = startClient({ transport: connect, logger: false })
  t.after(() => client.close())
  assert.is((await client.callTool('count')).text, '1')
  const [session] = await server.extra.sessions()
  assert.match(String(session?.id), /^drawn-id-/)
})

test('sealed ids expire by the date of the server world', async (t) => {
  const world = drawnWorld()
  const server = await startTestServer(t, [count], { clock: world, engine: sealed({ keys }) })
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
  const ids = new SealedIds({ keys })
  const opened = ids.open(String(client.sessionId), 'test', worldAt(0, drawn.date))
  assert.is(opened?.expiresAt, drawn.date + 24 * 60 * 60_000)
  assert.is(ids.open(String(client.sessionId), 'test'), undefined)
})

test('files have the date of the server world', async (t) => {
  const folder = makeFolder(t)
  const server = await startTestServer(t, [count], { clock: drawnWorld(), engine: files({ folder }) })
  await new RawClient(t, server.url).open()
  const names = await readdir(join(folder, 'sessions'))
  assert.is(names.length, 1)
  assert.is((await stat(join(folder, 'sessions', String(names[0])))).mtimeMs, drawn.date)
})

test.run()
