import * as assert from 'uvu/assert'
import { hiddenIn, visible } from '../../../server/gateway/hidden-characters.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: hidden characters')

const cases: readonly (readonly [string, string])[] = [
  ['a\u200bb', 'U+200B at 1'],
  ['\u202eevil', 'U+202E at 0'],
  ['x\u{e0041}\u{e007f}', 'U+E0041 at 1, U+E007F at 3'],
  ['a\u0000\u001b[2J\u009b', 'U+0000 at 1, U+001B at 2, U+009B at 6'],
  ['\ue000\u{f0000}\u{10fffd}', 'U+E000 at 0, U+F0000 at 1, U+10FFFD at 3'],
  ['half \ud800', 'U+D800 at 5'],
  ['\ufeffbom\u00ad\u2060\u3164', 'U+FEFF at 0, U+00AD at 4, U+2060 at 5, U+3164 at 6'],
  // bytes hidden behind a smile
  ['\u{1f600}\ufe0f\ufe01\u{e0101}', 'U+FE0F at 2, U+FE01 at 3, U+E0101 at 4'],
  ['latin a\u200db', 'U+200D at 7'],
  ['read\b\b\bsend', 'U+0008 at 4, U+0008 at 5, U+0008 at 6'],
  ['page\f', 'U+000C at 4'],
]

for (const [text, found] of cases)
  test(`they are told with their places: ${found}`, () => {
    assert.equal(hiddenIn({ description: text }), [`description: ${found}`])
    assert.equal(hiddenIn(visible(text)), [])
  })

const fine = [
  'lines\nand\ttabs\r\n',
  'Grüße, 日本語, العربية, עברית',
  // how emoji and scripts that join are written
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f 1\ufe0f\u20e3 \u{1f3f3}\ufe0f\u200d\u{1f308}',
  'می\u200cخواهم \u0915\u094d\u200d\u0937',
]

for (const text of fine)
  test(`nothing is hidden in ${JSON.stringify(text).slice(0, 40)}`, () => {
    assert.equal(hiddenIn({ description: text }), [])
  })

test('names, schemas and lists are looked through, and few places are told', () => {
  const schema = { properties: { 'pa\u200bth': { enum: ['a', 'b\u200b'] } } }
  assert.equal(hiddenIn({ inputSchema: schema }), [
    'inputSchema.properties.pa<U+200B>th: U+200B at 2 of its name',
    'inputSchema.properties.pa<U+200B>th.enum[1]: U+200B at 1',
  ])
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`k${at}`, '\u200b'.repeat(20)]))
  const told = hiddenIn(many)
  assert.is(told.length, 6)
  assert.is(told[5], '4 more')
  assert.match(String(told[0]), /, 12 more$/)
  assert.equal(hiddenIn('\u200b'), ['text: U+200B at 0'])
})

test('a definition that is too deep is told, not followed for ever', () => {
  let deep: object = {}
  for (let at = 0; at < 200; at += 1) deep = { a: deep, b: 'ä' }
  assert.match(hiddenIn(deep).join(), /more than 64 levels/)
})

test.run()
