import * as fc from 'fast-check'
import * as assert from 'uvu/assert'
import { heapInUse } from '../../../support/collected.js'
import { compilePattern, type LinearPattern } from '../../../../protocol/schema/pattern/pattern.js'
import { cpuTime } from '../../../support/allowance.mjs'
import { suite } from '../../../support/suite.js'

const test = suite('protocol/schema/pattern/pattern')
const email =
  "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"

const atoms = [
  'a',
  'b',
  '-',
  '\\d',
  '\\w',
  '\\s',
  '[ab]',
  '[^a]',
  '[\\]a]',
  '.',
  '\\.',
  '\\x61',
  '\\u0062',
  '^',
  '$',
  '\\b',
  '\\B',
]
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true, maxDepth: 5 },
    fc.constantFrom(...atoms),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{0,2}', '{1,3}', '{2,}'))
      .map(([a, count]) => `(${a})${count}`),
    fc
      .tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!'), tie('pattern'))
      .map(([open, a]) => `${open}${a})`),
  ),
}))
const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', '.', ' ', '\n', 'é'), maxLength: 8 })

test.slow('matches just what RegExp matches, for any pattern and text', async () => {
  await fc.assert(
    fc.property(
      pattern,
      fc.array(text, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (source, texts, whole) => {
        const full = whole ? `^(?:${source})$` : source
        const ours = matcher(full)
        for (const value of texts) assert.is(ours.test(value), new RegExp(full, 'u').test(value))
      },
    ),
    { numRuns: 5_000 },
  )
})

const cases: readonly [source: string, good: readonly string[], bad: readonly string[]][] = [
  ['^[a-z0-9]+(?:-[a-z0-9]+)*$', ['a', 'a-b-1'], ['', 'a-', '-a', 'a--b']],
  [email, ['a.b@example.com'], ['.a@b.cd', 'a..b@c.de', 'a@b', 'a@-b.cd']],
  ['^\\p{Lu}\\p{L}*$', ['Éa', 'A'], ['éa', '1']],
  ['^.$', ['\u{1F600}', 'a'], ['ab', '\n', '']],
  ['^[\u{1F600}-\u{1F64F}]{2}$', ['\u{1F600}\u{1F601}'], ['\u{1F600}']],
  ['^\\ud83d\\ude00$', ['\u{1F600}'], ['a']],
  ['^\\u{1F600}$', ['\u{1F600}'], ['u']],
  ['^[\\w-\\.]+$', ['a-b.c'], ['a b']],
  ['^a{,2}$', ['a{,2}'], ['a']],
  ['^(?<year>\\d{4})-(?<month>\\d\\d)$', ['2025-11'], ['2025-1']],
  ['(?<=\\$)\\d+(?!\\d|%)', ['cost $10'], ['10', 'cost 10']],
  ['', ['', 'a'], []],
  ['a||b', ['', 'c'], []],
  ['^\\/[^/]*$', ['/x'], ['/x/']],
]

for (const [source, good, bad] of cases) {
  test(`reads ${source} as RegExp does`, () => {
    const ours = matcher(source)
    for (const value of good) assert.is(ours.test(value), true, value)
    for (const value of bad) assert.is(ours.test(value), false, value)
  })
}

test('patterns that make RegExp hang take time linear in the text', () => {
  for (const source of [
    '^(a+)+$',
    '(a|a)*$',
    '^(a|aa)+$',
    'a*a*a*a*a*b',
    '(.*)*x',
    '\\s+$',
    '(?=(a+)+$)b',
    email,
  ]) {
    const ours = matcher(source)
    const start = cpuTime()
    ours.test(`${'a'.repeat(200_000)}!`)
    ours.test(`${' '.repeat(200_000)}!`)
    assert.ok(cpuTime() - start < 1_500, source)
  }
})

test('pattern work is reported while it runs, so it can be stopped', () => {
  let left = 1_000
  const ours = matcher('(a|b)*c', (units) => {
    left -= units
    if (left < 0) throw new RangeError('enough')
  })
  assert.is(ours.test('abc'), true)
  assert.throws(() => ours.test('ab'.repeat(10_000)), /enough/)
})

test('the cached states of a pattern are bounded', () => {
  const ours = matcher('(?:a.{3}b|.c)x')
  const ends = Array.from({ length: 30_000 }, (_, index) => String.fromCodePoint(0x4e00 + index))
  assert.is(ours.test(ends.join('')), false)
  assert.is(ours.test(`${ends.join('')}acccbx`), true)
})

test('patterns that need backtracking are refused with a reason', () => {
  assert.match(refusal('('), /is not a regular expression/)
  assert.match(refusal('[b-a]'), /is not a regular expression/)
  assert.match(refusal('(a)\\1'), /backreference/)
  assert.match(refusal('(?<x>a)\\k<x>'), /backreference/)
  assert.match(refusal('(((a{100}){100}){100}){100}'), /too large/)
  assert.match(refusal('(?:){1000000000}'), /too large/)
  assert.match(refusal('(?=a)'.repeat(20)), /too large/)
})

function matcher(source: string, spend: (units: number) => void = () => undefined): LinearPattern {
  const compiled = compilePattern(source, spend)
  if (typeof compiled === 'string') throw new Error(`${source} ${compiled}`)
  return compiled
}

function refusal(source: string): string {
  const compiled = compilePattern(source, () => undefined)
  return typeof compiled === 'string' ? compiled : 'compiled'
}

test.slow('what is learned of a pattern is forgotten before it is too much', async () => {
  const pattern = matcher('(?:a.{3}b|.c)x')
  const before = await heapInUse()
  for (let start = 0; start < 20; start++) {
    const texts = Array.from({ length: 30_000 }, (_, index) =>
      String.fromCodePoint(0x20000 + start * 30_000 + index),
    )
    assert.is(pattern.test(texts.join('')), false)
  }
  const more = (await heapInUse()) - before
  assert.ok(more < 16_000_000, `${more} bytes more`)
  assert.is(pattern.test('acccbx'), true)
})

test('word characters of a pattern are letters, digits and the underscore', () => {
  const word = matcher('(?:^|(?=x)x*)\\b(?:a|z|A|Z|0|9|_)\\b$')
  for (const character of ['a', 'z', 'A', 'Z', '0', '9', '_']) {
    assert.is(matcher('^(?:.|x)\\b$').test(character), true, character)
    assert.is(word.test(character), true, character)
  }
  for (const character of ['`', '{', '@', '[', '/', ':', '^', 'é', '-'])
    assert.is(matcher('^(?:.|x)\\b$').test(character), false, character)
})

test.run()
