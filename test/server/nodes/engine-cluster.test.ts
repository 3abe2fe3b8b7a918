import { equal, is, match, ok } from 'uvu/assert'
import { defineServer, defineTool } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { fakeEngine } from '../../../scripts/sim/store/engine.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, echo } from '../_servers.js'
import { eventually } from './_eventually.js'
import { startEngineNodes } from './_nodes.js'

const test = suite('engine cluster', { timeout: 15_000 })
const definition = defineServer({ name: 'test', version: '1', tools: [count, echo] })

test('any node serves a session', async (t) => {
  const engine = fakeEngine({ lease: 20_000 })
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

test('a session moves to another node when its node leaves or dies', async (t) => {
  const engine = fakeEngine({ lease: 20_000 })
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
  // it is silent from now on, and its lease ends
  nodes[owner]?.supervisor.ref.kill()
  engine.state.leave(`node-${owner + 1}`)
  await until(async () => (await other?.text('count').catch(() => '')) !== '')
  is(await other?.text('count'), '5')
})

test('a wiped engine is told all that exists, also by the node that just changed it', async (t) => {
  const engine = fakeEngine()
  const nodes = await startEngineNodes(t, [definition, definition], (name) => engine.at(name))
  const client = new RawClient(t, nodes[0]?.url)
  await client.open()
  await client.text('count')
  engine.wipe()
  const answers: string[] = []
  await until(async () => {
    answers.push(await client.text('count').catch(String))
    return /^\d+$/.test(answers.at(-1) ?? '')
  })
  ok(Number(answers.at(-1)) > 1, answers.join())
  ok(!answers.some((answer) => answer.includes('404')), answers.join())
})

test.slow('a node cut off serves nothing until it knows what others took over', async (t) => {
  const engine = fakeEngine()
  const nodes = await startEngineNodes(t, [definition, definition], (name) => engine.at(name))
  const [cut] = nodes
  const client = await new RawClient(t, cut?.url).open()
  is(cut?.cluster.view.sessions, 1)
  engine.cut('node-1')
  await eventually(() => cut?.cluster.view.isUp === false)
  // the engine has noticed before, and has ended a lease that is not over here
  engine.state.leave('node-1')
  const limits = {
    lease: 2_500,
    client: undefined,
    ttl: 60_000,
    maxSessions: 10,
    maxPerClient: 10,
    mayTakeOver: true,
  }
  engine.state.claim({ node: 'node-2', session: String(client.sessionId), ...limits })
  engine.heal('node-1')
  await eventually(() => cut?.cluster.problem === undefined)
  is(cut?.cluster.view.sessions, 0)
})

test('a request begun before a takeover is not begun again', async (t) => {
  let begun = 0
  const gate = new Gate()
  const slow = defineTool({
    name: 'slow',
    session: true,
    async run(_args, ctx) {
      begun += 1
      gate.reached()
      await gate.opened
      await ctx.update('slow', () => true)
      return 'done'
    },
  })
  const engine = fakeEngine()
  const slowly = defineServer({ name: 'test', version: '1', tools: [count, slow] })
  const nodes = await startEngineNodes(t, [slowly, slowly], (name) => engine.at(name))
  const [first, second] = nodes.map(({ url }) => new RawClient(t, url)) as [RawClient, RawClient]
  await first.open()
  second.sessionId = first.sessionId
  const working = first.text('slow').catch(String)
  await gate.wasReached
  engine.state.leave('node-1')
  is(await second.text('count'), '1')
  gate.open()
  match(await working, /try once more|-32603/)
  is(begun, 1)
  is(await second.text('count'), '2')
})

test.run()

/** Holds up who comes, until it is opened. */
class Gate {
  reached = (): void => {}
  open = (): void => {}
  readonly wasReached = new Promise<void>((resolve) => {
    this.reached = resolve
  })
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}
