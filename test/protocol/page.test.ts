import * as assert from 'uvu/assert'
import { McpError } from '../../protocol/errors.js'
import { decodeCursor, encodeCursor, paginate } from '../../protocol/page.js'
import { suite } from '../support/suite.js'

const test = suite('protocol/page')
const all = Array.from({ length: 25 }, (_, index) => index)

test('following the cursors gives every item once, in order, for every size', () => {
  for (let size = 1; size <= 26; size++) {
    const seen: number[] = []
    let cursor: string | undefined
    do {
      const page = paginate(all, cursor, size)
      assert.ok(page.items.length <= size)
      seen.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    assert.equal(seen, all)
  }
})

test('the last page has no cursor, and an empty list is one page', () => {
  assert.is('nextCursor' in paginate(all, undefined, 25), false)
  assert.equal(paginate([], undefined, 10), { items: [] })
})

test('a cursor is opaque but holds its offset', () => {
  for (const offset of [0, 1, 10, 999_999]) assert.is(decodeCursor(encodeCursor(offset)), offset)
  assert.is(encodeCursor(10).includes('10'), false)
})

test('a cursor that is not ours is refused with -32602 (trap 34)', () => {
  const foreign = [
    '',
    'garbage',
    '10',
    btoa('10'),
    btoa('offset:-1'),
    btoa('offset:01'),
    btoa('offset:1e3'),
    '\u{1F600}',
    encodeCursor(10 ** 20),
  ]
  for (const cursor of foreign) {
    assert.throws(
      () => paginate(all, cursor, 10),
      (error: unknown) => error instanceof McpError && error.code === -32602,
      cursor,
    )
  }
})

test('a cursor beyond a list that became shorter is refused, not answered with an empty page', () => {
  assert.throws(() => paginate(all.slice(0, 10), encodeCursor(10), 10), /params.cursor/)
  assert.throws(() => paginate([], encodeCursor(0), 10), /params.cursor/)
})

test.run()
