import { equal, is } from 'uvu/assert'
import { fakeEngine } from '../../../scripts/sim/store/engine.js'
import { defineServer } from '../../../server/definitions/define-server.js'
import { until } from '../../../testing.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo } from '../_servers.js'
import { startEngineNodes } from './_nodes.js'

const test = suite('engine cluster', { timeout: 15_000 })
const definition = defineServer({ name: 'test', version: '1', tools: [count, echo] })

test('a session is served by any node', async (t) => {
  const engine = fakeEngine()
  const nodes = await startEngineNodes(t, [definition, definition, definition], (name) => engine.at(name))
  const clients = nodes.map(({ url }) => new RawClient(t, url))
  await clients[0]?.open()
  for (const client of clients) client.sessionId = clients[0]?.sessionId
  for (const client of [...clients, ...clients]) await client.text('count')
  is(await clients[2]?.text('count'), '7')
  const running = await Promise.all(nodes.map(({ server }) => server.sessions()))
  equal(
    running.map((sessions) => sessions.length),
    [1, 0, 0],
  )
})

test('a session goes on elsewhere when its node has left in order, and when it has gone', async (t) => {
  const engine = fakeEngine({ lease: 500 })
  const nodes = await startEngineNodes(t, [definition, definition, definition], (name) => engine.at(name))
  const clients = nodes.map(({ url }) => new RawClient(t, url))
  await clients[0]?.open()
  for (const client of clients) client.sessionId = clients[0]?.sessionId
  await clients[1]?.text('count')
  await nodes[0]?.supervisor.stop()
  is(await clients[1]?.text('count'), '2')
  const owner = nodes.findIndex(({ cluster }) => cluster.view.sessions === 1)
  const other = clients[owner === 1 ? 2 : 1]
  is(await other?.text('count'), '3')
  // it is silent from now on
  nodes[owner]?.supervisor.ref.kill()
  await until(async () => (await other?.text('count').catch(() => '')) !== '')
  is(await other?.text('count'), '5')
})

test.run()
