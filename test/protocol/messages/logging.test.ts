import * as assert from 'uvu/assert'
import { isLoggingLevel, isWantedLevel, loggingLevels } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/messages/logging')

test('a log message is wanted from the requested level on', () => {
  const wanted = (level: (typeof loggingLevels)[number]) =>
    loggingLevels.filter((other) => isWantedLevel(other, level))
  assert.equal(wanted('debug'), loggingLevels)
  assert.equal(wanted('error'), ['error', 'critical', 'alert', 'emergency'])
  assert.equal(wanted('emergency'), ['emergency'])
})

test('without a requested level no log message is wanted (trap 78)', () => {
  for (const level of loggingLevels) assert.is(isWantedLevel(level, undefined), false)
})

test('there are eight levels, and no others', () => {
  assert.is(loggingLevels.length, 8)
  for (const level of loggingLevels) assert.ok(isLoggingLevel(level))
  for (const other of ['warn', 'INFO', '', 0, null, undefined, ['info']])
    assert.is(isLoggingLevel(other), false)
})

test.run()
