import type { Verb } from '../sim/history/history.js'
import type { Random } from '../soak/random.js'
import type { EngineHost } from './engine.js'
import type { ClusterNode } from './nodes.js'

/** What a fault breaks, and what it may do besides. */
export interface FaultScope {
  readonly nodes: readonly ClusterNode[]
  readonly engine: EngineHost
  readonly random: Random
  wait(ms: number): Promise<void>
  /** A node has gone this moment: its sessions have to be served by others. */
  gone(how: 'kill' | 'stop'): void
  /** All nodes are without the engine from now on, and until `back`. */
  away(): void
  back(): void
  /** Resolves when all nodes say that they serve. */
  whole(): Promise<void>
}

/** One way in which a cluster breaks, until it is whole again. */
export interface ClusterFault {
  readonly name: string
  readonly verb: Verb
  /** How likely it is, beside the others. */
  readonly weight: number
  /** What it may cost: nothing, the calls that are made meanwhile, or sessions whose owner the engine has forgotten. */
  readonly costs: 'nothing' | 'calls' | 'sessions'
  run(scope: FaultScope): Promise<void>
}

/** The lease of a node in ms, as it is by default. */
const lease = 2_500

/** All that can break. */
export const clusterFaults: readonly ClusterFault[] = [
  {
    name: 'kill',
    verb: 'kill',
    weight: 12,
    costs: 'calls',
    async run({ nodes, random, gone, wait }) {
      const node = one(nodes, random)
      await node.host.kill()
      gone('kill')
      await wait(random.between(0, 5_000))
      await node.start()
    },
  },
  {
    name: 'stall',
    verb: 'freeze',
    weight: 8,
    costs: 'calls',
    async run({ nodes, random, wait }) {
      const node = one(nodes, random)
      node.host.signal('SIGSTOP')
      try {
        await wait(random.between(lease * 1.3, lease * 2.5))
      } finally {
        node.host.signal('SIGCONT')
      }
    },
  },
  {
    name: 'cut',
    verb: 'cut',
    weight: 8,
    costs: 'calls',
    run: (scope) => overWay(scope, (way) => way.cut()),
  },
  {
    name: 'hold',
    verb: 'cut',
    weight: 5,
    costs: 'calls',
    run: (scope) => overWay(scope, (way) => way.hold()),
  },
  {
    name: 'one-way',
    verb: 'oneWayCut',
    weight: 8,
    costs: 'calls',
    run: (scope) =>
      overWay(scope, (way) => way.silence(scope.random.between(0, 1) === 0 ? 'client' : 'server')),
  },
  {
    name: 'reset',
    verb: 'reset',
    weight: 5,
    costs: 'calls',
    async run({ nodes, engine, random }) {
      engine.ways[random.between(0, nodes.length - 1)]?.reset()
    },
  },
  {
    name: 'delay',
    verb: 'slow',
    weight: 4,
    costs: 'nothing',
    run: (scope) => overWay(scope, (way) => way.delay(scope.random.between(5, 50))),
  },
  {
    name: 'restart',
    verb: 'kill',
    weight: 6,
    costs: 'calls',
    async run({ engine, random, wait, away, back }) {
      away()
      await engine.kill()
      await wait(random.between(0, 5_000))
      await engine.start({ wiped: false })
      back()
    },
  },
  {
    name: 'freeze',
    verb: 'freeze',
    weight: 6,
    costs: 'calls',
    async run({ engine, random, wait, away, back }) {
      away()
      engine.freeze()
      try {
        await wait(random.between(500, 6_000))
      } finally {
        engine.thaw()
        back()
      }
    },
  },
  {
    name: 'wipe',
    verb: 'lose',
    weight: 2,
    costs: 'sessions',
    async run({ engine, random, wait, away, back }) {
      away()
      await engine.kill()
      await wait(random.between(0, 1_000))
      await engine.start({ wiped: true })
      back()
    },
  },
  {
    name: 'fail-over',
    verb: 'lose',
    weight: 4,
    costs: 'sessions',
    async run({ engine, away, back }) {
      away()
      await engine.failOver()
      back()
    },
  },
  {
    // the clock of the engine is the machine's, and only root can set that
    name: 'jump',
    verb: 'jump',
    weight: 4,
    costs: 'nothing',
    async run({ nodes, random, wait }) {
      const node = one(nodes, random)
      const [there, again] =
        random.between(0, 1) === 0 ? (['later', 'earlier'] as const) : (['earlier', 'later'] as const)
      node.host.tell(there)
      await wait(random.between(1_000, 4_000))
      node.host.tell(again)
    },
  },
  {
    name: 'deploy',
    verb: 'upgrade',
    weight: 6,
    costs: 'nothing',
    async run({ nodes, gone, whole }) {
      for (const { host, start } of nodes) {
        await host.stop()
        gone('stop')
        await start()
        await whole()
      }
    },
  },
]

/** Their names, as the program takes them. */
export const faultNames: readonly string[] = clusterFaults.map(({ name }) => name)

function one(nodes: readonly ClusterNode[], random: Random): ClusterNode {
  return random.pick(nodes) ?? (nodes[0] as ClusterNode)
}

/** The way of one node to the engine breaks for a while. */
async function overWay(
  { engine, random, wait }: FaultScope,
  breaks: (way: EngineHost['ways'][number]) => void,
): Promise<void> {
  const way = random.pick(engine.ways)
  if (way === undefined) return
  breaks(way)
  await wait(random.between(300, lease * 2))
  way.clear()
}
