import * as assert from 'uvu/assert'
import { lineDiff } from '../../command/terminal/line-diff.js'
import { suite } from '../support/suite.js'

const test = suite('lines that differ')

test('what is old, new and near a change is shown', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const after = ['a', 'b', 'c', 'd', 'E', 'f', 'g', 'h']
  assert.equal(lineDiff(before.join('\n'), after.join('\n')), [
    '  ...',
    '  c',
    '  d',
    '- e',
    '+ E',
    '  f',
    '  g',
    '+ h',
  ])
})

test('nothing is nothing, and what is new is new as a whole', () => {
  assert.equal(lineDiff('a', 'a'), [])
  assert.equal(lineDiff('', 'a\nb'), ['+ a', '+ b'])
  assert.equal(lineDiff('a\nb', ''), ['- a', '- b'])
})

test('texts without anything in common cost no more than they are long', () => {
  const lines = (word: string): string => Array.from({ length: 5_000 }, (_, at) => `${word}${at}`).join('\n')
  const diff = lineDiff(lines('a'), lines('b'))
  assert.is(diff.length, 10_000)
  assert.equal([diff[0], diff[9_999]], ['- a0', '+ b4999'])
})

test.run()
