import * as assert from 'uvu/assert'
import { merge, Recorder } from '../../../../scripts/sim/history/history.js'
import { suite } from '../../../support/suite.js'

const test = suite('histories')

test('an event is stamped with the time at which it is taken down', () => {
  let now = 5
  const recorder = new Recorder(() => now)
  recorder.add({ type: 'faultsEnded' })
  now = 7
  recorder.add({ type: 'cancel', call: 'c1' })
  assert.equal(recorder.events, [
    { type: 'faultsEnded', at: 5 },
    { type: 'cancel', call: 'c1', at: 7 },
  ])
})

test('histories of several writers merge by time, the first writer first', () => {
  const one = [3, 3, 9].map((at, i) => ({ type: 'cancel', call: `a${i}`, at }) as const)
  const other = [1, 3, 10].map((at, i) => ({ type: 'cancel', call: `b${i}`, at }) as const)
  const calls = merge(one, other).map((event) => event.type === 'cancel' && event.call)
  assert.equal(calls, ['b0', 'a0', 'a1', 'b1', 'a2', 'b2'])
})

test.run()
