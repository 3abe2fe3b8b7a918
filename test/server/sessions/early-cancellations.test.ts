import * as assert from 'uvu/assert'
import { EarlyCancellations } from '../../../server/sessions/early-cancellations.js'
import { suite } from '../../support/suite.js'

const test = suite('cancellations that come early')

test('an early cancellation counts once, for 5 s and its exact id', () => {
  const early = new EarlyCancellations()
  for (const id of [1, '2', 3]) early.add(id, 0)
  assert.equal(
    [early.take('1', 1), early.take(1, 5_000), early.take(1, 5_000), early.take('2', 5_001)],
    [false, true, false, false],
  )
  early.add(3, 4_000)
  assert.ok(early.take(3, 9_000), 'told again, it counts from then on')
})

test('ids that are longer than 256 characters are not kept', () => {
  const early = new EarlyCancellations()
  const long = 'x'.repeat(257)
  early.add(long, 0)
  assert.not.ok(early.take(long, 1))
  early.noteAnswered(long)
  early.add('x'.repeat(256), 0)
  assert.ok(early.take('x'.repeat(256), 1))
})

test('the newest hundred early cancellations are kept, valid ids only', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id <= 100; id++) early.add(id, 0)
  assert.equal([early.take(0, 0), early.take(1, 0), early.take(100, 0)], [false, true, true])
  const long = 'x'.repeat(1_025)
  for (const id of [undefined, null, {}, 1.5, long]) early.add(id, 0)
  assert.not(early.take(long, 0))
})

test('a repeated early cancellation counts as new', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id < 100; id++) early.add(id, 0)
  early.add(0, 0)
  early.add('one more', 0)
  assert.equal([early.take(0, 0), early.take(1, 0)], [true, false])
})

test('a cancellation after one of the last hundred answers is ignored', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id <= 100; id++) early.noteAnswered(id)
  for (const id of [0, 1, 100, '1']) early.add(id, 0)
  assert.equal(
    [early.take(0, 0), early.take(1, 0), early.take(100, 0), early.take('1', 0)],
    [true, false, false, true],
  )
})

test.run()
