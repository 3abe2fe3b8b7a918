import * as assert from 'uvu/assert'
import { truth } from '../../../../scripts/sim/history/checkers/truth.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, ran, story, type Told } from './_story.js'

const test = suite('histories: truth')
const noted = { noted: true }
const ranTo = (token: string, value: string): Told => ({
  type: 'ranTo',
  program: 's1',
  run: `run of ${token}`,
  end: 'ok',
  value,
})

test('accepts that a call that ran fails as sent, and an unsent one did not run', () => {
  const history = story(
    asked('1', { ...noted, expected: 'one', most: 1 }),
    ran('1'),
    ranTo('1', 'one'),
    ok('1', { value: 'one' }),
    asked('2', noted),
    ran('2'),
    failed('2', true),
    asked('3', noted),
    failed('3', true),
    asked('4', noted),
    failed('4', false),
  )
  assert.equal(kindsOf(truth, history), [])
})

test('finds a call that ran though reported unsent, also later', () => {
  const lie = ['ran, though told unsent']
  assert.equal(kindsOf(truth, story(asked('1'), ran('1'), failed('1', false))), lie)
  assert.equal(kindsOf(truth, story(asked('1'), failed('1', false), ran('1'))), lie)
})

test('finds an answered call that no handler ran', () => {
  assert.equal(kindsOf(truth, story(asked('1', noted), ok('1'))), ['answered, not run'])
  assert.equal(kindsOf(truth, story(asked('1'), ok('1'))), [])
})

test('finds an answer that is wrong or that no run gave', () => {
  const wrong = story(asked('1', { expected: 'one' }), ok('1', { value: 'two' }))
  assert.equal(kindsOf(truth, wrong), ['wrong answer'])
  assert.equal(kindsOf(truth, story(asked('1', { expected: 'one' }), ok('1'))), ['wrong answer'])
  const invented = story(asked('1'), ran('1'), ranTo('1', 'one'), ok('1', { value: 'two' }))
  assert.equal(kindsOf(truth, invented), ['answer of no run'])
  const broken = story(
    asked('1'),
    ran('1'),
    { ...ranTo('1', 'one'), end: 'error' } as Told,
    ok('1', { value: 'one' }),
  )
  assert.equal(kindsOf(truth, broken), ['answer of no run'])
})

test('finds a call that ran more often than allowed', () => {
  const twice = (most: number) => story(asked('1', { most }), ran('1'), ran('1', { run: 'again' }), ok('1'))
  assert.equal(kindsOf(truth, twice(1)), ['ran too often'])
  assert.equal(kindsOf(truth, twice(2)), [])
})

test('finds a run not asked for, of another operation, or too early', () => {
  assert.equal(kindsOf(truth, story(ran('1'))), ['ran, never asked for'])
  assert.equal(kindsOf(truth, story(asked('1'), ran('1', { operation: 'append' }), ok('1'))), [
    'ran as another operation',
  ])
  const early = story(ran('1'), asked('1'), ok('1'))
  assert.equal(kindsOf(truth, early), ['ran before it was made'])
  assert.equal(kindsOf(truth, early, { ordered: false }), [])
})

test.run()
