import * as assert from 'uvu/assert'
import { pauseAfter } from '../../../server/gateway/pace.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: how often lists are asked for')

test('long or ever-changing lists are fetched less and less often, up to a limit', () => {
  assert.is(pauseAfter(0, 0), 20)
  assert.is(pauseAfter(2_500_000, 0), 1_020)
  assert.equal(
    [0, 1, 2, 5, 6, 1_000].map((turns) => pauseAfter(0, turns)),
    [20, 40, 80, 640, 640, 640],
  )
})

test.run()
