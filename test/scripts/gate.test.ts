import * as assert from 'uvu/assert'
import { isMore, isTooMuch, kept, ratioOf, tolerance } from '../../scripts/bench/gate/verdict.js'
import { suite } from '../support/suite.js'

const test = suite('verdicts of bench:gate')

test('what else the machine does at times counts for nobody', () => {
  const calm = { ours: [10, 10, 10, 10], other: [5, 5, 5, 5] }
  assert.is(ratioOf(calm), 2)
  assert.is(ratioOf({ ours: [10, 30, 10, 90], other: calm.other }), 2)
  assert.is(ratioOf({ ours: calm.ours, other: [50, 5, 5, 20] }), 2)
})

test('what could not be measured is too much', () => {
  assert.ok(isTooMuch('cold', ratioOf({ ours: [], other: [5] })))
  assert.ok(isTooMuch('cold', kept.cold * (1 + tolerance) + 0.01))
  assert.not.ok(isTooMuch('cold', kept.cold * (1 + tolerance) - 0.01))
  assert.equal([isMore(Number.NaN), isMore(1.11), isMore(1.09)], [true, true, false])
})

test.run()
