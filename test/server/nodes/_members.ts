import { type ActorRef, Registry, startSupervisor, type Supervisor, supervisorAt } from 'caduceus/runtime'
import type { SessionRecord } from 'caduceus/server'
import { type FakeClock, fakeClock } from 'caduceus/testing'
import { worldOn } from '../../support/world.js'
import { type FakeEngine, fakeEngine } from '../../../scripts/sim/store/engine.js'
import type { ClusterListener, ClusterNews } from '../../../server/cluster/cluster.js'
import type { PortMessage } from '../../../server/cluster/message.js'
import { clusterSpec } from '../../../server/nodes/cluster-supervisor.js'
import type { ClusterSettings } from '../../../server/engine/engine.js'
import { EngineCluster, type EngineClusterOptions } from '../../../server/nodes/engine-cluster.js'
import type { TestContext } from '../../support/suite.js'

/** What the port of a node was told, without the texts of messages. */
export type Told =
  | { readonly type: 'receive'; readonly from: string; readonly id: string; readonly what: string }
  | { readonly type: 'gone'; readonly node: string }
  | { readonly type: 'hear'; readonly news: ClusterNews }
  | { readonly type: 'lost'; readonly ids: readonly string[] }

/** A node without a server: the test is its port. */
export interface Member {
  readonly name: string
  readonly cluster: EngineCluster
  readonly supervisor: Supervisor
  /** What its port was told since the last call of this. */
  told(): Told[]
  /** One of its two actors. */
  actor(name: 'engine' | 'member'): Promise<ActorRef>
  /** The program is stopped, as by SIGSTOP: it does nothing, and its time goes on. */
  freeze(): void
  thaw(): Promise<void>
}

export interface Members {
  readonly clock: FakeClock
  readonly engine: FakeEngine
  start(
    name: string,
    options?: Partial<EngineClusterOptions>,
    settings?: Partial<ClusterSettings>,
  ): Promise<Member>
  /** Lets time pass, in steps that are small enough for what waits for one another. */
  pass(ms: number): Promise<void>
  /** Lets time pass until a promise is settled. */
  during<T>(promise: Promise<T>): Promise<T>
}

/** Nodes over an engine in memory, on a clock that the test moves. */
export function members(t: TestContext, settings: Partial<ClusterSettings> = {}): Members {
  const clock = fakeClock(1_000_000)
  const world = worldOn(clock)
  const engine = fakeEngine(settings, world)
  const frozen = new Set<string>()

  async function pass(ms: number): Promise<void> {
    const end = clock.now() + ms
    while (clock.now() < end) await clock.advance(Math.min(5, end - clock.now()))
  }

  async function during<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const settled = (): void => {
      isSettled = true
    }
    promise.then(settled, settled)
    for (let steps = 0; steps < 4_000 && !isSettled; steps += 1) await clock.advance(5)
    if (!isSettled) throw new Error('nothing comes of it in 20 s')
    return promise
  }

  async function start(
    name: string,
    options: Partial<EngineClusterOptions> = {},
    changed: Partial<ClusterSettings> = {},
  ): Promise<Member> {
    const thawed: (() => void)[] = []
    // of a program that can be stopped: its timers fire when it goes on
    const own = {
      ...world,
      setTimeout: (fn: () => void, ms: number) =>
        world.setTimeout(() => (frozen.has(name) ? void thawed.push(fn) : fn()), ms),
      setImmediate: (fn: () => void) =>
        world.setImmediate(() => (frozen.has(name) ? void thawed.push(fn) : fn())),
    }
    const opener = engine.at(name, own)
    const cluster = new EngineCluster(
      { ...opener, settings: { ...opener.settings, ...changed } },
      {
        world: own,
        server: 'tests',
        idleTimeout: 60_000,
        maxSessions: 100,
        maxSessionsPerClient: undefined,
        node: name,
        ...options,
      },
    )
    const told: Told[] = []
    cluster.listen(noteAll(told))
    const starting = startSupervisor({
      name,
      strategy: 'rest_for_one',
      logger: false,
      clock: own,
      registry: new Registry(),
      children: [clusterSpec(cluster, `${name}/cluster`)],
    })
    const supervisor = await during(starting)
    const thaw = async (): Promise<void> => {
      frozen.delete(name)
      for (const fn of thawed.splice(0)) fn()
      await clock.advance(0)
    }
    t.after(async () => {
      engine.heal(name)
      await thaw()
      if (supervisor.ref.alive) await during(supervisor.stop())
    })
    return {
      name,
      cluster,
      supervisor,
      told: () => told.splice(0),
      actor: (which) => during(actorOf(supervisor, which)),
      freeze: () => void frozen.add(name),
      thaw,
    }
  }

  return { clock, engine, start, pass, during }
}

function noteAll(told: Told[]): ClusterListener {
  return {
    receive: (from, { type, id, ...rest }: PortMessage) =>
      void told.push({ type: 'receive', from, id, what: 'ask' in rest ? rest.ask.do : type }),
    gone: (node) => void told.push({ type: 'gone', node }),
    hear: (news) => void told.push({ type: 'hear', news }),
    lost: (ids) => void told.push({ type: 'lost', ids }),
    settled: async () => {},
    retire: async () => {},
  }
}

async function actorOf(supervisor: Supervisor, name: string): Promise<ActorRef> {
  const [cluster] = await supervisor.children()
  const children = await supervisorAt(cluster?.ref as ActorRef).children()
  return children.find(({ id }) => id === name)?.ref as ActorRef
}

/** An ask that a node may be sent. */
export function askOf(id: string): PortMessage {
  return { type: 'ask', id, ask: { do: 'close', sessionId: id }, peer: undefined }
}

export function recordOf(id: string, version: number): SessionRecord {
  return {
    id,
    version,
    revision: '2025-11-25',
    client: { name: 'raw', version: '1' },
    capabilities: {},
    catalog: 0,
    state: {},
  }
}
