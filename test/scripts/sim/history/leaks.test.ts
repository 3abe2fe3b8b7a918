import * as assert from 'uvu/assert'
import { leaks } from '../../../../scripts/sim/history/checkers/leaks.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, story, type Told } from './_story.js'

const test = suite('histories: leaks')
const count = (when: 'base' | 'calm' | 'end', counts: Record<string, number>): Told => ({
  type: 'census',
  program: 'p',
  when,
  counts,
})

test('accepts a count at its base or below', () => {
  const history = story(
    count('base', { timers: 2 }),
    count('calm', { timers: 9 }),
    count('end', { timers: 1 }),
  )
  assert.equal(kindsOf(leaks, history), [])
})

test('finds a count above its base', () => {
  const more = story(count('base', { timers: 2 }), count('end', { timers: 3 }))
  assert.equal(kindsOf(leaks, more), ['leak'])
  assert.equal(kindsOf(leaks, more, { slack: { timers: 1 } }), [])
  assert.equal(kindsOf(leaks, story(count('base', {}), count('end', { sockets: 1 }))), ['leak'])
  assert.equal(kindsOf(leaks, story(count('end', { sockets: 1 }))), ['leak'])
})

test('finds a program not counted at the end, unless it died', () => {
  const begun = count('base', { timers: 2 })
  assert.equal(kindsOf(leaks, story(begun)), ['not counted'])
  assert.equal(kindsOf(leaks, story(begun, { type: 'died', program: 'p' })), [])
  const again = story(
    begun,
    { type: 'died', program: 'p' },
    count('base', { timers: 1 }),
    count('end', { timers: 2 }),
  )
  assert.equal(kindsOf(leaks, again), ['leak'])
})

test.run()
