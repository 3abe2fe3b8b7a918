import { resetTimers } from './world/foreign.js'
import { type Event, type Facts, Recorder } from './history/history.js'
import { Vaults } from './auth/identity.js'
import { Intruder } from './auth/intruder.js'
import { IssuerHost } from './auth/issuer-host.js'
import { Network } from './network/network.js'
import { takeSockets } from './network/take-sockets.js'
import { drawPlan } from './plan/draw.js'
import { isOf, type Plan, type ServerPlan } from './plan/plan.js'
import { loadAll } from './world/warm.js'
import { Disk } from './store/disk.js'
import { FakeEngine } from './store/engine.js'
import { makeCalls } from './cast/calls.js'
import { ClientHost } from './cast/client-host.js'
import { examine, type Examined, rest, restOfClients, toldWithin } from './cast/exam.js'
import { breakIt, type Cast } from './cast/faults.js'
import { ServerHost, usualIdle } from './cast/server-host.js'
import type { Stage } from './cast/stage.js'
import { watchPrograms } from './cast/watching.js'
import { chanceOf } from './world/chance.js'
import { watchLeftovers } from './world/leftovers.js'
import { takeGlobals } from './world/globals.js'
import { Program } from './world/program.js'
import { Simulator } from './world/simulator.js'
import { Tables } from './world/tables.js'
import { Trace } from './world/trace.js'

export interface Outcome {
  /** The digest of everything that happened. */
  readonly hash: string
  readonly history: readonly Event[]
  readonly facts: Facts
  /** What went wrong beyond the history. */
  readonly broken: readonly string[]
  readonly steps: number
  /** Simulated ms. */
  readonly simulated: number
}

/** ms in which all has to be well again after the last fault. */
export const calmWithin = 150_000
/** ms until what was given up has ended where it was done. */
const settleTime = 5_000
/** ms for an orderly end. */
const endWithin = 120_000

/** Carries a plan out. The same plan has the same outcome, byte for byte. */
export async function simulate(plan: Plan, tell?: (line: string) => void): Promise<Outcome> {
  warmth.done ??= loadAll().then(() => carryOut(drawPlan(0, 5)))
  await warmth.done
  return carryOut(plan, tell)
}

/** The first run in a process finds nothing loaded: its outcome counts for nothing. */
const warmth: { done?: Promise<unknown> } = {}

async function carryOut(plan: Plan, tell?: (line: string) => void): Promise<Outcome> {
  const simulator = new Simulator(plan.seed, new Trace(tell))
  const network = new Network(simulator)
  const undo = [
    watchLeftovers(),
    takeGlobals(new Program(simulator, 'host', '127.0.0.1'), simulator.native),
    takeSockets(network),
  ]
  const tables = new Tables()
  undo.push(() => tables.end())
  const broken: string[] = []
  const recorder = new Recorder(() => simulator.now)
  const open = new OpenCalls()
  recorder.onEvent = (event) => {
    simulator.note('history', JSON.stringify(event))
    open.see(event)
  }
  const stage: Stage = {
    plan,
    simulator,
    network,
    recorder,
    disk: new Disk(chanceOf(plan.seed, 'disk')),
    engines: enginesOf(plan, simulator),
    vaults: new Vaults(),
    tables,
    farewells: new Set(),
    watched: new WeakSet(),
    hosts: new Map(),
    broken: (what, error) => {
      const text =
        error === undefined ? what : `${what}: ${error instanceof Error ? error.message : String(error)}`
      simulator.note('broken', text)
      broken.push(text)
    },
  }
  undo.push(watchPrograms(stage))
  let hash = ''
  let history: readonly Event[] = []
  try {
    await perform(stage, open)
  } finally {
    hash = simulator.trace.end()
    // what dead programs do while they are cleared away has not happened
    history = [...recorder.events]
    simulator.end()
    network.end()
    await simulator.native.turn()
    for (const each of undo.reverse()) each()
    resetTimers()
  }
  const { steps, now } = simulator
  return {
    hash,
    history,
    facts: factsOf(plan),
    broken,
    steps,
    simulated: now,
  }
}

function enginesOf({ seed, servers }: Plan, simulator: Simulator): ReadonlyMap<string, FakeEngine> {
  const ground = {
    now: () => simulator.now,
    after: (ms: number, label: string, fn: () => void) =>
      void simulator.after(ms, simulator.elsewhere, label, fn),
  }
  return new Map(
    servers.flatMap(({ name, cluster }) => {
      if (cluster === undefined) return []
      const { lease, signed, maxInbox } = cluster
      const keys = signed ? [`${name} `.padEnd(40, 'key ')] : undefined
      return [[name, new FakeEngine(ground, chanceOf(seed, `engine ${name}`), { lease, keys, maxInbox })]]
    }),
  )
}

function factsOf({ store, clients, issuers, servers }: Plan): Facts {
  // those of pools and tasks have no handlers
  const deaf = new Map(
    clients
      .filter(({ kind }) => kind === 'pool' || kind === 'task')
      .map(({ name }) => [name, new Set(['log'] as const)] as const),
  )
  const [issuer] = issuers
  const tokens = issuer && { lifetime: issuer.lifetime * 1_000, refreshes: issuer.refreshes }
  const facts = {
    store,
    owners: servers.some(({ cluster }) => cluster !== undefined) ? 'fenced' : 'exclusive',
    ordered: true,
    lateBy: 5_000,
    calmWithin,
    deaf,
    queues: [],
    toldWithin,
    idle: idleOf(servers),
    room,
    rooms: new Map(clients.map(({ name }) => [name, roomOfClients])),
  } as const
  return { ...facts, ...(tokens !== undefined && { tokens }) }
}

/** What a server keeps for later, within bounds of its own. */
const room: Readonly<Record<string, number>> = {
  // pages of lists, by revision and by what a peer may see
  'server/catalog/catalog.ts': 10,
  'server/catalog/shelf.ts': 40,
  // what answers have led to, until the next one is kept: 1,000 at most
  'server/exchanges/parking.ts': 1_000,
  // who watches trees in order to start programs again
  'runtime/process/process.ts': 1,
  // what is known of tokens: the newest, as many as the option says
  'transports/auth/tokens.ts': 1_000,
  // sealed ids that were ended, until they would have ended by themselves
  'server/engine/sealed-ids.ts': Number.POSITIVE_INFINITY,
  // records of sessions that nobody came back for, until the next is saved: `limits.sessions` at most
  'server/engine/session-store.ts': Number.POSITIVE_INFINITY,
  // where sessions of other nodes were found, 10,000 at most
  'server/cluster/port.ts': 10_000,
  // nodes that are there, and what is between them and this one
  'server/nodes/node-streams.ts': 4,
  'server/nodes/messenger.ts': 4,
  'transports/http/streams/stream-archive.ts': 4,
  // batches whose answers were lost: 32 for each of three other nodes
  'server/nodes/message-queue.ts': 96,
  // what clients say of themselves, each once
  'server/holdings/known-clients.ts': 100,
  // sessions that crashed and were not asked for again: 1,000 at most
  'server/holdings/holdings-actor.ts': 1_000,
}

/** What clients have once they are connected: up to three in a program, each with its processes and streams. */
const roomOfClients: Readonly<Record<string, number>> = {
  'runtime/process/registry.ts': 6,
  'runtime/process/process.ts': 12,
  // of actors that are made when they are needed
  'runtime/process/behaviour.ts': 30,
  'client/base/demand.ts': 3,
  // requests that last: for streams of changes
  'client/calls/calls.ts': 6,
  'transports/http/client/calls.ts': 6,
  // who waits for those
  'runtime/process/call.ts': 6,
  // what was subscribed to
  'client/holdings/wishes.ts': 12,
  // tools that were listed
  'client/holdings/tool-book.ts': 40,
  'client/holdings/reports.ts': 6,
}

/** ms that a session may be unused, by the names of servers and nodes. */
function idleOf(servers: Plan['servers']): ReadonlyMap<string, number> {
  return new Map(
    servers.flatMap(({ name, timeouts, cluster }) => {
      const idle = timeouts.idle ?? usualIdle
      return [name, ...(cluster?.nodes ?? []).map((node) => node.name)].map((each) => [each, idle] as const)
    }),
  )
}

async function perform(stage: Stage, open: OpenCalls): Promise<void> {
  const { plan, simulator, recorder } = stage
  const { elsewhere } = simulator
  const servers = new Map(plan.servers.flatMap((server) => hostsOf(stage, server)))
  const serverOf = new Map(plan.servers.map((server) => [server.name, server]))
  const clients = new Map(
    plan.clients.map((client) => [client.name, new ClientHost(stage, client, serverOf)]),
  )
  const issuers = new Map(plan.issuers.map((issuer) => [issuer.name, new IssuerHost(stage, issuer)]))
  const cast: Cast = { servers, clients, issuers }
  const mends: (() => void)[] = []
  for (const host of [...issuers.values(), ...servers.values(), ...clients.values()])
    simulator.soon(elsewhere, `starts ${host.plan.name}`, () => host.start())
  for (const act of plan.acts)
    simulator.after(act.at, elsewhere, `act ${act.id}`, () => {
      const host = clients.get(act.client)
      if (act.operation === 'change') void serverFor(act.id, host?.plan.server, servers)?.change('extra')
      else if (host !== undefined) makeCalls(stage, host, act)
    })
  for (const fault of plan.faults)
    simulator.after(fault.at, elsewhere, `fault ${fault.id}`, () => {
      mends.push(breakIt(stage, cast, fault))
    })
  const [issuer] = issuers.values()
  if (issuer !== undefined) {
    const intruder = new Intruder(stage, issuer.issuer)
    for (const intrusion of plan.intrusions)
      simulator.after(intrusion.at, elsewhere, `intrusion ${intrusion.id}`, () => intruder.try(intrusion))
  }
  await must(stage, simulator.run({ until: plan.length }), 'late')
  simulator.note('elsewhere', 'faults end')
  for (const mend of mends) mend()
  for (const issuer of issuers.values()) issuer.recover()
  recorder.add({ type: 'faultsEnded' })
  const isCalm = (): boolean =>
    open.count === 0 &&
    [...servers.values()].every(({ isUp }) => isUp) &&
    [...clients.values()].every(({ isReady }) => isReady)
  // calm is what lasts: a client may find out only later that it has lost something
  const calm = async (): Promise<boolean> => {
    const end = simulator.now + calmWithin
    for (let isLasting = false; !isLasting; ) {
      if ((await simulator.run({ until: end, done: isCalm })) !== 'done') return false
      await simulator.run({ until: simulator.now + settleTime })
      isLasting = isCalm()
    }
    return true
  }
  if (!(await calm())) stage.broken('no calm in time')
  for (const host of [...servers.values(), ...clients.values()]) host.census('calm')
  const wait = async (ms: number, done: () => boolean): Promise<void> => {
    await simulator.run({ until: simulator.now + ms, done })
  }
  const examined: Examined = { stage, servers, clients, calm, wait }
  await examine(examined)
  const finish = async (hosts: readonly { close(): Promise<void> }[]): Promise<void> => {
    let isOver = false
    simulator.soon(elsewhere, 'closes', () => {
      void Promise.all(hosts.map((host) => host.close())).then(() => {
        isOver = true
      })
    })
    const last = simulator.now + endWithin
    if ((await simulator.run({ until: last, done: () => isOver })) !== 'done') stage.broken('no end in time')
  }
  await restOfClients(examined)
  await finish([...clients.values()])
  await rest(examined)
  await finish([...servers.values()])
  await simulator.run({ until: simulator.now + endWithin })
}

/** One machine, or one for each node; all behind the address that clients know. */
function hostsOf(stage: Stage, server: ServerPlan): [string, ServerHost][] {
  const { name, address, cluster } = server
  const engine = stage.engines.get(name)
  if (cluster === undefined || engine === undefined) return [[name, new ServerHost(stage, server)]]
  stage.network.share(
    address,
    cluster.nodes.map((node) => node.address),
  )
  const hosts = cluster.nodes.map((node): [string, ServerHost] => {
    if (cluster.requests !== undefined) stage.network.requests.set(node.address, cluster.requests)
    return [node.name, new ServerHost(stage, { ...server, ...node }, { engine, server })]
  })
  const hostAt = new Map(hosts)
  engine.told = (done) => hostAt.get(done.place)?.noteDone(done)
  engine.state.onLapse = (program, session, alive) =>
    stage.recorder.add({ type: 'expired', program, what: 'claim', session, alive })
  return hosts
}

/** The server of that name, or one of its nodes. */
function serverFor(
  number: number,
  name: string | undefined,
  servers: ReadonlyMap<string, ServerHost>,
): ServerHost | undefined {
  const hosts = [...servers.values()].filter(({ plan }) => isOf(name ?? '', plan.name))
  return hosts[number % hosts.length]
}

async function must(stage: Stage, run: Promise<string>, wanted: string): Promise<void> {
  const end = await run
  if (end !== wanted && end !== 'idle') stage.broken(`the run is ${end}`)
}

/** Calls that somebody waits for. */
class OpenCalls {
  readonly #programs = new Map<string, string>()

  get count(): number {
    return this.#programs.size
  }

  see(event: Event): void {
    if (event.type === 'invoke') this.#programs.set(event.call, event.program)
    else if (event.type === 'ok' || event.type === 'fail') this.#programs.delete(event.call)
    else if (event.type === 'died')
      for (const [call, program] of this.#programs) if (program === event.program) this.#programs.delete(call)
  }
}
