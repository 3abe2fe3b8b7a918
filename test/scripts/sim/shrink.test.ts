import * as assert from 'uvu/assert'
import { drawPlan } from '../../../scripts/sim/plan/draw.js'
import { only, type Plan } from '../../../scripts/sim/plan/plan.js'
import { reduce, showShrunk, shrink } from '../../../scripts/sim/shrink.js'
import { suite } from '../../support/suite.js'

const test = suite('shrinking')

const whole = only(drawPlan(4, 60), {})
const [first, second] = [whole.faults[1], whole.faults[4]] as [Plan['faults'][0], Plan['faults'][0]]
/** Fails with two of the faults, one of them long enough, and one act. */
const fails = async ({ faults, acts }: Plan): Promise<boolean> =>
  acts.some(({ id }) => id === 17) &&
  faults.some(({ id }) => id === first.id) &&
  faults.some(({ id, lasts }) => id === second.id && lasts >= second.lasts / 10)

test('shrink removes every fault and act that the failure does not need', async () => {
  const smallest = await shrink(whole, { fails, isOver: () => false })
  assert.equal(
    smallest.faults.map(({ id, lasts }) => [id, lasts]),
    [
      [first.id, 1],
      [second.id, Math.ceil(second.lasts / 10)],
    ],
  )
  assert.equal(
    smallest.acts.map(({ id }) => id),
    [17],
  )
})

test('shrink ends at its time limit with its best result', async () => {
  let runs = 0
  const counted = (plan: Plan): Promise<boolean> => {
    runs += 1
    return fails(plan)
  }
  const smallest = await shrink(whole, { fails: counted, isOver: () => runs >= 6 })
  assert.is(runs, 6)
  assert.ok(await fails(smallest))
})

test('a failure without faults shrinks to nothing', async () => {
  assert.equal(await reduce([1, 2, 3], async () => true), [])
})

test('the rest is printed in words and as a command', async () => {
  const smallest = await shrink(whole, { fails, isOver: () => false })
  const text = showShrunk(smallest, whole, { operations: 60 })
  assert.match(text, `2 of ${whole.faults.length} faults and 1 of ${whole.acts.length} acts are enough:`)
  assert.match(text, `${second.verb} ${second.target}`)
  const faults = `${first.id}:1,${second.id}:${Math.ceil(second.lasts / 10)}`
  assert.match(text, `npm run sim -- --seed 4 --operations 60 --faults ${faults} --acts 17 --trace`)
})

test.run()
