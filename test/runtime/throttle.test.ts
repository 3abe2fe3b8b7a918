import * as assert from 'uvu/assert'
import { throttle } from '../../runtime/throttle.js'
import { suite } from '../support/suite.js'

const test = suite('throttle')

test('so many pass within the interval, and the next one says how many did not', () => {
  let time = 0
  const pass = throttle(() => time, 2, 100)
  assert.equal([pass(), pass(), pass(), pass()], [0, 0, undefined, undefined])
  time = 99
  assert.is(pass(), undefined)
  time = 100
  assert.equal([pass(), pass(), pass()], [3, 0, undefined])
})

test.run()
