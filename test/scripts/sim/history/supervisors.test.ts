import * as assert from 'uvu/assert'
import { supervisors } from '../../../../scripts/sim/history/checkers/supervisors.js'
import type { Restarted } from '../../../../scripts/sim/history/history.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, story, type Told } from './_story.js'

const test = suite('histories: supervisors')
const limits = { program: 'p', supervisor: 'top', intensity: 2, period: 1_000 } as const
const again = (round: number, at: number, more: Partial<Restarted> = {}): Told => ({
  ...limits,
  type: 'restarted',
  child: 'one',
  round,
  at,
  ...more,
})
const gaveUp = (at: number): Told => ({ ...limits, type: 'gaveUp', at })

test('accepts as many restarts as allowed, per period', () => {
  assert.equal(kindsOf(supervisors, story(again(1, 0), again(2, 10), again(3, 1_001), again(4, 1_011))), [])
  const family = story(
    again(1, 0),
    again(1, 0, { child: 'two' }),
    again(1, 0, { child: 'three' }),
    again(2, 5),
  )
  assert.equal(kindsOf(supervisors, family), [], 'one round is one restart')
})

test('finds one restart more than allowed', () => {
  assert.equal(kindsOf(supervisors, story(again(1, 0), again(2, 10), again(3, 1_000))), [
    'restarted too often',
  ])
  const slow = story(
    again(1, 0),
    again(2, 10),
    again(3, 1_000, { since: 1_000 }),
    again(4, 1_500, { since: 1_011 }),
  )
  assert.equal(kindsOf(supervisors, slow), ['restarted too often'])
  const slowly = story(again(1, 700, { since: 0 }), again(2, 710, { since: 10 }), again(3, 1_001))
  assert.equal(kindsOf(supervisors, slowly), [], 'it counts when the end was noticed')
})

test('accepts a supervisor that gives up once its restarts are used up', () => {
  assert.equal(kindsOf(supervisors, story(again(1, 0), again(2, 10, { failed: true }), gaveUp(20))), [])
  assert.equal(kindsOf(supervisors, story(again(1, 0), gaveUp(20))), ['gave up early'])
  assert.equal(kindsOf(supervisors, story(again(1, 0), again(2, 10), gaveUp(1_001))), ['gave up early'])
})

test('accepts the full restarts of a restarted supervisor', () => {
  const parent = again(9, 20, { supervisor: 'above', child: 'top' })
  const before = [again(1, 0), again(2, 10)]
  const after = again(3, 30)
  assert.equal(kindsOf(supervisors, story(...before, parent, after)), [])
  assert.equal(kindsOf(supervisors, story(...before, gaveUp(20), after)), [])
  assert.equal(kindsOf(supervisors, story(...before, { type: 'died', program: 'p', at: 20 }, after)), [])
  assert.equal(kindsOf(supervisors, story(...before, { type: 'died', program: 'q', at: 20 }, after)), [
    'restarted too often',
  ])
})

test.run()
