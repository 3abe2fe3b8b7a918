import * as assert from 'uvu/assert'
import { settled } from '../../../../scripts/sim/history/checkers/settled.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, story } from './_story.js'

const test = suite('histories: settled')

test('accepts calls with one outcome in time, or of a dead program', () => {
  const history = story(asked('1'), asked('2'), ok('2'), asked('3'), failed('1', true), {
    type: 'died',
    program: 'p',
  })
  assert.equal(kindsOf(settled, history), [])
})

test('finds a call without an outcome', () => {
  assert.equal(kindsOf(settled, story(asked('1'), ok('1'), asked('2'))), ['never settled'])
  const other = story(asked('1'), { type: 'died', program: 'other' })
  assert.equal(kindsOf(settled, other), ['never settled'])
  const before = story({ type: 'died', program: 'p' }, asked('1'))
  assert.equal(kindsOf(settled, before), ['never settled'])
})

test('finds a call that was overdue when its program died', () => {
  const history = (at: number) => story(asked('1'), { type: 'died', program: 'p', at })
  assert.equal(kindsOf(settled, history(1_010)), [])
  assert.equal(kindsOf(settled, history(1_011)), ['never settled'])
})

test('finds a call with two outcomes', () => {
  assert.equal(kindsOf(settled, story(asked('1'), ok('1'), ok('1'))), ['settled twice'])
  assert.equal(kindsOf(settled, story(asked('1'), failed('1', true), ok('1'))), ['settled twice'])
})

test('finds an outcome without a call, and two calls of one name or token', () => {
  assert.equal(kindsOf(settled, story(asked('1'), ok('1'), ok('2'))), ['outcome of no call'])
  assert.equal(kindsOf(settled, story(asked('1'), asked('1'), ok('1'))), ['made twice'])
  assert.equal(kindsOf(settled, story(asked('1'), asked('2', { token: '1' }), ok('1'), ok('2'))), [
    'made twice',
  ])
})

test('finds an outcome after the program of the caller died', () => {
  assert.equal(kindsOf(settled, story(asked('1'), { type: 'died', program: 'p' }, ok('1'))), [
    'settled after death',
  ])
})

test('finds a late outcome, unless the program was frozen for as long', () => {
  const late = story(asked('1'), { ...ok('1'), at: 1_011 })
  assert.equal(kindsOf(settled, late), ['settled late'])
  assert.equal(kindsOf(settled, late, { lateBy: 1 }), [])
  const freeze = (target: string) =>
    story(
      asked('1'),
      { type: 'fault', verb: 'freeze', target, at: 500 },
      { type: 'fault', verb: 'thaw', target, at: 900 },
      { ...ok('1'), at: 1_410 },
    )
  assert.equal(kindsOf(settled, freeze('p')), [])
  assert.equal(kindsOf(settled, freeze('s1')), ['settled late'])
})

test.run()
