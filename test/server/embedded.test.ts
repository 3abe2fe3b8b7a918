import { createServer, type Server as Probe } from 'node:net'
import * as assert from 'uvu/assert'
import {
  childSpec,
  defineActor,
  type RuntimeError,
  startSupervisor,
  type SupervisorOptions,
} from 'caduceus/runtime'
import { defineServer, inMemory, type Server, type ServerEngine, serverSpec } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { count } from './_servers.js'

const test = suite('server below a supervisor')
const definition = defineServer({ name: 'embedded', version: '1', tools: [count] })
const often = { intensity: 100 }

/** A server as a child of somebody's supervisor. */
async function embed(
  t: TestContext,
  {
    port = 0,
    engine,
    ...options
  }: Partial<SupervisorOptions> & { port?: number; engine?: ServerEngine } = {},
) {
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, ...often, ...options })
  t.after(() => tree[Symbol.asyncDispose]())
  const how = { transport: serveHttp({ port }), ...(engine && { engine }) }
  const { extra } = await tree.startChild(serverSpec(definition, how))
  return { tree, server: extra as Server }
}

/** Does what ends the server, or its group, and resolves when another one listens. */
async function restart({ registry }: Server, end: () => unknown): Promise<void> {
  const names = ['embedded/group', 'embedded/transport']
  const gone = names.map((name) => new Promise((resolve) => registry.whereis(name)?.onExit(resolve)))
  await end()
  await Promise.all(gone)
  await Promise.all(names.map((name) => registry.whenUp(name)))
}

/** A client of the same session, on a connection of its own: the server's end has cut the others. */
function again(t: TestContext, { sessionId, url }: RawClient): RawClient {
  const client = new RawClient(t, url.href)
  client.sessionId = sessionId
  return client
}

async function probe(port = 0): Promise<{ port: number; free(): Promise<void> }> {
  const taken: Probe = createServer()
  await new Promise<void>((resolve, reject) => {
    taken.once('error', reject)
    taken.listen(port, '127.0.0.1', resolve)
  })
  const address = taken.address()
  const free = () => new Promise<void>((resolve) => taken.close(() => resolve()))
  return { port: typeof address === 'object' ? Number(address?.port) : 0, free }
}

for (const fixed of [false, true])
  test(`a killed server with ${fixed ? 'a port of its own' : 'port 0'} restarts in place`, async (t) => {
    const some = await probe()
    await some.free()
    const { server } = await embed(t, { port: fixed ? some.port : 0, engine: inMemory() })
    const { url, port } = server
    let client = await new RawClient(t, url).open('phoenix', '2025-06-18')
    for (let round = 1; round <= 4; round++) {
      assert.is(await client.text('count'), String(round))
      const before = server.ref
      await restart(server, () => before.kill())
      assert.equal([server.url, server.port, before.alive], [url, port, false])
      client = again(t, client)
      client.revision = '2025-06-18'
    }
    assert.is(await client.text('count'), '5')
    const [session] = await server.sessions()
    assert.equal([session?.client.name, session?.revision], ['phoenix', '2025-06-18'])
    if (fixed) assert.is(port, some.port)
  })

test('a handle follows its restarted server: show, change and stop work', async (t) => {
  const { tree, server } = await embed(t)
  const first = server.ref
  await restart(server, () => first.kill())
  assert.ok(server.ref.alive && server.ref !== first)
  assert.is(server.inspect().children.length, 2)
  await server.removeTool('count')
  const client = await new RawClient(t, server.url).open()
  assert.equal(await client.list(), [])
  await restart(server, () => server.stop())
  assert.equal(await (await new RawClient(t, server.url).open()).list(), ['count'])
  await tree.terminateChild('embedded')
  assert.not.ok(server.ref.alive)
  assert.equal(await server.sessions(), [])
})

test('a server that gives up restarts on its port; memory sessions are 404', async (t) => {
  const { server } = await embed(t)
  const { url } = server
  const client = await new RawClient(t, url).open()
  assert.is(await client.text('count'), '1')
  const first = server.ref
  // one more than a supervisor takes in five seconds
  for (let crash = 1; crash <= 4; crash++)
    await restart(server, () => server.registry.whereis('embedded/group')?.kill())
  assert.is(first.alive, false)
  assert.is(server.url, url)
  const same = again(t, client)
  assert.is((await same.tell('notifications/initialized')).status, 404)
  assert.is(await (await new RawClient(t, url).open()).text('count'), '1')
})

test('a one_for_all restart brings the server back to its port with its sessions', async (t) => {
  const sibling = defineActor({ name: 'sibling', init: () => 0 })
  const { tree, server } = await embed(t, {
    strategy: 'one_for_all',
    children: [childSpec(sibling, undefined)],
    engine: inMemory(),
  })
  const { url } = server
  const client = await new RawClient(t, url).open()
  assert.is(await client.text('count'), '1')
  await restart(server, async () => {
    const children = await tree.children()
    children.find(({ id }) => id === 'sibling')?.ref?.kill()
  })
  assert.is(server.url, url)
  assert.is(await again(t, client).text('count'), '2')
})

test('a lost port is replaced if it was any, and waited for if it was chosen', async (t) => {
  const any = await embed(t)
  await any.tree.terminateChild('embedded')
  const other = await probe(any.server.port)
  t.after(() => other.free())
  await any.tree.restartChild('embedded')
  assert.is.not(any.server.port, other.port)
  assert.is(await (await new RawClient(t, any.server.url).open()).text('count'), '1')

  const some = await probe()
  await some.free()
  const asked = await embed(t, { port: some.port })
  await asked.tree.terminateChild('embedded')
  const thief = await probe(some.port)
  const refused = await asked.tree.restartChild('embedded').catch((error: RuntimeError) => error)
  assert.is((refused as RuntimeError).code, 'START_FAILED')
  await thief.free()
  await asked.tree.restartChild('embedded')
  assert.is(asked.server.port, some.port)
})

test('one spec runs in two trees, each with its own stable port', async (t) => {
  const spec = serverSpec(definition, { transport: serveHttp() })
  const servers = await Promise.all(
    [1, 2].map(async () => {
      const tree = await startSupervisor({ strategy: 'one_for_one', logger: false })
      t.after(() => tree[Symbol.asyncDispose]())
      return (await tree.startChild(spec)).extra as Server
    }),
  )
  const urls = servers.map(({ url }) => url)
  assert.is(new Set(urls).size, 2)
  for (const server of servers) await restart(server, () => server.ref.kill())
  assert.equal(
    servers.map(({ url }) => url),
    urls,
  )
  for (const url of urls) assert.is(await (await new RawClient(t, url).open()).text('count'), '1')
})

test.run()
