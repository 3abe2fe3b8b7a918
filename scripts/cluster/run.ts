import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../runtime/base/errors.js'
import type { Event } from '../sim/history/history.js'
import { readEvents } from '../soak/history-log.js'
import { startPace } from '../soak/pace.js'
import { createRandom } from '../soak/random.js'
import { countsOf, spreadOf } from '../soak/report.js'
import { Violations } from '../soak/violations.js'
import { audit, type Episode } from './audit.js'
import { type Answered, type Balancer, startBalancer } from './balancer.js'
import { machineNow } from './clock.js'
import { Drivers } from './drivers.js'
import { EngineHost } from './engine.js'
import { type ClusterFault, clusterFaults } from './faults.js'
import { type ClusterNode, startNode } from './nodes.js'
import type { ClusterOptions } from './options.js'
import { placesOf } from './plan.js'
import { type Probe, probe } from './probes.js'
import { ProbeBooks } from './probe-books.js'
import type { ClusterReport } from './report.js'

/** Who hears of a run, and who may end it early. */
export interface Surroundings {
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const nodeCount = 3
const driverCount = 3
const probeCount = 12
/** Milliseconds between two calls of all clients together: what two cores can do beside all the rest. */
const callEvery = 12
/** Milliseconds in which all nodes serve again once nothing is broken any more. */
const wholeWithin = 10_000
/** Milliseconds between two faults: the least, and the most. */
const peace = [1_000, 5_000] as const

/** Runs nodes, clients and faults for so many minutes, and answers what was wrong. */
export async function runCluster(
  options: ClusterOptions,
  { say, signal }: Surroundings,
): Promise<ClusterReport> {
  const { minutes, clients, seed } = options
  const undos: (() => unknown)[] = []
  const undo = { after: (fn: () => unknown): void => void undos.push(fn) }
  const begun = machineNow()
  const at = (): number => machineNow() - begun
  const violations = new Violations()
  const pids = new Set<number>([process.pid])
  const pace = startPace(() => pids)
  undo.after(() => pace.stop())
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-cluster-'))
  undo.after(() => rm(folder, { recursive: true, force: true }))
  const episodes: Episode[] = []
  const whole: number[] = []
  const books = new ProbeBooks(violations)
  const statuses = new Map<string, number>()
  const places = placesOf(clients)
  say(`seed ${seed}: ${clients} clients for ${minutes} min`)
  try {
    await Promise.all(['nodes', 'clients'].map((name) => mkdir(join(folder, name))))
    const engine = await EngineHost.start(undo, nodeCount)
    const nodes: ClusterNode[] = []
    for (let i = 0; i < nodeCount; i++) {
      const node = await startNode(join(folder, 'nodes', `node-${i}`), engine.url(i))
      undo.after(() => node.host.kill())
      nodes.push(node)
    }
    const balancer = await startBalancer(
      nodes.map(({ port }) => port),
      answered,
    )
    undo.after(() => balancer.close())
    await isWhole(balancer)
    const drivers = await Drivers.start(driverCount, places, {
      folder: join(folder, 'clients'),
      url: balancer.url,
      seed,
      begun,
      callEvery: callEvery * clients,
    })
    undo.after(() => drivers.kill())
    for (const pid of drivers.pids) pids.add(pid)
    say(`${seconds()} s: all are ready`)
    drivers.begin()
    const over = new AbortController()
    const probes = probe(balancer.url, probeCount, () => pace.now(), probed, over.signal)
    const reports = setInterval(() => {
      const wrong = [...violations.byKind].map(([kind, count]) => `${count} ${kind}`).join(', ')
      say(
        `${seconds()} s: ${drivers.calls} calls, ${episodes.length} faults, ${violations.count} violations ${wrong}`,
      )
    }, 10_000)
    undo.after(() => clearInterval(reports))
    const faults = await breakThings(nodes, engine, balancer)
    const faultsEnded = at()
    say(`${seconds()} s: nothing breaks any more`)
    for (const wrong of await drivers.finish()) {
      const [kind = '', ...rest] = wrong.split(': ')
      violations.add(kind, rest.join(': '))
    }
    over.abort()
    await probes
    const full = engine.size()
    const { calls, codes } = drivers
    await drivers.close()
    say(`${seconds()} s: clients closed`)
    const closed = engine.size()
    for (const { host } of nodes) await host.stop()
    audit(
      places,
      await reader(),
      (await eventsIn(join(folder, 'nodes'))).filter((event) => !('token' in event && isProbe(event.token))),
      episodes,
      faultsEnded,
      pace.speeds().mean,
      violations,
    )
    return {
      minutes,
      seed,
      clients,
      calls,
      outcomes: countsOf(codes),
      faults: countsOf(faults),
      statuses: countsOf(statuses),
      servedAfterKill: spreadOf(books.afterKill),
      servedAfterStop: spreadOf(books.afterStop),
      refusals: spreadOf(books.refusals),
      whole: spreadOf(whole),
      pace: pace.speeds(),
      engine: { full, closed },
      violations: violations.count,
      violationsByKind: countsOf(violations.byKind),
      violationList: violations.list,
    }
  } finally {
    for (const each of undos.reverse()) await each()
  }

  function seconds(): number {
    return Math.round(at() / 1_000)
  }

  /** Breaks one thing after the other until the time is over. Answers how often what was done. */
  async function breakThings(
    nodes: readonly ClusterNode[],
    engine: EngineHost,
    balancer: Balancer,
  ): Promise<ReadonlyMap<string, number>> {
    const random = createRandom(seed)
    const done = new Map<string, number>()
    const wanted = clusterFaults.filter(({ name }) => options.faults.includes(name))
    const end = at() + minutes * 60_000
    const rest = async (ms: number): Promise<void> => {
      await sleep(ms, undefined, { signal }).catch(() => {})
    }
    while (at() < end && !signal.aborted) {
      await rest(random.between(...peace))
      const fault = random.pick(wanted, ({ weight }) => weight)
      if (fault === undefined || signal.aborted) break
      done.set(fault.name, (done.get(fault.name) ?? 0) + 1)
      const episode: Episode = { fault, from: at(), to: Number.POSITIVE_INFINITY }
      episodes.push(episode)
      books.begin(fault.costs, pace.now())
      await runFault(fault)
      const mended = pace.now()
      await isWhole(balancer)
      const took = pace.now() - mended
      whole.push(took)
      if (took > wholeWithin)
        violations.add('not whole in time', `${Math.round(took)} ms after ${fault.name}`)
      episode.to = at()
      books.end(pace.now())
    }
    await rest(peace[1])
    return done

    async function runFault(fault: ClusterFault): Promise<void> {
      try {
        await fault.run({
          nodes,
          engine,
          random: createRandom(random.between(0, 2 ** 32 - 1)),
          wait: (ms) => sleep(ms),
          gone: (how) => books.gone(how, pace.now()),
          away: () => books.away(pace.now()),
          back: () => books.back(),
          whole: () => isWhole(balancer),
        })
      } catch (error) {
        violations.add('fault failed', `${fault.name}: ${messageOf(error)}`)
      }
    }
  }

  async function isWhole(balancer: Balancer): Promise<void> {
    const end = performance.now() + 6 * wholeWithin
    while (balancer.serving.length < nodeCount && performance.now() < end) await sleep(20)
    if (balancer.serving.length < nodeCount)
      violations.add(
        'not whole',
        `only the nodes ${balancer.serving.join(', ')} serve, ${seconds()} s into the run`,
      )
  }

  function answered({ status, ms, retryAfter, node }: Answered): void {
    statuses.set(String(status), (statuses.get(String(status)) ?? 0) + 1)
    if (status === 401) violations.add('401', `node ${node}, ${seconds()} s into the run`)
    if (status === 503) books.refused(ms, retryAfter, pace.now())
  }

  function probed(one: Probe): void {
    books.probed(one)
  }

  async function reader(): Promise<(client: string) => readonly Event[]> {
    const files = new Map<string, string>()
    for (const driver of await readdir(join(folder, 'clients')))
      for (const name of await readdir(join(folder, 'clients', driver)))
        files.set(name, await readFile(join(folder, 'clients', driver, name), 'utf8'))
    return (client) => readEvents(files.get(client) ?? '')
  }
}

async function eventsIn(folder: string): Promise<Event[]> {
  const names = await readdir(folder)
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.flatMap(readEvents)
}

function isProbe(token: string | undefined): boolean {
  return token?.startsWith('probe-') === true
}
