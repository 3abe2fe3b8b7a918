import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { defineServer, defineTool, field } from '../../../index.js'
import type { IsolationOptions } from '../../../server/isolation/options.js'
import { type Connected, connect } from '../../../testing.js'
import handle from './handler.js'

const kinds = ['thread', 'process'] as const
const input = { what: field.string().optional() }
const module = new URL('./handler.js', import.meta.url)
const timeout = 500
const mebibyte = 2 ** 20

await main()

async function main(): Promise<void> {
  console.log('A call and its answer, in memory; median of calls one after another:')
  const place = await roundTrip('plain')
  console.log(`  in place  ${place.toFixed(3)} ms`)
  for (const kind of kinds) {
    const ms = await roundTrip(kind)
    console.log(`  ${kind.padEnd(8)}  ${ms.toFixed(3)} ms, ${(ms / place).toFixed(1)} times in place`)
  }
  console.log('A spare that is ready:')
  for (const kind of kinds)
    console.log(`  ${kind.padEnd(8)}  ${((await spareBytes(kind)) / mebibyte).toFixed(1)} MiB`)
  console.log(`A call that spins, with a timeout of ${timeout} ms; median of 5:`)
  for (const kind of kinds) {
    const { answered, free } = await killed(kind)
    console.log(
      `  ${kind.padEnd(8)}  answered ${answered.toFixed(1)} ms after, its place taken ${free.toFixed(0)} ms after`,
    )
  }
  console.log('Calls in place of another client, quiet and while an isolated handler spins:')
  for (const kind of kinds) {
    const { quiet, spun } = await bystander(kind)
    const ratio = (spun.p99 / quiet.p99).toFixed(2)
    console.log(
      `  ${kind.padEnd(8)}  p50 ${show(quiet.p50)} and ${show(spun.p50)}, p99 ${show(quiet.p99)} and ${show(spun.p99)}: ${ratio} times`,
    )
  }
}

async function roundTrip(name: string): Promise<number> {
  await using pair = await start({ spares: 1 })
  await times(pair, name, 300)
  return quantile(await times(pair, name, 2_000), 0.5)
}

async function spareBytes(kind: (typeof kinds)[number]): Promise<number> {
  const spares = 4
  await using bare = await start({ spares: 0, threads: spares, processes: spares })
  await call(bare, 'plain')
  const before = process.memoryUsage.rss()
  await using pair = await start({ spares, threads: spares, processes: spares }, kind)
  await call(pair, kind)
  await pause(2_000)
  if (kind === 'thread') return (process.memoryUsage.rss() - before) / spares
  const sizes = await Promise.all((await children()).map(proportionalBytes))
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length
}

async function killed(kind: (typeof kinds)[number]): Promise<{ answered: number; free: number }> {
  await using pair = await start({ threads: 1, processes: 1 })
  const outcomes: { answered: number; free: number }[] = []
  for (let round = 0; round < 5; round += 1) {
    await call(pair, kind)
    const began = performance.now()
    await call(pair, `brief_${kind}`, 'spin')
    const answered = performance.now() - began - timeout
    await call(pair, kind)
    outcomes.push({ answered, free: performance.now() - began - timeout })
  }
  const median = (key: 'answered' | 'free') =>
    quantile(
      outcomes.map((one) => one[key]),
      0.5,
    )
  return { answered: median('answered'), free: median('free') }
}

async function bystander(kind: (typeof kinds)[number]) {
  await using pair = await start({ threads: 2, processes: 2 })
  await times(pair, 'plain', 3_000)
  await call(pair, kind)
  const quiet = await times(pair, 'plain', 5_000)
  const ending = new AbortController()
  const spinning = pair.client.callTool(kind, { what: 'spin' }, { signal: ending.signal }).catch(() => {})
  await pause(100)
  const spun = await times(pair, 'plain', 5_000)
  ending.abort()
  await spinning
  const summary = (all: number[]) => ({ p50: quantile(all, 0.5), p99: quantile(all, 0.99) })
  return { quiet: summary(quiet), spun: summary(spun) }
}

function start(isolation: IsolationOptions, only?: (typeof kinds)[number]): Promise<Connected> {
  const used = kinds.filter((kind) => only === undefined || kind === only)
  const tools = [
    defineTool({ name: 'plain', input, run: handle }),
    ...used.map((isolate) => defineTool({ name: isolate, input, isolate, module })),
    ...used.map((isolate) => defineTool({ name: `brief_${isolate}`, input, isolate, module, timeout })),
  ]
  return connect(defineServer({ name: 'bench', version: '1', tools }), { server: { isolation } })
}

async function call({ client }: Connected, name: string, what?: string): Promise<void> {
  await client.callTool(name, what === undefined ? {} : { what })
}

async function times(pair: Connected, name: string, count: number): Promise<number[]> {
  const all: number[] = []
  for (let each = 0; each < count; each += 1) {
    const began = performance.now()
    await call(pair, name)
    all.push(performance.now() - began)
  }
  return all
}

function quantile(all: readonly number[], part: number): number {
  const sorted = [...all].sort((one, other) => one - other)
  return sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
}

async function children(): Promise<string[]> {
  const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8')
  return text.trim().split(' ')
}

/** What a process has in memory, shared parts by halves. */
async function proportionalBytes(pid: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/Pss:\s+(\d+)/.exec(text)?.[1]) * 1_024
}

function show(ms: number): string {
  return `${ms.toFixed(2)} ms`
}
