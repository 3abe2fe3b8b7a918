import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { childrenOf, cpuOf, residentBytes } from '../linux.js'
import { median } from '../measure.js'
import { AskedProgram } from '../asked-program.js'
import type { Call, Drive, Driven } from './load.js'
import { compute } from './server.js'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
const sessions = 32
const stretch = 1_500
/** Milliseconds after which everything that was started has settled. */
const settling = 2_000

/** One way to serve, and what was measured of it. */
interface Side {
  readonly name: string
  readonly host: AskedProgram
  readonly port: number
  /** Share of its sessions whose calls come to another process first. */
  readonly share: number
}

/** Figures of one stretch; CPU in ms per call. */
interface Stretch {
  readonly rate: number
  readonly parent: number
  readonly processes: number
  readonly load: number
}

/**
 * What several processes give, and what they cost. The load is a process of its own, and so is each server: read
 * ratios, and remember how many processors they share.
 */
async function main(): Promise<void> {
  const load = new AskedProgram(new URL('./load.js', import.meta.url))
  const sides = await Promise.all(
    ['in place', '1 process', '2 processes'].map((name, count) => start(load, name, count)),
  )
  try {
    await throughput(load, sides)
    const { host, port } = sides[2] as Side
    console.log('Memory, after that load:')
    for (const { name, host } of sides) console.log(`  ${name.padEnd(12)}  ${memoryOf(host.pid)}`)
    console.log('A reload of 2 processes, median of 5:')
    console.log(`  idle          ${show(await times(5, () => reloadTime(host)))} ms`)
    console.log(`  under load    ${await reloadUnderLoad(load, host, port)}`)
    const killed = await times(5, async () => {
      while ((await host.ask<number>('running')) < 2) await pause(50)
      await pause(settling)
      return load.ask<number>('kill', { port })
    })
    console.log(`From the kill of a process to an answer in its session, median of 5: ${show(killed)} ms`)
  } finally {
    for (const { host } of sides) host.end()
    load.end()
  }
}

await main()

async function start(load: AskedProgram, name: string, count: number): Promise<Side> {
  const host = new AskedProgram(new URL('./host.js', import.meta.url), String(count))
  const port = await host.ask<number>('port')
  return { name, host, port, share: await load.ask<number>('open', { port, sessions }) }
}

async function throughput(load: AskedProgram, sides: readonly Side[]): Promise<void> {
  const roundsOfWork = await calibrate()
  const calls: Readonly<Record<string, Call>> = {
    'echo of 100 bytes': { name: 'echo', arguments: { text: 'a'.repeat(100) } },
    '1 ms of computing': { name: 'work', arguments: { rounds: roundsOfWork } },
  }
  for (const [what, call] of Object.entries(calls)) {
    for (const mixed of [false, true]) {
      const figures = sides.map(() => [] as Stretch[])
      // the first one warms up
      for (let round = 0; round <= rounds; round += 1)
        for (const [at, side] of sides.entries()) {
          const measured = await measure(load, side, { port: side.port, call, ms: stretch, mixed })
          if (round > 0) figures[at]?.push(measured)
        }
      console.log(
        `${what}, ${sessions} sessions, ${mixed ? 'connections of any session' : 'each on its own connection'}:`,
      )
      for (const [at, { name, share }] of sides.entries()) {
        const of = (key: keyof Stretch): number => median((figures[at] ?? []).map((each) => each[key]))
        const ratios = (figures[at] ?? []).map(({ rate }, round) => rate / Number(figures[1]?.[round]?.rate))
        console.log(
          `  ${name.padEnd(12)}${of('rate').toFixed(0).padStart(8)} calls/s, ${median(ratios).toFixed(2)} of 1 process;` +
            ` CPU in ms a call: parent ${of('parent').toFixed(3)}, processes ${of('processes').toFixed(3)},` +
            ` load ${of('load').toFixed(3)}; ${Math.round(mixed ? share * 100 : 0)} % forwarded`,
        )
      }
    }
  }
}

async function measure(load: AskedProgram, { host }: Side, drive: Drive): Promise<Stretch> {
  const cpu = (): number[] => {
    const children = childrenOf(host.pid).map(cpuOf)
    return [cpuOf(host.pid), children.reduce((sum, each) => sum + each, 0), cpuOf(load.pid)]
  }
  const before = cpu()
  const { calls, seconds } = await load.ask<Driven>('drive', drive)
  const [parent = 0, processes = 0, own = 0] = cpu().map((each, at) => (each - Number(before[at])) / calls)
  return { rate: calls / seconds, parent, processes, load: own }
}

/** How many rounds take 1 ms, when nothing else runs. */
async function calibrate(): Promise<number> {
  const some = 1_000
  const all = await times(200, async () => {
    const since = performance.now()
    compute(some)
    return performance.now() - since
  })
  return Math.round(some / Math.min(...all))
}

async function reloadTime(host: AskedProgram): Promise<number> {
  const since = performance.now()
  await host.ask('reload')
  const ms = performance.now() - since
  await pause(settling / 4)
  return ms
}

/** Every call is checked: one without a good answer ends this bench. */
async function reloadUnderLoad(load: AskedProgram, host: AskedProgram, port: number): Promise<string> {
  await load.ask('close', { port })
  await load.ask('open', { port, sessions })
  const call = { name: 'echo', arguments: { text: 'a'.repeat(100) } }
  const driven = load.ask<Driven>('drive', { port, call, ms: 60_000, mixed: false })
  await pause(settling / 4)
  const all = await times(5, () => reloadTime(host))
  await load.ask('stop')
  const { calls, again } = await driven
  return `${show(all)} ms; of ${calls} calls ${again} were asked again on a new connection, none was lost`
}

async function times(count: number, measure: () => Promise<number>): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push(await measure())
  return all
}

function memoryOf(pid: number): string {
  const parts = [pid, ...childrenOf(pid)].map((each) => Math.round(residentBytes(each) / 2 ** 20))
  const [parent, ...processes] = parts
  return `${parent} MiB${processes.length === 0 ? '' : `, its processes ${processes.join(' and ')} MiB`}`
}

function show(all: readonly number[]): string {
  return `${median(all).toFixed(0)} (${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)})`
}
