import { parseArgs } from 'node:util'
import { startRedis } from '../../../test/support/redis.js'
import { cpuOf } from '../linux.js'
import { median } from '../measure.js'
import { AskedProgram } from '../asked-program.js'
import type { Drive, Driven } from './load.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '2000' },
    only: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const filling = Number(values.sessions)
const lanes = 32
/** Sessions that a node has had before its memory is looked at. */
const warming = 500
const stretch = 1_500

/** What is measured: in CPU ms and ms a call. */
interface Figures {
  readonly nodes: number
  readonly engine: number
  readonly rate: number
  readonly median: number
  readonly p99: number
}

const calls = {
  'echo of 100 bytes': { name: 'echo', arguments: { text: 'a'.repeat(100) } },
  'a change of state': { name: 'count', arguments: {} },
  'three of progress': { name: 'steps', arguments: {}, _meta: { progressToken: 1 } },
}
const sides = ['alone', 'its owner', 'another node'] as const

/**
 * What a cluster costs: calls in a server alone, on the node that owns the session, and on another node. The load
 * is a process of its own, as are each node and Redis: read ratios, and remember that they share processors.
 */
async function main(): Promise<void> {
  const undo: (() => unknown)[] = []
  try {
    const redis = await startRedis({ after: (fn) => void undo.push(fn) })
    const start = (...args: string[]): AskedProgram => {
      const program = new AskedProgram(new URL('./host.js', import.meta.url), ...args)
      undo.push(() => program.end())
      return program
    }
    const [alone, first, second] = [start(), start(redis.url), start(redis.url)]
    const load = new AskedProgram(new URL('./load.js', import.meta.url))
    undo.push(() => load.end())
    const ports = await Promise.all([alone, first, second].map((host) => host.ask<number>('port')))
    const [single = 0, own = 0, other = 0] = ports
    await load.ask('open', { name: 'alone', at: single, to: single, sessions: lanes })
    await load.ask('open', { name: 'its owner', at: own, to: own, sessions: lanes })
    await load.ask('open', { name: 'another node', at: own, to: other, sessions: lanes })
    const nodes = {
      alone: [alone.pid],
      'its owner': [first.pid, second.pid],
      'another node': [first.pid, second.pid],
    }
    for (const [what, call] of Object.entries(calls))
      for (const at of [1, lanes]) {
        if (values.only !== undefined && !`${what}, ${at}`.includes(values.only)) continue
        const figures = sides.map(() => [] as Figures[])
        // the first one warms up
        for (let round = 0; round <= rounds; round += 1)
          for (const [index, name] of sides.entries()) {
            const drive = { name, call, ms: stretch, lanes: at }
            const measured = await measure(load, nodes[name], redis.pid, drive)
            if (round > 0) figures[index]?.push(measured)
          }
        report(`${what}, ${at} at once`, figures)
      }
    if (values.only === undefined || values.only === 'sessions') await weigh(load, redis, start(redis.url))
  } finally {
    for (const fn of undo.reverse()) await fn()
  }
}

await main()

async function measure(
  load: AskedProgram,
  pids: readonly number[],
  engine: number,
  drive: Drive,
): Promise<Figures> {
  const cpu = (): readonly [number, number] => [pids.reduce((sum, pid) => sum + cpuOf(pid), 0), cpuOf(engine)]
  const [nodesBefore, engineBefore] = cpu()
  const { calls: done, seconds, ...times } = await load.ask<Driven>('drive', drive)
  const [nodesAfter, engineAfter] = cpu()
  return {
    nodes: (nodesAfter - nodesBefore) / done,
    engine: (engineAfter - engineBefore) / done,
    rate: done / seconds,
    ...times,
  }
}

function report(what: string, figures: readonly (readonly Figures[])[]): void {
  console.log(`${what}:`)
  for (const [index, name] of sides.entries()) {
    const all = figures[index] ?? []
    const of = (key: keyof Figures): number => median(all.map((each) => each[key]))
    const ratio = median(all.map(({ nodes }, round) => nodes / Number(figures[0]?.[round]?.nodes)))
    console.log(
      `  ${name.padEnd(13)}${of('nodes').toFixed(3)} ms of CPU a call in the nodes, ${ratio.toFixed(2)} of alone;` +
        ` ${of('engine').toFixed(3)} in Redis; ${of('median').toFixed(2)} ms until the answer, ${of('p99').toFixed(2)}` +
        ` for the slowest 1 %; ${of('rate').toFixed(0)} calls/s`,
    )
  }
}

/** What a session takes that is not used, in a node that has just started. */
async function weigh(
  load: AskedProgram,
  redis: { cli(...args: string[]): string[] },
  host: AskedProgram,
): Promise<void> {
  const port = await host.ask<number>('port')
  await load.ask('fill', { port, sessions: warming })
  const used = (): number => Number(/used_memory:(\d+)/.exec(redis.cli('info', 'memory').join('\n'))?.[1])
  const before = [used(), await host.ask<number>('memory')] as const
  const since = performance.now()
  await load.ask('fill', { port, sessions: filling })
  const ms = (performance.now() - since) / filling
  const [inRedis, inNode] = [used() - before[0], (await host.ask<number>('memory')) - before[1]]
  console.log(`${filling} sessions, opened one after the other in ${ms.toFixed(2)} ms each:`)
  console.log(`  ${Math.round(inRedis / filling)} bytes a session in Redis`)
  console.log(
    `  ${Math.round(inNode / filling)} bytes a session in the heap of its node: ` +
      `${Math.round(2 ** 30 / (inNode / filling) / 1_000)},000 in a GiB`,
  )
}
