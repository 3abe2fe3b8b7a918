import { drawPlan } from './plan/draw.js'
import { simulate } from './run.js'

const [seed = '1', mode = ''] = process.argv.slice(2)
const [from, to = from] = seed.split('-').map(Number) as [number, number?]
const log = console.log
const start = performance.now()
for (let at = from; at <= (to ?? from); at++) {
  const plan = drawPlan(at, 200)
  const began = performance.now()
  const { hash, history, broken, steps, simulated } = await simulate(plan, mode === 'trace' ? log : undefined)
  const count = (type: string): number => history.filter((event) => event.type === type).length
  log(
    at,
    hash.slice(0, 12),
    `${steps} steps ${(simulated / 1000).toFixed(0)} s, ok ${count('ok')} fail ${count('fail')} of ${count('invoke')}, faults ${count('fault')}`,
    `${(performance.now() - began).toFixed(0)} ms`,
  )
  for (const text of broken) log('   broken', text)
}
log(`${((performance.now() - start) / 1000).toFixed(1)} s`)
