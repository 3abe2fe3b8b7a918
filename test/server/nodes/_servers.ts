import {
  type ClusterEngine,
  type Server,
  type ServerDefinition,
  type ServerOptions,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { ClusterSettings } from '../../../server/engine/engine.js'
import { FakeEngine } from '../../../scripts/sim/store/engine.js'
import { createRandom } from '../../../scripts/soak/random.js'
import type { TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { everything } from '../context/_asking.js'

/** The way of the node with this number to the engine of a test. */
export type WayTo = (index: number) => ClusterEngine

/** An engine in this program, in the time of the system. A lease lasts longer than a machine stands still. */
export function startFake(settings: Partial<ClusterSettings> = {}): {
  readonly engine: FakeEngine
  readonly wayTo: WayTo
} {
  const { now } = performance
  const ground = {
    now: now.bind(performance),
    after: (ms: number, _label: string, fn: () => void) => void setTimeout(fn, ms),
  }
  const engine = new FakeEngine(ground, createRandom(1), { lease: 20_000, ...settings })
  return { engine, wayTo: (index) => engine.at(`machine ${index}`) }
}

/** Servers on ports of their own that serve the same sessions; `keys` are the same for all. */
export async function startCluster(
  t: Pick<TestContext, 'after'>,
  wayTo: WayTo,
  definitions: readonly ServerDefinition[],
  options: Partial<ServerOptions> = {},
): Promise<Server[]> {
  return Promise.all(definitions.map((definition, index) => startNode(t, wayTo(index), definition, options)))
}

export async function startNode(
  t: Pick<TestContext, 'after'>,
  engine: ClusterEngine,
  definition: ServerDefinition,
  options: Partial<ServerOptions> = {},
): Promise<Server> {
  const server = await startServer(definition, {
    transport: serveHttp({ health: true }),
    timeouts: { drain: 2_000 },
    logger: false,
    signals: false,
    engine,
    ...options,
  })
  t.after(() => server.stop())
  return server
}

/** Waits until something holds of what tells of nothing by itself, such as another node. */
export async function eventually(holds: () => unknown, ms = 5_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`eventually: it did not hold within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A client of each node in the same session, which runs on the first. */
export async function startClients(
  t: Pick<TestContext, 'after'>,
  servers: readonly Server[],
  revision = '2025-11-25',
): Promise<[RawClient, RawClient, RawClient]> {
  const clients = servers.map(({ url }) => new RawClient(t, url)) as [RawClient, RawClient, RawClient]
  const [first] = clients
  await first.open('raw', revision, everything)
  for (const client of clients) {
    client.sessionId = first.sessionId
    client.revision = first.revision
  }
  return clients
}
