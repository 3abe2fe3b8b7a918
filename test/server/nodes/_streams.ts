import { startSupervisor, systemWorld, type World } from 'caduceus/runtime'
import type { ClusterEngine } from 'caduceus/server'
import { type FakeEngine, fakeEngine } from '../../../scripts/sim/store/engine.js'
import { clusterSpec } from '../../../server/nodes/cluster-supervisor.js'
import type { ClusterSettings } from '../../../server/engine/engine.js'
import { EngineCluster } from '../../../server/nodes/engine-cluster.js'
import { setTimeout as delay } from 'node:timers/promises'
import type { EventLogLimits } from '../../../transports/contract/shared-streams.js'
import { EventLog } from '../../../transports/http/streams/event-log.js'
import { SharedLog } from '../../../transports/http/streams/shared-log.js'
import type { TestContext } from '../../support/suite.js'
import { roomy } from '../../transports/http/streams/_logs.js'

/** A node that only keeps event streams. */
export interface StreamNode {
  readonly name: string
  readonly cluster: EngineCluster
  readonly log: EventLog
  readonly shared: SharedLog
  /** In order, as a server does when it stops. */
  leave(): Promise<void>
}

export interface StreamNodes {
  readonly engine: FakeEngine
  readonly nodes: readonly StreamNode[]
  start(name: string): Promise<StreamNode>
  /** The engine hears of it no more, and the others are told so once its lease is over. */
  die(node: StreamNode): Promise<void>
}

/** Nodes over the simulated engine, each on a machine of its own. */
export async function startStreamNodes(
  t: Pick<TestContext, 'after'>,
  count: number,
  {
    limits = {},
    settings = {},
  }: { limits?: Partial<EventLogLimits>; settings?: Partial<ClusterSettings> } = {},
): Promise<StreamNodes> {
  const engine = fakeEngine({ lease: 1_000, ...settings })
  const all: StreamNode[] = []
  const start = async (name: string): Promise<StreamNode> => {
    const node = await startStreamNode(t, engine.at(name), name, limits)
    all.push(node)
    // others are taken for dead by who has been there for a while only
    await until(() => node.cluster.view.nodes.length === engine.state.nodes.length)
    return node
  }
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`)
  const nodes = await Promise.all(names.map(start))
  const die = async ({ name }: StreamNode): Promise<void> => {
    engine.cut(name)
    await until(() => !engine.state.nodes.includes(name))
  }
  return { engine, nodes, start, die }
}

/** One node; it ends with the test. */
export async function startStreamNode(
  t: Pick<TestContext, 'after'>,
  engine: ClusterEngine,
  name: string,
  limits: Partial<EventLogLimits> = {},
  world: World = systemWorld,
): Promise<StreamNode> {
  const sessions = { idleTimeout: 60_000, maxSessions: 100, maxSessionsPerClient: undefined }
  const cluster = new EngineCluster(engine, { world, server: 'tests', ...sessions, node: name })
  const nothing = (): void => {}
  const later = async (): Promise<void> => {}
  // without one nothing is taken
  const inbox = {
    receive: nothing,
    gone: nothing,
    hear: nothing,
    lost: nothing,
    settled: later,
    retire: later,
  }
  cluster.listen(inbox)
  const supervisor = await startSupervisor({
    name,
    strategy: 'rest_for_one',
    logger: false,
    children: [clusterSpec(cluster, `${name}/cluster`)],
  })
  t.after(() => supervisor.ref.alive && supervisor.stop())
  const log = new EventLog({ ...roomy, maxAge: 60_000, ...limits }, world)
  const shared = new SharedLog(log, cluster.streams)
  const leave = async (): Promise<void> => {
    shared.close()
    await supervisor.stop()
  }
  return { name, cluster, log, shared, leave }
}

/** Resolves once `holds` is true: of engines there are no events to wait for. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(5)
}
