// second tier: seeds
// time limit: 240 s
import * as assert from 'uvu/assert'
import { judge } from '../../../scripts/sim/judge.js'
import { knownSeeds, testedSeeds } from '../../../scripts/sim/known-seeds.js'
import { drawPlan } from '../../../scripts/sim/plan/draw.js'
import { suite } from '../../support/suite.js'

const test = suite('worlds', { timeout: 110_000 })

/** Hundreds of seeds are for `npm run sim`: here are enough to see that worlds are worlds. */
const seeds = testedSeeds

async function faultsOf(seed: number, operations: number, clusters = false): Promise<readonly string[]> {
  const { wrong } = await judge(drawPlan(seed, operations, clusters))
  return wrong.map(({ message }) => `${seed}: ${message}`)
}

test('seeds keep every promise under faults', async () => {
  for (const seed of seeds) assert.equal(await faultsOf(seed, 40), [])
})

test('seeds of clusters keep every promise under engine faults', async () => {
  for (const seed of seeds.slice(0, 3)) assert.equal(await faultsOf(seed, 40, true), [])
})

test('seeds that once failed keep every promise', async () => {
  for (const [seed, operations, clusters] of knownSeeds)
    if (operations <= 40) assert.equal(await faultsOf(seed, operations, clusters), [])
})

test.run()
