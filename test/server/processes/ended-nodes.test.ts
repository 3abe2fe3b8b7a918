import * as assert from 'uvu/assert'
import { defineActor, type RefOf, startActor, startTaskSupervisor, systemWorld } from 'caduceus/runtime'
import { inMemory } from 'caduceus/server'
import type { Envelope } from '../../../server/cluster/envelope.js'
import { Elsewhere } from '../../../server/cluster/cluster.js'
import { clusterPort, type LocalPort } from '../../../server/cluster/port.js'
import { LocalEngine } from '../../../server/engine/local-engine.js'
import { hubActor } from '../../../server/processes/hub.js'
import { NodeCluster } from '../../../server/processes/node-cluster.js'
import type { NodeRef } from '../../../server/processes/node-ref.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('processes that have ended')
const peer = { transport: 'http', headers: {}, remoteAddress: undefined }
const outlet = { send: () => false }
const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'count' } } as const

interface Node {
  of?: NodeCluster
  /** Resolves once what is on its way to this node arrives. */
  way: Promise<void>
}

/** Hears what a node hears, as `server/node.ts` does. */
const nodeActor = defineActor({
  name: 'node',
  init: (node: Node) => node,
  cast: {
    async envelope(node, { from, envelope }: { from: string; envelope: Envelope }) {
      await node.way
      node.of?.inbox?.receive(from, envelope)
    },
    async ended(node, name: string) {
      await node.way
      node.of?.ended(name)
    },
    async gone(node, name: string) {
      await node.way
      node.of?.gone(name)
    },
  },
})

/** Two nodes; the session was on the second one last, and is served by the first from now on. */
async function startTwo(t: TestContext) {
  const supervisor = await startTasks(t)
  const engine = LocalEngine.parts(inMemory())
  const input = { engine, maxSessions: 10, maxSessionsPerClient: undefined, idleTimeout: 60_000 }
  const hub = await startActor(hubActor, { ...input, tasks: supervisor })
  t.after(() => hub.stop())
  const first: Node = { way: Promise.resolve() }
  const here = await startActor(nodeActor, first)
  const there = await startActor(nodeActor, { way: Promise.resolve() })
  for (const ref of [here, there]) t.after(() => ref.stop().catch(() => {}))
  const cluster = new NodeCluster('here', hub, ['what the nodes of these tests seal with'])
  first.of = cluster
  await hub.call('join', { name: 'here', ref: here as unknown as NodeRef })
  await hub.call('join', { name: 'there', ref: there as unknown as NodeRef })
  let asked = 0
  const local = {
    revisions: undefined,
    knows: () => false,
    async deliver() {
      asked += 1
      if (asked === 1) throw new Elsewhere('there')
      return { jsonrpc: '2.0', id: 7, result: { served: 'here' } }
    },
  } as unknown as LocalPort
  const port = clusterPort(local, cluster, systemWorld)
  t.after(cluster.listen(port))
  return { port, hub, there, first }
}

async function startTasks(t: TestContext) {
  const holder = defineActor({
    name: 'holder',
    init: (_: undefined, ctx) => startTaskSupervisor(ctx, { name: 'tasks' }),
    call: { share: (tasks) => tasks.ref },
  })
  const ref: RefOf<typeof holder> = await startActor(holder, undefined)
  t.after(() => ref.stop())
  return ref.call('share')
}

test('a call that meets the end of its node is served by another', async (t) => {
  const { port, hub, there, first } = await startTwo(t)
  let arrive = (): void => {}
  first.way = new Promise((resolve) => {
    arrive = resolve
  })
  there.kill()
  assert.is((await hub.call('nodes')).length, 1)
  // the hub has told of the end, and this node has not heard of it
  const answering = port.deliver('a session', call, outlet, peer)
  for (let turns = 0; turns < 10; turns += 1) await hub.call('nodes')
  arrive()
  assert.equal(await answering, { jsonrpc: '2.0', id: 7, result: { served: 'here' } })
})

test('a call whose node ended is answered with a retryable error', async (t) => {
  const { port, hub, there } = await startTwo(t)
  const answering = port.deliver('a session', call, outlet, peer)
  // what was asked has left the hub by then
  for (let turns = 0; turns < 10; turns += 1) await hub.call('nodes')
  there.kill()
  const answer = await answering
  assert.is(answer && 'error' in answer && answer.error.code, -32603)
})

test.run()
