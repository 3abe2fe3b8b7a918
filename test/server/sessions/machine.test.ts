import * as assert from 'uvu/assert'
import { nextPhase } from '../../../server/holdings/session-machine.js'
import { suite } from '../../support/suite.js'

const test = suite('session machine')

test('a session is ready once the client has initialized, and closed for good', () => {
  assert.is(nextPhase('initializing', 'initialized'), 'ready')
  assert.is(nextPhase('initializing', 'closed'), 'closed')
  assert.is(nextPhase('ready', 'closed'), 'closed')
})

test('an event that does not fit changes nothing', () => {
  assert.is(nextPhase('ready', 'initialized'), 'ready')
  assert.is(nextPhase('closed', 'initialized'), 'closed')
  assert.is(nextPhase('closed', 'closed'), 'closed')
})

test.run()
