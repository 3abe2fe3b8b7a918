import {
  type ActorRef,
  childSpec,
  defineActor,
  startSupervisor,
  type TaskSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import {
  records,
  type Server,
  type ServerDefinition,
  type ServerOptions,
  type SessionStore,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { News } from '../../../server/cluster/cluster.js'
import type { Envelope } from '../../../server/cluster/envelope.js'
import { LocalEngine } from '../../../server/engine/local-engine.js'
import { type HubInput, hubActor, type HubRef } from '../../../server/processes/hub.js'
import { NodeCluster } from '../../../server/processes/node-cluster.js'
import type { NodeRef } from '../../../server/processes/node-ref.js'
import { nodeSpec } from '../../../server/server-supervisor.js'
import { memorySessions } from '../engine/_file-store.js'
import type { TestContext } from '../../support/suite.js'

const secrets = ['what the nodes of these tests seal with']

export interface TestNode {
  readonly name: string
  readonly url: string
  readonly server: Server
  readonly ref: ActorRef
  readonly cluster: NodeCluster
  /** Lets its sessions go, as a node does that is replaced. */
  retire(signal?: AbortSignal): Promise<void>
}

interface NodeInput {
  readonly definition: ServerDefinition
  readonly options: Partial<ServerOptions>
  readonly name: string
  readonly hub: HubRef
}

/** A node in this program, on a port of its own: all that `server/node.ts` does but the processes. */
const testNode = defineActor({
  name: 'node',
  async init({ definition, options, name, hub }: NodeInput, ctx) {
    const cluster = new NodeCluster(name, hub, secrets)
    const spec = nodeSpec(definition, { transport: serveHttp(), name, ...options }, cluster)
    const { extra } = (await spec.start(ctx)) as { readonly extra: Server }
    await hub.call('join', { name, ref: ctx.self as unknown as NodeRef })
    return { cluster, server: extra }
  },
  call: { share: (node) => node },
  cast: {
    envelope: ({ cluster }, { from, envelope }: { from: string; envelope: Envelope }) =>
      cluster.inbox?.receive(from, structuredClone(envelope)),
    hear: ({ cluster }, news: News) => cluster.inbox?.hear(news),
    ended: ({ cluster }, node: string) => cluster.ended(node),
    gone: ({ cluster }, node: string) => cluster.gone(node),
  },
})

/** Nodes of one server, which share its sessions. */
export async function startNodes(
  t: Pick<TestContext, 'after'>,
  definitions: readonly ServerDefinition[],
  options: Partial<ServerOptions> = {},
  limits: Partial<HubInput> & { readonly store?: SessionStore } = {},
): Promise<{ nodes: TestNode[]; hub: HubRef }> {
  const supervisor = await startSupervisor({
    name: 'nodes',
    strategy: 'one_for_one',
    children: [],
    logger: false,
  })
  t.after(() => supervisor.stop())
  const { extra } = await supervisor.startChild(taskSupervisorSpec())
  const { store = memorySessions(), ...own } = limits
  const engine = LocalEngine.parts(records(store))
  const tasks = (extra as TaskSupervisor).ref
  const room = { maxSessions: 10_000, maxSessionsPerClient: undefined, idleTimeout: 60_000 }
  const input = { engine, tasks, ...room, ...own }
  const { ref } = await supervisor.startChild(childSpec(hubActor, input))
  const hub = ref as HubRef
  const nodes = await Promise.all(
    definitions.map(async (definition, index): Promise<TestNode> => {
      const name = `node ${index + 1}`
      const spec = childSpec(testNode, { definition, options, name, hub }, { id: name, restart: 'temporary' })
      const node = (await supervisor.startChild(spec)).ref as ActorRef<{ share(): never }>
      const { cluster, server } = (await node.call('share')) as { cluster: NodeCluster; server: Server }
      const retire = async (signal = new AbortController().signal): Promise<void> => {
        hub.cast('retire', name)
        await cluster.inbox?.retire(signal)
      }
      return { name, url: String(server.url), server, ref: node, cluster, retire }
    }),
  )
  return { nodes, hub }
}
