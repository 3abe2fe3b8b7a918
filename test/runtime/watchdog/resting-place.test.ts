import * as assert from 'uvu/assert'
import { RestingPlace } from '../../../runtime/watchdog/resting-place.js'
import { suite } from '../../support/suite.js'

const test = suite('resting place')

test('the loop rests in the system call that it left idle three times in a row', () => {
  const rest = new RestingPlace()
  const learn = (...places: (string | undefined)[]): void => places.forEach((place) => void rest.learn(place))
  learn('281 0xe', undefined, '281 0xe')
  assert.is(rest.is('281 0xe'), false)
  learn('281 0x17', '281 0xe', '281 0xe')
  assert.is(rest.is('281 0xe'), false)
  learn('281 0xe')
  assert.is(rest.is('281 0xe'), true)
  assert.is(rest.is('281 0x17'), false)
  learn('281 0x17', '281 0x17', '281 0x17')
  assert.is(rest.is('281 0xe'), true)
})

test('without system facts no loop is known to rest', () => {
  const rest = new RestingPlace()
  for (let i = 0; i < 5; i++) rest.learn(undefined)
  assert.is(rest.is(undefined), false)
})

test.run()
