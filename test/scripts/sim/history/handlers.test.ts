import * as assert from 'uvu/assert'
import { handlers } from '../../../../scripts/sim/history/checkers/handlers.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, ran, story, type Told } from './_story.js'

const test = suite('histories: handlers')
const progress = (value: number, call = '1'): Told => ({
  type: 'received',
  program: 'p',
  client: 'a',
  kind: 'progress',
  payload: `${call} ${value}`,
  broadcast: false,
  call,
  progress: value,
})
const cancel: Told = { type: 'cancel', call: '1' }

test('accepts progress that grows until the answer', () => {
  const history = story(
    asked('1'),
    asked('2'),
    progress(1),
    progress(1, '2'),
    progress(2.5),
    ok('1'),
    ok('2'),
  )
  assert.equal(kindsOf(handlers, history), [])
})

test('finds progress that does not grow, or comes after the end', () => {
  assert.equal(kindsOf(handlers, story(asked('1'), progress(1), progress(1), ok('1'))), [
    'progress does not grow',
  ])
  assert.equal(kindsOf(handlers, story(asked('1'), progress(2), progress(1), ok('1'))), [
    'progress does not grow',
  ])
  assert.equal(kindsOf(handlers, story(asked('1'), ok('1'), progress(1))), ['progress after the end'])
  assert.equal(kindsOf(handlers, story(asked('1'), failed('1', true), progress(1))), [
    'progress after the end',
  ])
})

test('accepts a cancelled call that settles at once without an answer', () => {
  const at = 20
  const end = (told: Told, when: number) => story(asked('1'), { ...cancel, at }, { ...told, at: when })
  assert.equal(kindsOf(handlers, end(failed('1', true, 'CANCELLED'), at)), [])
  assert.equal(kindsOf(handlers, end(ok('1'), at)), [], 'the answer had come')
  assert.equal(kindsOf(handlers, end(ok('1'), at + 1)), ['answered after it was cancelled'])
  assert.equal(kindsOf(handlers, end(ok('1'), at + 1), { lateBy: 1 }), [])
  assert.equal(kindsOf(handlers, end(failed('1', true), at + 1)), ['cancelled, settled late'])
  assert.equal(kindsOf(handlers, story(asked('1'), cancel)), ['cancelled, not settled'])
  assert.equal(kindsOf(handlers, story(asked('1'), ok('1'), cancel)), [])
})

test('finds messages after an end', () => {
  const sent: Told = {
    type: 'emitted',
    program: 's1',
    stream: 'x',
    sequence: 1,
    kind: 'log',
    payload: 'x1',
    token: '1',
  }
  const ranTo: Told = { type: 'ranTo', program: 's1', run: 'run of 1', end: 'aborted' }
  assert.equal(kindsOf(handlers, story(asked('1'), ran('1'), sent, ranTo, ok('1'))), [])
  const after = story(asked('1'), ran('1'), ranTo, sent, ok('1'))
  assert.equal(kindsOf(handlers, after), ['told after its end'])
  assert.equal(kindsOf(handlers, after, { ordered: false }), [])
})

test('a closed client is told nothing and stays closed', () => {
  const phase = (name: string): Told => ({ type: 'phase', program: 'p', client: 'a', phase: name })
  assert.equal(kindsOf(handlers, story(phase('ready'), phase('closed'))), [])
  assert.equal(kindsOf(handlers, story(phase('closed'), phase('ready'))), ['came back after it was closed'])
  assert.equal(kindsOf(handlers, story(asked('1'), phase('closed'), progress(1), failed('1', true))), [
    'told after it was closed',
  ])
  const anew = story(phase('closed'), { type: 'started', program: 'p' }, phase('ready'))
  assert.equal(kindsOf(handlers, anew), [])
})

test.run()
