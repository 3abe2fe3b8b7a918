// second tier: time
import * as assert from 'uvu/assert'
import { formatTree } from 'caduceus/runtime'
import {
  defineServer,
  defineTool,
  records,
  type Server,
  type ServerOptions,
  serverSpec,
  startServer,
} from 'caduceus/server'
import { serveHttp, serveStdio, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { count } from '../_servers.js'
import { eventually, startClients, startCluster, startFake, startNode } from './_servers.js'

const test = suite('an engine of several nodes')
const definition = defineServer({ name: 'test', version: '1', tools: [count] })
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

test('what cannot be an engine of several nodes is refused by field', () => {
  const { wayTo } = startFake()
  const engine = wayTo(0)
  const refused = (options: Partial<ServerOptions>): string[] => {
    try {
      serverSpec(definition, { transport: serveHttp(), engine, ...options })
      return []
    } catch (error) {
      const { code, data, message } = error as TransportError & { data: { field: string } }
      return [code, data.field, message]
    }
  }
  assert.equal(refused({ engine: {} as never }).slice(0, 2), ['BAD_OPTION', 'engine'])
  assert.match(refused({ engine: 'redis://localhost' as never })[2] ?? '', /expected what .*redis\(\)/)
  assert.match(refused({ transport: serveStdio() })[2] ?? '', /^engine: .*on standard input/)
  assert.equal(refused({}), [])
})

test('an engine that cannot be copied to processes is exported by their module', async () => {
  const { wayTo } = startFake()
  const options = { transport: serveHttp(), engine: wayTo(0) } as never
  const error = await startServer(new URL(import.meta.url), options).catch((reason: Error) => reason)
  assert.match(
    (error as Error).message,
    /^engine: expected one that can be copied .* export it from the module/,
  )
})

test('records that programs share are refused with processes', async () => {
  const none = () => undefined
  const engine = records({ load: none, save: none, delete: none, shared: true })
  const options = { transport: serveHttp(), engine }
  const error = await startServer(new URL(import.meta.url), options).catch((reason: Error) => reason)
  assert.match((error as Error).message, /^engine: expected one that no other program shares/)
})

test('a server whose engine cannot be reached does not start, and says why', async () => {
  const { engine, wayTo } = startFake()
  engine.stop()
  const started = startServer(definition, {
    transport: serveHttp(),
    engine: wayTo(0),
    logger: false,
    signals: false,
  })
  const error = await started.catch((reason: unknown) => reason)
  assert.instance(error, TransportError)
  assert.is((error as TransportError).code, 'CLUSTER_UNAVAILABLE')
  assert.match((error as TransportError).message, /cannot be reached/)
})

test('a tree shows the nodes, the engine and the lease', async (t) => {
  const { wayTo } = startFake()
  const [server] = (await startCluster(t, wayTo, [definition, definition])) as [Server]
  await eventually(() => /member .*2 nodes, 0 sessions, lease \d+ ms/.test(formatTree(server.inspect())))
  assert.match(formatTree(server.inspect()), /engine .*simulated engine, up/)
})

test('without the engine sessions are refused, and served again once it is back', async (t) => {
  const { engine, wayTo } = startFake()
  const server = await startNode(t, wayTo(0), definition)
  const client = await new RawClient(t, server.url).open()
  await client.text('count')
  const ready = new RawClient(t, new URL('/readyz', server.url).href)
  engine.stop()
  await eventually(async () => (await statusOf(client)) === 503)
  assert.is((await ready.send('GET', undefined)).body, 'not ready: CLUSTER_UNAVAILABLE\n')
  assert.is((await new RawClient(t, server.url).post(initialize())).status, 503)
  // it starts again meanwhile, without it
  const former = server.registry.whereis('test/cluster')
  former?.kill()
  await eventually(() => ![former, undefined].includes(server.registry.whereis('test/cluster')))
  await eventually(async () => (await statusOf(client)) === 503)
  engine.start()
  await eventually(async () => (await ready.send('GET', undefined)).status === 200)
  await eventually(async () => (await statusOf(client)) === 200)
})

test('a node whose keys are not those of the others is not ready, and says why', async (t) => {
  const { wayTo } = startFake()
  const keyed = (index: number, key: string) => {
    const way = wayTo(index)
    return { ...way, settings: { ...way.settings, keys: [key] } }
  }
  const first = await startNode(t, keyed(0, 'a key of this cluster, which is long'), definition)
  const wrong = await startNode(t, keyed(1, 'another key, which is as long as it'), definition)
  const look = (server: Server) =>
    new RawClient(t, new URL('/readyz', server.url).href).send('GET', undefined)
  const why = 'nodes with other keys, or another edition of this library, that were there before this one'
  await eventually(async () => (await look(wrong)).body === `not ready: CLUSTER_UNAVAILABLE: ${why}\n`)
  assert.is((await look(wrong)).status, 503)
  assert.is((await look(first)).body, 'ok\n')
  assert.is((await new RawClient(t, wrong.url).post(initialize())).status, 503)
  const clients = await Promise.all(Array.from({ length: 5 }, () => new RawClient(t, first.url).open()))
  for (const client of clients) assert.is(await client.text('count'), '1')
})

test('components change in the whole cluster: every node lists the same', async (t) => {
  const { wayTo } = startFake()
  const servers = await startCluster(t, wayTo, [definition, definition])
  const [first] = servers as [Server]
  const late = defineTool({ name: 'late', run: () => 'late' })
  for (const change of [() => first.addTool(late), () => first.removeTool('count')]) {
    const error = await change().then(
      () => undefined,
      (reason: { code?: unknown; message: string }) => reason,
    )
    assert.is(error?.code, 'BAD_DEFINITION')
    assert.match(error?.message ?? '', /^tool "\w+": the nodes of a cluster offer what their definition has/)
  }
  for (const { url } of servers) assert.equal(await (await new RawClient(t, url).open()).list(), ['count'])
})

test('a stopping server hands its sessions over and leaves its cluster at once', async (t) => {
  const { wayTo } = startFake({ lease: 60_000 })
  const servers = await startCluster(t, wayTo, [definition, definition, definition])
  const [first, second, third] = await startClients(t, servers)
  await first.text('count')
  await servers[0]?.stop()
  const since = performance.now()
  assert.is(await second.text('count'), '2')
  assert.is(await third.text('count'), '3')
  assert.ok(performance.now() - since < 10_000, 'its lease would take a minute')
})

test('a server below a supervisor that starts it again takes part again', async (t) => {
  const { wayTo } = startFake()
  const other = await startNode(t, wayTo(1), definition)
  const server = await startNode(t, wayTo(0), definition)
  const client = await new RawClient(t, server.url).open()
  await client.text('count')
  server.registry.whereis('test/holdings')?.kill()
  await eventually(async () => (await client.text('count').catch(() => '')) === '2')
  const elsewhere = new RawClient(t, other.url)
  elsewhere.sessionId = client.sessionId
  assert.is(await elsewhere.text('count'), '3')
})

/** 0 while the listener starts again. */
async function statusOf(client: RawClient): Promise<number> {
  return client.post(ping).then(
    ({ status }) => status,
    () => 0,
  )
}

test.run()
