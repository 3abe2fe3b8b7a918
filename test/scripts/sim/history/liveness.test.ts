import * as assert from 'uvu/assert'
import { liveness } from '../../../../scripts/sim/history/checkers/liveness.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, story, type Told } from './_story.js'

const test = suite('histories: liveness')
const phase = (name: string, at?: number): Told => ({
  type: 'phase',
  program: 'p',
  client: 'a',
  phase: name,
  ...(at !== undefined && { at }),
})
const whole: Told = { type: 'faultsEnded' }
const count = (waiting: number, at?: number): Told => ({
  type: 'census',
  program: 'p',
  when: 'calm',
  counts: { waiting, other: 5 },
  ...(at !== undefined && { at }),
})

test('accepts a client that is ready in time and closed later', () => {
  assert.equal(kindsOf(liveness, story(phase('ready'), whole, phase('closed', 5_000))), [])
  assert.equal(kindsOf(liveness, story(phase('backoff'), whole, phase('ready'), phase('closed'))), [])
  assert.equal(kindsOf(liveness, story(phase('backoff'))), [], 'faults have not ended')
})

test('finds a client ready too late, never, or closed too early', () => {
  const late = story(phase('backoff', 0), { ...whole, at: 10 }, phase('ready', 1_011))
  assert.equal(kindsOf(liveness, late), ['not ready'])
  assert.equal(kindsOf(liveness, story(phase('backoff'), whole)), ['not ready'])
  assert.equal(kindsOf(liveness, story(phase('backoff'), whole, phase('closed'))), ['not ready'])
  assert.equal(kindsOf(liveness, story(phase('failed'), whole), { doomed: new Set(['a']) }), [])
  assert.equal(kindsOf(liveness, story(whole), { clients: ['a'] }), ['not ready'])
  assert.equal(kindsOf(liveness, story(phase('backoff'), { type: 'died', program: 'p' }, whole)), [])
})

test('finds a client that disconnects without a fault', () => {
  const history = story(phase('ready'), whole, phase('backoff', 2_000), phase('ready'))
  assert.equal(kindsOf(liveness, history), ['lost its way'])
})

test('finds a call that settles late, or fails, once faults are over', () => {
  const call = asked('1', { timeout: 60_000 })
  assert.equal(kindsOf(liveness, story(call, { ...whole, at: 10 }, { ...ok('1'), at: 1_010 })), [])
  assert.equal(kindsOf(liveness, story(call, { ...whole, at: 10 }, { ...ok('1'), at: 1_011 })), [
    'settled late',
  ])
  const later = (...ends: Told[]) => story({ ...whole, at: 0 }, { ...call, at: 1_001 }, ...ends)
  assert.equal(kindsOf(liveness, later(ok('1'))), [])
  assert.equal(kindsOf(liveness, later(failed('1', true))), ['failed'])
  assert.equal(kindsOf(liveness, later({ type: 'cancel', call: '1' }, failed('1', true, 'CANCELLED'))), [])
  const early = story({ ...whole, at: 0 }, { ...call, at: 999 }, failed('1', true))
  assert.equal(kindsOf(liveness, early), [])
})

test('finds a queue that is not empty at the end, or not counted', () => {
  const queues = { queues: ['waiting'] }
  assert.equal(kindsOf(liveness, story(whole, count(0)), queues), [])
  assert.equal(kindsOf(liveness, story(whole, count(1)), queues), ['queue not empty'])
  assert.equal(kindsOf(liveness, story(count(0), whole), queues), ['not counted'])
  assert.equal(kindsOf(liveness, story(whole, count(1))), [])
})

test.run()
