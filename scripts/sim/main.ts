import { judge } from './judge.js'
import { readSimOptions, type SimOptions } from './options.js'
import { drawPlan } from './plan/draw.js'
import { only, type Plan } from './plan/plan.js'
import { runShards } from './shards.js'
import { showVerdict, Tally } from './tally.js'

const options = readSimOptions(process.argv.slice(2), () => Date.now() % 2 ** 32)
if (typeof options === 'string') {
  console.error(options)
  process.exitCode = 2
} else {
  const tally = await run(options)
  process.exitCode = tally.failed.length > 0 ? 1 : 0
}

async function run(given: SimOptions): Promise<Tally> {
  const { log } = console
  const start = performance.now()
  const tally = new Tally()
  const say = (line: string): void => (given.json ? console.error(line) : console.log(line))
  if (given.from === given.to) {
    const verdict = await judge(planOf(given), given.trace ? log : undefined)
    tally.add(verdict)
    for (const { story } of verdict.wrong) say(story)
    say(showVerdict(verdict))
  } else {
    const end = new AbortController()
    const stop = (): void => end.abort()
    process.once('SIGINT', stop)
    const timer = given.minutes === undefined ? undefined : setTimeout(stop, given.minutes * 60_000)
    const tell = (verdict: Parameters<typeof showVerdict>[0]): void => {
      tally.add(verdict)
      if (verdict.wrong.length > 0) say(showVerdict(verdict))
    }
    await runShards({ ...given, signal: end.signal, tell })
    clearTimeout(timer)
    process.off('SIGINT', stop)
  }
  const seconds = (performance.now() - start) / 1000
  log(given.json ? JSON.stringify(tally.report(seconds)) : tally.show(seconds))
  return tally
}

function planOf({ from, operations, faults, acts }: SimOptions): Plan {
  return only(drawPlan(from, operations), faults, acts)
}
