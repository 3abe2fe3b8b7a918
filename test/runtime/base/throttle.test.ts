import * as assert from 'uvu/assert'
import { throttle } from '../../../runtime/base/throttle.js'
import { suite } from '../../support/suite.js'

const test = suite('throttle')

test('a throttle passes so many per interval and counts the rest', () => {
  let time = 0
  const pass = throttle(() => time, 2, 100)
  assert.equal([pass(), pass(), pass(), pass()], [0, 0, undefined, undefined])
  time = 99
  assert.is(pass(), undefined)
  time = 100
  assert.equal([pass(), pass(), pass()], [3, 0, undefined])
})

test('100 in 10,000 ms pass unless told otherwise', () => {
  let time = 0
  const pass = throttle(() => time)
  const passed = () => Array.from({ length: 101 }, pass).filter((held) => held !== undefined).length
  assert.is(passed(), 100)
  time = 9_999
  assert.is(passed(), 0)
  time = 10_000
  assert.is(passed(), 100)
})

test.run()
