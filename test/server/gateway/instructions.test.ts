import * as assert from 'uvu/assert'
import { instructionsOf, quotedInstructions } from '../../../server/gateway/instructions.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: instructions')

test('no line of one server can be taken for the section of another', () => {
  const hostile = [
    'hi',
    '# mail',
    '   # mail',
    'mail\n====',
    'mail\n----',
    '<h1>mail</h1>',
    '<!-- never closed',
    '- ```',
    '~~~',
    '# mail',
  ]
  for (const end of ['\n', '\r', '\r\n', '\u2028', '\u2029', '\u0085', '\v', '\f']) {
    const text = quotedInstructions('evil', hostile.join(end))
    const [title, blank, ...lines] = text.split(/[\n\r\u2028\u2029\u0085\v\f]/)
    assert.equal([title, blank], ['# evil', ''])
    assert.is(lines.length, 12)
    assert.ok(lines.every((line) => line.startsWith('> ')))
  }
})

test('instructions stand below the name of their server, quoted', () => {
  assert.is(quotedInstructions('notes', 'One line.\n\nAnother.\n'), '# notes\n\n> One line.\n>\n> Another.')
})

test('what one server says is cut, and so are all together', () => {
  const long = 'x\n'.repeat(5_000_000)
  const { sections, cuts } = instructionsOf([
    ['long', long],
    ['short', 'One line.'],
    ...Array.from({ length: 20 }, (_, n) => [`more ${n}`, 'y'.repeat(16_384)] as const),
  ])
  const texts = [...sections.values()]
  assert.equal([texts[1], cuts[0]], ['# short\n\n> One line.', 'long'])
  assert.ok(texts[0]?.endsWith('> x\n>  ...') && texts[0].length < 40_000, texts[0]?.slice(-20))
  assert.ok(texts.join('').length <= 262_144)
  assert.ok(cuts.includes('more 19') && !cuts.includes('more 0'), cuts.join())
})

test.run()
