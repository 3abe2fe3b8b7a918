import {
  type ActorRef,
  childSpec,
  defineActor,
  startSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { inMemory, type Server, type ServerDefinition, type ServerOptions } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { Bell } from '../../../server/engine/engine.js'
import { LocalEngine } from '../../../server/engine/local-engine.js'
import type { EngineCluster } from '../../../server/nodes/engine-cluster.js'
import { SealedIds } from '../../../server/engine/sealed-ids.js'
import { hostActor, type HostRef } from '../../../server/processes/host.js'
import { HostedEngine } from '../../../server/processes/hosted-engine.js'
import type { NodeRef } from '../../../server/processes/node-ref.js'
import { nodeSpec } from '../../../server/server-supervisor.js'
import type { TestContext } from '../../support/suite.js'
import { clusterOf, retire } from '../nodes/_cluster-of.js'

export interface TestNode {
  readonly name: string
  readonly url: string
  readonly server: Server
  readonly ref: ActorRef
  readonly cluster: EngineCluster
  /** Lets its sessions go, as a node does that is about to end. */
  retire(): Promise<void>
}

interface NodeInput {
  readonly definition: ServerDefinition
  readonly options: Partial<ServerOptions>
  readonly name: string
  readonly host: HostRef
  readonly ids: SealedIds | undefined
}

const settings = { lease: 10_000, keys: undefined, maxInbox: 10_000, isPrivate: true }

/** A node in this program, on a port of its own: all that `server/node.ts` does but the processes. */
const testNode = defineActor({
  name: 'node',
  async init({ definition, options, name, host, ids }: NodeInput, ctx) {
    await host.call('join', { name, ref: ctx.self as unknown as NodeRef })
    const engine = new HostedEngine({ name: 'memory', settings }, host, ids && new SealedIds(ids.options))
    const given = { transport: serveHttp(), name, ...options, engine }
    const { extra } = (await nodeSpec(definition, given, name).start(ctx)) as { readonly extra: Server }
    return { engine, server: extra }
  },
  call: { share: (node) => node },
  cast: { bell: ({ engine }, bell: Bell) => engine.ring(bell) },
})

/** Nodes of one server, which share its sessions by the engine of a program. */
export async function startNodes(
  t: Pick<TestContext, 'after'>,
  definitions: readonly ServerDefinition[],
  options: Partial<ServerOptions> = {},
  engine: LocalEngine = inMemory(),
): Promise<{ nodes: TestNode[]; host: HostRef }> {
  const supervisor = await startSupervisor({
    name: 'nodes',
    strategy: 'one_for_one',
    children: [],
    logger: false,
  })
  t.after(() => supervisor.stop())
  const { extra } = await supervisor.startChild(taskSupervisorSpec())
  const tasks = (extra as TaskSupervisor).ref
  const parts = LocalEngine.parts(engine)
  const input = { engine: parts, tasks, maxSessions: 10_000, idleTimeout: 60_000 }
  const host = (await supervisor.startChild(childSpec(hostActor, input))).ref as HostRef
  const nodes = await Promise.all(
    definitions.map(async (definition, index): Promise<TestNode> => {
      const name = `node ${index + 1}`
      const spec = childSpec(
        testNode,
        { definition, options, name, host, ids: parts.ids },
        { id: name, restart: 'temporary' },
      )
      const ref = (await supervisor.startChild(spec)).ref as ActorRef<{ share(): never }>
      const { server } = (await ref.call('share')) as { server: Server }
      const cluster = await clusterOf(server)
      return { name, url: String(server.url), server, ref, cluster, retire: () => retire(cluster) }
    }),
  )
  return { nodes, host }
}
