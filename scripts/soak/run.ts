import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CaduceusError } from 'caduceus'
import { Caller } from './calls.js'
import { makeChaos } from './chaos.js'
import { type Fleet, startFleet } from './fleet.js'
import { finish } from './finish.js'
import { HistoryLog, readEvents } from './history-log.js'
import { judge } from './judge.js'
import { Ledger } from './ledger.js'
import {
  countHandles,
  createMemoryMeter,
  moreHandles,
  slope,
  watchChildren,
  watchEventLoop,
} from './measure.js'
import type { Member } from './members.js'
import { fewestClients, type SoakOptions } from './options.js'
import { planOf } from './plan.js'
import { createRandom } from './random.js'
import { Recovery } from './recovery.js'
import { countsOf, type SoakReport, spreadOf } from './report.js'
import { startPace } from './pace.js'
import { watchStrays } from './strays.js'
import { Violations } from './violations.js'

/** Who hears of a run, and who may end it early. */
export interface Surroundings {
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Milliseconds after a cut within which a loss is told. */
const tellWithin = 5_000
/** Milliseconds in which a client is ready once its server is back. */
const readyWithin = 10_000
/** Milliseconds from the moment that a server is back until the first call that waited for it is answered: the aim of 1,500, and the work of a tool. */
const servedWithin = 2_000
/** Milliseconds between two calls of one client, on the average. */
const callEvery = 1_000
/** Milliseconds between two looks at whose turn it is. */
const lookEvery = 20
/** Milliseconds that handles may take to close. */
const closeWithin = 10_000
/** MiB that caches, compiled code and the like may have taken for good. */
const heapTolerance = 12
/** MiB that the heap may grow in a minute, where there are minutes to tell. */
const steepest = 2
const measuredMinutes = 3

/** Runs clients and faults for so many minutes, and answers what was wrong. */
export async function soak(options: SoakOptions, { say, signal }: Surroundings): Promise<SoakReport> {
  const { minutes, clients, seed } = options
  const measure = createMemoryMeter()
  const children = watchChildren()
  const pace = startPace(programs)
  const now = (): number => pace.now()
  const violations = new Violations()
  const recovery = new Recovery(violations, readyWithin)
  const free = (client: string): number => recovery.freeSince(client)
  const ledger = new Ledger(violations, { tellWithin, servedWithin, readyWithin, free })
  const begun = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-soak-'))
  // Both are made when they are first looked at, and count as handles then.
  void [process.stdout, process.stderr]
  await warmUp(folder)
  await settle(() => children.alive.size === 0)
  await sleep(100)
  const strays = watchStrays(violations)
  const handles = countHandles()
  const start = measure()
  const history = new HistoryLog(join(folder, 'history'), now)
  const heaps: [minute: number, heap: number][] = []
  say(`seed ${seed}: ${clients} clients for ${minutes} min`)
  try {
    const loop = watchEventLoop()
    const cuts = await live()
    const eventLoopDelay = loop()
    await settle(() => children.alive.size === 0 && moreHandles(handles, countHandles()).length === 0)
    for (const { spawnargs } of children.alive) violations.add('process left', spawnargs.join(' '))
    const handlesLeft = countHandles()
    for (const more of moreHandles(handles, handlesLeft)) violations.add('handle left', more)
    // As before the start: what was used last may be kept until something else is.
    await rm(join(folder, 'warm-up'), { recursive: true })
    await warmUp(folder)
    const end = measure()
    await judged()
    const growth = Number((end.heap - start.heap).toFixed(1))
    if (growth > heapTolerance) violations.add('heap', `${growth} MiB more than before`)
    const heapSlopePerMinute = Number(slope(heaps).toFixed(2))
    if (minutes >= measuredMinutes && heapSlopePerMinute > steepest)
      violations.add('heap slope', `${heapSlopePerMinute} MiB a minute`)
    return {
      minutes,
      seed,
      clients,
      calls: ledger.calls,
      outcomes: countsOf(ledger.codes),
      cuts: countsOf(cuts),
      recoveries: spreadOf(recovery.times),
      lossesTold: spreadOf(ledger.told),
      servedAgain: spreadOf(ledger.served),
      eventLoopDelay,
      pace: pace.speeds(),
      memory: { start, end, heapSlopePerMinute },
      handles: { start: handles, end: handlesLeft },
      violations: violations.count,
      violationsByKind: countsOf(violations.byKind),
      violationList: violations.list,
    }
  } finally {
    strays.stop()
    children.stop()
    pace.stop()
    await rm(folder, { recursive: true, force: true })
  }

  /** Whoever takes part. */
  function* programs(): Generator<number> {
    yield process.pid
    for (const { pid } of children.alive) if (pid !== undefined) yield pid
  }

  function seconds(): number {
    return Math.round((performance.now() - begun) / 1_000)
  }

  /** All that has to be gone in the end is known in here alone. */
  async function live(): Promise<Map<string, number>> {
    const fleet = await startFleet(clients, folder)
    try {
      return await run(fleet)
    } finally {
      await fleet.close()
      say(`${seconds()} s: all closed`)
    }
  }

  async function run({ members, targets, closeClients, countSockets }: Fleet): Promise<Map<string, number>> {
    const caller = new Caller({ ledger, now, history }, createRandom(seed ^ 1))
    const undo = await greet(members)
    const over = new AbortController()
    const ticks = tick(members, caller)
    const chaos = makeChaos(
      { targets, random: createRandom(seed), ledger, history, recovery, violations, now },
      over.signal,
    )
    await sleep(minutes * 60_000, undefined, { signal }).catch(() => {})
    over.abort()
    const cuts = await chaos
    ticks.stop()
    say(`${seconds()} s: nothing breaks any more`)
    for (const { name } of members) history.add(name, { type: 'faultsEnded' })
    await finish({ members, caller, ledger, recovery, violations, now, readyWithin })
    for (const each of undo) each()
    history.flush()
    say(`${seconds()} s: closing`)
    await closeClients()
    say(`${seconds()} s: clients closed`)
    await settle(async () => (await countSockets()) === 0)
    const sockets = await countSockets()
    say(`${seconds()} s: ${sockets} sockets left`)
    if (sockets > 0) violations.add('socket left', `${sockets} at servers and proxies`)
    return cuts
  }

  /** Waits for all clients to be ready, has them subscribe, and watches them from then on. */
  async function greet(members: readonly Member[]): Promise<(() => void)[]> {
    await Promise.all(members.map(({ client }) => client.ready({ timeout: 60_000 })))
    const subscribing = members.filter(({ style }) => style !== 'everything')
    await Promise.all(subscribing.map(({ name, client }) => client.subscribe(`soak://own/${name}`)))
    say(`${seconds()} s: all are ready`)
    return members.map(({ name, client }) => {
      recovery.watch(name)
      history.add(name, { type: 'phase', program: 'soak', client: name, phase: 'ready' })
      return client.onState(({ phase, reason }) => {
        recovery.changed(name, phase, now())
        const code = reason instanceof CaduceusError ? { code: reason.code } : {}
        history.add(name, { type: 'phase', program: 'soak', client: name, phase, ...code })
      })
    })
  }

  /** Makes calls at a steady rate, looks for what is overdue, measures and tells. */
  function tick(members: readonly Member[], caller: Caller): { stop(): void } {
    const random = createRandom(seed ^ 2)
    const turns = members.map((member) => ({
      member,
      every: random.between(callEvery * 0.7, callEvery * 1.3),
      last: now(),
    }))
    // By the pace of the machine: on one that has little time for us, calls of the day's rate would only pile up.
    const calls = setInterval(() => {
      const at = now()
      for (const turn of turns) {
        if (at - turn.last < turn.every) continue
        turn.last = at
        caller.any(turn.member)
      }
    }, lookEvery)
    const checks = setInterval(() => {
      ledger.overdue(now())
      recovery.check(now())
    }, 1_000)
    const every = Math.max(2_000, Math.min(20_000, minutes * 6_000))
    const reports = setInterval(() => {
      const { heap, rss } = measure()
      const minute = (performance.now() - begun) / 60_000
      // At first everything is new, and the heap has to grow.
      if (minute > minutes / 4) heaps.push([minute, heap])
      const facts = [
        `${ledger.calls} calls`,
        `${recovery.ready} of ${clients} ready`,
        `heap ${heap} MiB, rss ${rss} MiB`,
      ]
      const wrong = [...violations.byKind].map(([kind, count]) => `${count} ${kind}`)
      say(`${seconds()} s: ${facts.join(', ')}, ${violations.count} violations ${wrong.join(', ')}`)
    }, every)
    return { stop: () => [calls, checks, reports].forEach(clearInterval) }
  }

  /** What servers did against what clients were told. */
  async function judged(): Promise<void> {
    const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
    const texts = await Promise.all(files.map(({ name }) => readFile(join(folder, name), 'utf8')))
    judge(planOf(clients).places, history, texts.flatMap(readEvents), violations)
  }
}

/** Has everything been loaded and used once, so that what is there afterwards can be compared with what was there before. */
async function warmUp(folder: string): Promise<void> {
  const logs = join(folder, 'warm-up')
  await mkdir(logs)
  const fleet = await startFleet(fewestClients, logs)
  try {
    await Promise.all(fleet.members.map(({ client }) => client.listTools()))
    await fleet.closeClients()
  } finally {
    await fleet.close()
  }
}

/** Waits until it holds, a while at most. */
async function settle(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + closeWithin
  while (!(await holds()) && performance.now() < end) await sleep(50)
}
