import * as assert from 'uvu/assert'
import { EarlyCancellations } from '../../../server/sessions/early-cancellations.js'
import { suite } from '../../support/suite.js'

const test = suite('cancellations that come early')

test('one counts once, for 5 s, and for its very id', () => {
  const early = new EarlyCancellations()
  for (const id of [1, '2', 3]) early.add(id, 0)
  assert.equal(
    [early.take('1', 1), early.take(1, 5_000), early.take(1, 5_000), early.take('2', 5_001)],
    [false, true, false, false],
  )
  early.add(3, 4_000)
  assert.ok(early.take(3, 9_000), 'told again, it counts from then on')
})

test('a hundred are kept, the newest ones, and nothing that can be no id', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id <= 100; id++) early.add(id, 0)
  assert.equal([early.take(0, 0), early.take(1, 0), early.take(100, 0)], [false, true, true])
  const long = 'x'.repeat(1_025)
  for (const id of [undefined, null, {}, 1.5, long]) early.add(id, 0)
  assert.not(early.take(long, 0))
})

test('what is cancelled again counts as new', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id < 100; id++) early.add(id, 0)
  early.add(0, 0)
  early.add('one more', 0)
  assert.equal([early.take(0, 0), early.take(1, 0)], [true, false])
})

test('what was answered among the last hundred is not cancelled later', () => {
  const early = new EarlyCancellations()
  for (let id = 0; id <= 100; id++) early.noteAnswered(id)
  for (const id of [0, 1, 100, '1']) early.add(id, 0)
  assert.equal(
    [early.take(0, 0), early.take(1, 0), early.take(100, 0), early.take('1', 0)],
    [true, false, false, true],
  )
})

test.run()
