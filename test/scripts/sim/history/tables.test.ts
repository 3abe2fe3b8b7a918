import * as assert from 'uvu/assert'
import { tables } from '../../../../scripts/sim/history/checkers/tables.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, story, type Told } from './_story.js'

const test = suite('histories: tables')
const count = (when: 'fresh' | 'rest', counts: Record<string, number>): Told => ({
  type: 'tables',
  program: 's',
  when,
  counts,
})

test('as much as there was, or less', () => {
  const history = story(count('fresh', { a: 3, b: 1 }), count('rest', { a: 3 }))
  assert.equal(kindsOf(tables, history), [])
})

test('more than there was, unless there is room for it', () => {
  const more = story(count('fresh', { a: 3 }), count('rest', { a: 5, b: 1 }))
  assert.equal(kindsOf(tables, more), ['grown: a', 'grown: b'])
  assert.equal(kindsOf(tables, more, { room: { a: 1, b: 1 } }), ['grown: a'])
  assert.equal(kindsOf(tables, more, { room: { a: 2, b: 1 } }), [])
  const rooms = new Map([['s', { a: 2 }]])
  assert.equal(kindsOf(tables, more, { room: { b: 1 }, rooms }), ['grown: b'])
})

test('a program that nobody looked at before, or not since it began again', () => {
  const rest = count('rest', {})
  assert.equal(kindsOf(tables, story(rest)), ['not counted'])
  assert.equal(kindsOf(tables, story(count('fresh', {}), { type: 'died', program: 's' }, rest)), [
    'not counted',
  ])
})

test.run()
