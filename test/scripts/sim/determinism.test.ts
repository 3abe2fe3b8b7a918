// second tier: seeds
// time limit: 120 s
import * as assert from 'uvu/assert'
import { judge } from '../../../scripts/sim/judge.js'
import { drawPlan } from '../../../scripts/sim/plan/draw.js'
import { Tally } from '../../../scripts/sim/tally.js'
import { suite } from '../../support/suite.js'
import { reportOf, runSim } from './_run-sim.js'

const test = suite('a seed', { timeout: 60_000 })
const [first, last, operations] = [1, 12, 40]
const seeds = Array.from({ length: last - first + 1 }, (_, at) => first + at)

test('has the same trace in this process and in others, whatever ran there before it', async (t) => {
  const args = ['--seeds', `${first}-${last}`, '--operations', `${operations}`, '--json']
  const forwards = new Tally()
  for (const seed of seeds) forwards.add(await judge(drawPlan(seed, operations)))
  const backwards = new Tally()
  for (const seed of [...seeds].reverse()) backwards.add(await judge(drawPlan(seed, operations)))
  assert.is(backwards.hash, forwards.hash)
  for (const jobs of ['1', '2']) {
    const { stdout, stderr } = await runSim(t, ...args, '--jobs', jobs)
    assert.is(reportOf(stdout).hash, forwards.hash, stderr)
  }
})

test('has the same trace where servers are clusters', async (t) => {
  const here = new Tally()
  for (const seed of seeds.slice(0, 6)) here.add(await judge(drawPlan(seed, operations, true)))
  const args = ['--cluster', '--seeds', `${first}-${first + 5}`, '--operations', `${operations}`, '--json']
  const { stdout, stderr } = await runSim(t, ...args, '--jobs', '2')
  assert.is(reportOf(stdout).hash, here.hash, stderr)
})

test('has another trace than its neighbours', async () => {
  const hashes = new Set<string>()
  for (const seed of seeds.slice(0, 6)) hashes.add((await judge(drawPlan(seed, 10))).hash)
  assert.is(hashes.size, 6)
})

test.run()
