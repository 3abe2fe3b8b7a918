import { getEventListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { SharedSignals } from '../../../client/base/shared-signals.js'
import { suite } from '../../support/suite.js'

const test = suite('one signal for many calls')

test('a removed listener is not called, and one added again is', () => {
  const signals = new SharedSignals()
  const controller = new AbortController()
  const { signal } = controller
  const count = () => getEventListeners(signal, 'abort').length
  const called: string[] = []
  const undo = signals.listen(signal, () => called.push('first'))
  undo()
  undo()
  assert.is(count(), 0)
  const leave = signals.listen(signal, () => called.push('second'))
  signals.listen(signal, () => called.push('third'))
  leave()
  undo()
  assert.is(count(), 1)
  controller.abort()
  assert.equal(called, ['third'])
})

test.run()
