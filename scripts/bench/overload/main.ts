import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AskedProgram } from '../asked-program.js'
import { cpuOf, residentBytes } from '../linux.js'
import { median } from '../measure.js'
import { compute } from '../processes/server.js'
import type { Call, Kind } from './clients.js'
import { type Flood, growthOf, isMissed, quantile, summaryOf, type Told } from './figures.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    /** Milliseconds of CPU that a call of `work` takes. */
    work: { type: 'string', default: '2' },
    /** Requests that one client may have at once; as many as it may by default without. */
    most: { type: 'string', default: '' },
    /** Milliseconds that requests may wait for the event loop; as many as by default without. */
    waiting: { type: 'string', default: '' },
    /** Milliseconds that users wait for an answer. */
    patience: { type: 'string', default: '1000' },
    /** Whether users who wait no longer say so. */
    leave: { type: 'boolean', default: false },
    /** One of the ways below, and one part of what is measured. */
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const flooding = Number(values.seconds) * 1_000
const ways: Readonly<Record<Kind, string>> = {
  http: 'HTTP, 2025-11-25',
  modern: 'HTTP, 2026-07-28',
  websocket: 'WebSocket',
  stdio: 'stdio',
}
/** Clients of the flood, each at an address of its own. */
const clients = 40
const patience = Number(values.patience)
/** Calls that one client has in flight at once, at full speed. */
const lanes = Math.min(64, Number(values.most || 64))
const stretch = 3_000
/** Sessions that a server takes unless an option says otherwise, and how many one address asks for. */
const [allSessions, wanted] = [10_000, 2_000]

/** Figures of one way, by what they are of. */
type Figures = Record<string, number>

/** A server that is loaded, and who loads it: `load` at many addresses, `one` and `other` at one each. */
interface Stage {
  readonly kind: Kind
  readonly port: number
  readonly pid: number
  readonly load: AskedProgram
  readonly one: AskedProgram | undefined
  readonly other: AskedProgram
}

/**
 * What a server does with three times as many calls as it can serve, and what its clients cost each other. Server
 * and clients are processes of their own: read ratios, and remember how many processors they share.
 */
async function main(): Promise<void> {
  const work: Call = { name: 'work', arguments: { rounds: await calibrate(Number(values.work)) } }
  const kinds = (Object.keys(ways) as Kind[]).filter((kind) => kind.startsWith(values.only))
  const all = new Map<Kind, Figures[]>()
  for (let round = 0; round < rounds; round += 1)
    for (const kind of kinds) {
      const figures = await measure(kind, work)
      all.set(kind, [...(all.get(kind) ?? []), figures])
    }
  report(all)
}

await main()

async function measure(kind: Kind, work: Call): Promise<Figures> {
  const undo: (() => void)[] = []
  const start = (program: string, ...args: string[]): AskedProgram => {
    const asked = new AskedProgram(new URL(program, import.meta.url), ...args)
    undo.push(() => asked.end())
    return asked
  }
  try {
    const stage = await open(kind, start)
    const parts = {
      overload: () => overload(stage, work),
      beside: () => beside(stage, work),
      crowd: () => crowd(stage),
    }
    const figures: Figures = {}
    for (const [name, part] of Object.entries(parts))
      if (name.startsWith(values.part)) Object.assign(figures, await part())
    return figures
  } finally {
    for (const fn of undo) fn()
  }
}

async function open(kind: Kind, start: (program: string, ...args: string[]) => AskedProgram): Promise<Stage> {
  const load = start('./load.js')
  // a pipe has one client
  if (kind === 'stdio') {
    const pid = await load.ask<number>('start', { own: [values.most, values.waiting] })
    return { kind, port: 0, pid, load, one: undefined, other: load }
  }
  const server = start('./server.js', kind, values.most, values.waiting)
  const port = await server.ask<number>('port')
  const [one, other] = [start('./load.js'), start('./load.js')]
  await load.ask('open', { kind, port, count: clients, from: 0 })
  await one.ask('open', { kind, port, count: 1, from: clients })
  await other.ask('open', { kind, port, count: 1, from: clients + 1 })
  return { kind, port, pid: server.pid, load, one, other }
}

/** Three times its capacity, between two quiet times. */
async function overload({ kind, pid, load, other }: Stage, work: Call): Promise<Figures> {
  const keep = (ms: number, at: number): Promise<readonly Told[]> =>
    load.ask('keep', { call: work, ms, lanes: at })
  await keep(stretch, 16) // warms up
  let peak = 0
  for (const at of [4, 16, 64])
    peak = Math.max(peak, summaryOf(await keep(stretch, at), stretch, patience).goodput)
  const flood = (times: number, ms: number): Promise<Flood> =>
    load.ask('flood', {
      call: work,
      ms,
      perSecond: times * peak,
      ...(values.leave && { leaveAfter: patience }),
    })
  const quiet = await flood(1 / 3, stretch)
  const quietP99 = summaryOf(quiet.calls, stretch, patience).servedP99
  const sizes: number[] = []
  const sampling = setInterval(() => sizes.push(residentBytes(pid)), 100)
  const before = cpuOf(pid)
  const { calls, unanswered, late, drained } = await flood(3, flooding).finally(() => clearInterval(sampling))
  const cpu = cpuOf(pid) - before
  const after = await other.ask<readonly Told[]>('keep', { call: work, ms: stretch, lanes: 1 })
  const { goodput, served, servedP99, refused, refusedP99, failed, left } = summaryOf(
    calls,
    flooding,
    patience,
  )
  const inFlood = sizes.slice(0, Math.ceil(flooding / 100))
  return {
    'capacity, calls a second': peak,
    'goodput, calls a second': goodput,
    'goodput, of the peak': goodput / peak,
    served,
    refused,
    'refusals, p99 in ms': refusedP99,
    failed,
    left,
    unanswered,
    'quiet, p99 in ms': quietP99,
    'served, p99 in ms': servedP99,
    'p99 of those served, of quiet': servedP99 / quietP99,
    'memory, MiB at most': Math.max(...inFlood) / 2 ** 20,
    'memory, last third of first': growthOf(inFlood),
    'ms until it had answered all': drained,
    'afterwards, p99 in ms': quantile(
      after.map(({ ms }) => ms),
      0.99,
    ),
    'CPU of the server, of one': cpu / (flooding + drained),
    'load, late by ms (p99)': late,
  }
}

/** One client makes one call at a time, alone and beside one at full speed. */
async function beside({ one, other }: Stage, work: Call): Promise<Figures> {
  if (one === undefined) return {}
  const echo: Call = { name: 'echo', arguments: { text: 'a'.repeat(100) } }
  const figures: Figures = {}
  for (const call of [echo, work]) {
    const times = async (): Promise<readonly number[]> => {
      const calls = await other.ask<readonly Told[]>('keep', { call, ms: stretch, lanes: 1 })
      return servedOf(calls)
    }
    const alone = await times()
    const speeding = one.ask<readonly Told[]>('keep', { call, ms: stretch + 1_000, lanes })
    await pause(500)
    const disturbed = await times()
    // nobody is disturbed by one who is refused
    servedOf(await speeding)
    const { name } = call
    for (const [part, called] of [
      [0.5, 'middle'],
      [0.99, 'p99'],
    ] as const) {
      figures[`${name}, alone, ${called} in ms`] = quantile(alone, part)
      figures[`${called} of ${name} beside ${name} at full speed`] =
        quantile(disturbed, part) / quantile(alone, part)
    }
  }
  return figures
}

/** How long each call took. Throws where one was not served. */
function servedOf(calls: readonly Told[]): readonly number[] {
  const lost = calls.filter(({ fate }) => fate !== 'served')
  if (lost.length > 0) throw new Error(`${lost.length} of ${calls.length} calls were not served`)
  return calls.map(({ ms }) => ms)
}

/** One address takes as many sessions as it gets, and another one comes. */
async function crowd({ kind, port, load, other }: Stage): Promise<Figures> {
  if (kind === 'modern' || kind === 'stdio') return {}
  const { count, why } = await load.ask<{ count: number; why: string }>('crowd', { kind, port, most: wanted })
  console.log(`${ways[kind]}: one address has ${count} sessions; one more: ${why}`)
  const since = performance.now()
  await other.ask('open', { kind, port, count: 1, from: clients + 2 })
  const ms = performance.now() - since
  await load.ask('leave')
  return {
    'sessions of one address, of all': count === wanted ? 1 : count / allSessions,
    'then another one, ms': ms,
  }
}

/** How many rounds take so many ms, when nothing else runs. */
async function calibrate(ms: number): Promise<number> {
  const some = 1_000
  const all: number[] = []
  for (let at = 0; at < 200; at += 1) {
    const since = performance.now()
    compute(some)
    all.push(performance.now() - since)
  }
  return Math.round((ms * some) / Math.min(...all))
}

function report(all: ReadonlyMap<Kind, readonly Figures[]>): void {
  const names = new Set(
    [...all.values()].flatMap((rounds) => rounds.flatMap((figures) => Object.keys(figures))),
  )
  const kinds = [...all.keys()]
  console.log(`| | ${kinds.map((kind) => ways[kind]).join(' | ')} |`)
  console.log(`| --- |${kinds.map(() => ' --- |').join('')}`)
  for (const name of names) {
    const cells = kinds.map((kind) => {
      const figure = median((all.get(kind) ?? []).map((figures) => figures[name] ?? Number.NaN))
      return `${show(figure)}${isMissed(name, figure) ? ' (missed)' : ''}`
    })
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
}

function show(figure: number): string {
  if (Number.isNaN(figure)) return '-'
  return figure >= 100 ? figure.toFixed(0) : figure.toFixed(figure < 10 ? 2 : 1)
}
