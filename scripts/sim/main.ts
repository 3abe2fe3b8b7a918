import { judge, type Verdict } from './judge.js'
import { knownSeeds } from './known-seeds.js'
import { readSimOptions, type SimOptions } from './options.js'
import { drawPlan } from './plan/draw.js'
import { only, type Plan } from './plan/plan.js'
import { lookForBugs } from './planted/report.js'
import { runShards } from './shards.js'
import { showShrunk, shrink } from './shrink.js'
import { nameOf, showVerdict, Tally } from './tally.js'

const [first, ...words] = process.argv.slice(2)
if (first === '--planted') process.exitCode = (await lookForBugs(words, console.log)) > 0 ? 1 : 0
else if (first === '--known') process.exitCode = (await runKnown()) > 0 ? 1 : 0
else {
  const options = readSimOptions(process.argv.slice(2), () => Date.now() % 2 ** 32)
  if (typeof options === 'string') {
    console.error(options)
    process.exitCode = 2
  } else {
    const tally = await run(options)
    process.exitCode = tally.failed.length > 0 ? 1 : 0
  }
}

async function run(given: SimOptions): Promise<Tally> {
  const start = performance.now()
  const tally = new Tally()
  const say = (line: string): void => (given.json ? console.error(line) : console.log(line))
  if (given.from === given.to) await runOne(given, tally, say)
  else await runMany(given, tally, say)
  const seconds = (performance.now() - start) / 1000
  console.log(given.json ? JSON.stringify(tally.report(seconds)) : tally.show(seconds))
  if (!given.trace && given.shrinkSeconds > 0) await shrinkFirst(given, tally, say)
  return tally
}

/** Seeds that showed a fault once; answers how many show one now. */
async function runKnown(): Promise<number> {
  let failed = 0
  for (const [seed, operations, clusters] of knownSeeds) {
    const verdict = await judge(drawPlan(seed, operations, clusters))
    if (verdict.wrong.length > 0) failed += 1
    console.log(showVerdict(verdict))
  }
  return failed
}

type Say = (line: string) => void

async function runOne(given: SimOptions, tally: Tally, say: Say): Promise<void> {
  const { log } = console
  const verdict = await judge(planOf(given, given.from), given.trace ? log : undefined)
  tally.add(verdict)
  for (const { story } of verdict.wrong) say(story)
  say(showVerdict(verdict))
}

async function runMany(given: SimOptions, tally: Tally, say: Say): Promise<void> {
  const end = new AbortController()
  const stop = (): void => end.abort()
  process.once('SIGINT', stop)
  const timer = given.minutes === undefined ? undefined : setTimeout(stop, given.minutes * 60_000)
  const tell = (verdict: Verdict): void => {
    tally.add(verdict)
    if (verdict.wrong.length > 0) say(showVerdict(verdict))
  }
  await runShards({ ...given, signal: end.signal, tell })
  clearTimeout(timer)
  process.off('SIGINT', stop)
}

/** Of each kind of violation, its first seed with as little as brings it about. */
async function shrinkFirst(given: SimOptions, tally: Tally, say: Say): Promise<void> {
  const { now } = performance
  const kinds = [...tally.first].filter(([name]) => !name.startsWith('run: its process'))
  const end = now.call(performance) + given.shrinkSeconds * 1_000
  for (const [at, [name, seed]] of kinds.entries()) {
    const whole = planOf(given, seed)
    const mine = now.call(performance) + (end - now.call(performance)) / (kinds.length - at)
    const smallest = await shrink(whole, {
      fails: async (plan) => (await judge(plan)).wrong.some((wrong) => nameOf(wrong) === name),
      isOver: () => now.call(performance) > mine,
    })
    say(`${name}, seed ${seed}: ${showShrunk(smallest, whole, given)}`)
  }
}

function planOf({ operations, clusters, faults, acts, lasts }: SimOptions, seed: number): Plan {
  return only(drawPlan(seed, operations, clusters), { faults, acts, lasts })
}
