import * as assert from 'uvu/assert'
import { isTooMuch, kept, ratioOf, tolerance } from '../../scripts/bench/gate/verdict.js'
import { suite } from '../support/suite.js'

const test = suite('verdicts of bench:gate')

test('what else the machine does at times counts for nobody', () => {
  const calm = { ours: [10, 10, 10, 10], raw: [5, 5, 5, 5] }
  assert.is(ratioOf(calm), 2)
  assert.is(ratioOf({ ours: [10, 30, 10, 90], raw: calm.raw }), 2)
  assert.is(ratioOf({ ours: calm.ours, raw: [50, 5, 5, 20] }), 2)
})

test('what could not be measured is too much', () => {
  assert.ok(isTooMuch('cold', ratioOf({ ours: [], raw: [5] })))
  assert.ok(isTooMuch('cold', kept.cold * (1 + tolerance) + 0.01))
  assert.not.ok(isTooMuch('cold', kept.cold * (1 + tolerance) - 0.01))
})

test.run()
