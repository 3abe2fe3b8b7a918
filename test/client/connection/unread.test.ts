import * as assert from 'uvu/assert'
import { UnreadAnswers } from '../../../client/connection/unread.js'
import { suite } from '../../support/suite.js'

const test = suite('long answers that wait')

test('the shortest is read first, and of four one is the oldest', () => {
  const { unread, add, read } = make()
  add(1, 900)
  for (let id = 2; id <= 9; id += 1) add(id, 900 - id)
  while (unread.size > 0) unread.readNext()
  assert.equal(read, ['9', '8', '7', '1', '6', '5', '4', '2', '3'])
})

test('what came about a request is told behind its answer, and at once without one', () => {
  const { unread, add, read } = make()
  add(1, 900)
  add(2, 800)
  unread.behind(1, () => read.push('behind 1'))
  unread.behind(3, () => read.push('about 3'))
  unread.behind(2, () => read.push('behind 2'))
  assert.equal(read, ['about 3'])
  unread.readNext()
  assert.equal(read, ['about 3', '2', 'behind 2'])
  add(4, 1)
  unread.readAll()
  assert.equal(read, ['about 3', '2', 'behind 2', '1', 'behind 1', '4'])
  unread.behind(1, () => read.push('about 1'))
  unread.readNext()
  assert.equal([read.at(-1), unread.size], ['about 1', 0])
})

function make() {
  const unread = new UnreadAnswers()
  const read: string[] = []
  const add = (id: number, size: number): void => unread.add({ id, size, read: () => read.push(String(id)) })
  return { unread, add, read }
}

test.run()
