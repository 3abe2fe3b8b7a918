// second tier: seeds
// time limit: 240 s
import * as assert from 'uvu/assert'
import { judge } from '../../../scripts/sim/judge.js'
import { drawPlan } from '../../../scripts/sim/plan/draw.js'
import { Tally } from '../../../scripts/sim/tally.js'
import { suite } from '../../support/suite.js'
import { reportOf, runSim } from './_run-sim.js'

const test = suite('a seed', { timeout: 110_000 })
const operations = 40
const seeds = [1, 2]

test('has the same trace in this process and in another, whatever ran there before it', async (t) => {
  const forwards = new Tally()
  for (const seed of seeds) forwards.add(await judge(drawPlan(seed, operations)))
  const backwards = new Tally()
  for (const seed of [...seeds].reverse()) backwards.add(await judge(drawPlan(seed, operations)))
  assert.is(backwards.hash, forwards.hash)
  const args = ['--seeds', '1-2', '--operations', `${operations}`, '--jobs', '1', '--json']
  const { stdout, stderr } = await runSim(t, ...args)
  assert.is(reportOf(stdout).hash, forwards.hash, stderr)
})

test('has the same trace where servers are clusters', async (t) => {
  const here = new Tally()
  here.add(await judge(drawPlan(1, operations, true)))
  const args = ['--cluster', '--seed', '1', '--operations', `${operations}`, '--json']
  const { stdout, stderr } = await runSim(t, ...args)
  assert.is(reportOf(stdout).hash, here.hash, stderr)
})

test('has another trace than its neighbours', async () => {
  const hashes = new Set<string>()
  for (const seed of seeds) hashes.add((await judge(drawPlan(seed, 10))).hash)
  assert.is(hashes.size, seeds.length)
})

test.run()
