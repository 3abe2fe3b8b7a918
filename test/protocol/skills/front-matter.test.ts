import * as assert from 'uvu/assert'
import { readFrontMatter } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/skills/front-matter')

function read(...lines: readonly string[]): Promise<{ [field: string]: unknown }> {
  return readFrontMatter(`---\n${lines.join('\n')}\n---\nbody: here`)
}

function problem(...lines: readonly string[]): Promise<string> {
  return problemOf(`---\n${lines.join('\n')}\n---\nbody: here`)
}

async function problemOf(text: string): Promise<string> {
  try {
    await readFrontMatter(text)
  } catch (error) {
    assert.is((error as { code?: string }).code, 'BAD_FRONT_MATTER')
    return (error as Error).message
  }
  throw new Error(`was read: ${text}`)
}

test('front matter reads strings, numbers and booleans of the core schema', async () => {
  const fields = [
    ...['name: a-b', "description: It's a text, see https://example.com:80/#x # and a comment"],
    ...['license: "Apache-2.0"', "quoted: 'it''s'", 'escaped: "a\\tb\\u00e9\\x41\\\\"'],
    ...['none:', 'tilde: ~', 'yes: yes', 'on: True', 'off: false', 'date: 2026-01-01', 'version: 1.0'],
    ...['hex: 0x1F', 'octal: 0o17', 'minus: -1e3', 'dash: -x', '"a key": 1'],
  ]
  assert.equal(await read(...fields), {
    name: 'a-b',
    description: "It's a text, see https://example.com:80/#x",
    ...{ license: 'Apache-2.0', quoted: "it's", escaped: 'a\tb\u00e9A\\' },
    ...{ none: null, tilde: null, yes: 'yes', on: true, off: false, date: '2026-01-01', version: 1 },
    ...{ hex: 31, octal: 15, minus: -1000, dash: '-x', 'a key': 1 },
  })
})

test('front matter reads block scalars', async () => {
  const lines = [
    ...['plain: one', '  two', '', '  three'],
    ...['literal: |', '  a', '    b', '', '  c', ''],
    ...['folded: >-', '  a', '  b', '', '  c', '    d', '  e'],
    ...['kept: |+', '  a', '', 'double: "a', '  b', '', '  c\\', '  d"', 'last: x'],
  ]
  assert.equal(await read(...lines), {
    plain: 'one two\nthree',
    literal: 'a\n  b\n\nc\n',
    folded: 'a b\nc\n  d\ne',
    kept: 'a\n\n',
    double: 'a b\ncd',
    last: 'x',
  })
})

test('front matter reads block and flow lists and mappings', async () => {
  const lines = [
    ...[
      'left:',
      '- 1',
      '- two',
      'deep:',
      '  - name: a',
      '    more:',
      '      - [x, "y"]',
      '  - - 1',
      '    - 2',
    ],
    ...[
      'metadata:',
      '  # a comment',
      '  version: "1.0"',
      '',
      '  __proto__: x',
      'flow: {a: b, c: [1, {d: ~}],',
      '  e: f}',
    ],
    'empty: []',
  ]
  const value = await read(...lines)
  assert.equal(value.left, [1, 'two'])
  assert.equal(value.deep, [{ name: 'a', more: [['x', 'y']] }, [1, 2]])
  assert.is(JSON.stringify(value.metadata), '{"version":"1.0","__proto__":"x"}')
  assert.equal(value.flow, { a: 'b', c: [1, { d: null }], e: 'f' })
  assert.equal(value.empty, [])
})

test('ambiguous front matter is refused with its line', async () => {
  assert.is(await problem('name: a', 'name: b'), 'line 3: the field "name" stands twice')
  assert.match(
    await problem('x: 1', 'description: Use when: asked'),
    /^line 3: a text with ": " in it has to stand in quotes/,
  )
  for (const value of [
    '&a b',
    '*a',
    '!!str 1',
    '@x',
    '`x`',
    '%x',
    '- x',
    '? x',
    ', x',
    '] x',
    '.inf',
    '"\\q"',
    '"a',
    '[1, 2',
    '{a: 1, a: 2}',
    '| x',
    '"a" b',
    '{<<: a}',
  ])
    assert.match(await problem('a: 1', `x: ${value}`), /^line 3: /, value)
  for (const lines of [
    ['- a'],
    ['a: 1', '  b: 2'],
    ['a:', '  b: 1', ' c: 2'],
    ['a:', '\tb: 1'],
    ['<<: a'],
    ['a'],
    ['? a', ': b'],
  ])
    await problem(...lines)
})

test('a text without front matter, or one without an end, is refused', async () => {
  for (const text of [
    '',
    'name: a',
    '# A title',
    '---\nname: a\n',
    ' ---\na: 1\n---',
    `---\na: |\n${'  x\n'.repeat(20_000)}---\n`,
  ])
    await problemOf(text)
  assert.equal(await readFrontMatter('\uFEFF---\r\nname: a\r\ntext: |\r\n  b\r\n  c\r\n---\r\n'), {
    name: 'a',
    text: 'b\nc\n',
  })
})

test.slow('hostile front matter is read in linear time', async () => {
  const hostile = [
    `a: "${' '.repeat(65_000)}"`,
    `a: ${'['.repeat(65_000)}`,
    `a: [${' '.repeat(60_000)}`,
    `a: ${'x '.repeat(30_000)}#`,
    `a: ${"'".repeat(65_001)}`,
    `a: {${'a: '.repeat(20_000)}`,
    '- '.repeat(30_000),
    `a:\n${'[]\n'.repeat(20_000)}`,
    Array.from({ length: 8_000 }, (_, at) => `k${at}: []`).join('\n'),
    Array.from({ length: 200 }, (_, at) => `${' '.repeat(at)}k:`).join('\n'),
  ]
  for (const text of hostile)
    try {
      await readFrontMatter(`---\n${text}\n---\n`)
    } catch (error) {
      assert.is((error as { code?: string }).code, 'BAD_FRONT_MATTER')
    }
})

test.run()
