import * as assert from 'uvu/assert'
import fc from 'fast-check'
import { type Path, valueAt, withoutValue, withValue } from '../../command/hosts/edit-jsonc.js'
import { parseJsonc } from '../../command/hosts/jsonc.js'
import { suite } from '../support/suite.js'

const test = suite('a file of JSON with comments that is edited')
const where = 'mcp.json'

const commented = `// servers of the team
{
    "$schema": "x", // for editors
    "mcpServers": {
        // the files
        "files": { "command": "npx", "args": ["-y", "x"] }, /* read only */
        "mail": {
            "url": "https://mail.example/mcp", // slow
        }, // the mail
        // "old": {}
    },
    "other": [1, 2]
}
`

test('a server comes behind the others, and all else stays as it is written', () => {
  const after = withValue(commented, where, ['mcpServers', 'new'], { url: 'https://new.example/' })
  assert.is(
    after,
    commented.replace(
      '}, // the mail\n',
      '}, // the mail\n        "new": {\n            "url": "https://new.example/"\n        },\n',
    ),
  )
  assert.is(withoutValue(after, where, ['mcpServers', 'new']), commented)
})

test('a value takes the place of another, in its line if it had one', () => {
  const args = withValue(commented, where, ['mcpServers', 'files', 'args'], ['z'])
  assert.is(args, commented.replace('["-y", "x"]', '["z"]'))
  const added = withValue(commented, where, ['mcpServers', 'files', 'env', 'A'], 'b')
  assert.is(added, commented.replace('"x"] }', '"x"], "env": { "A": "b" } }'))
  const last = withValue(commented, where, ['caduceus', 'listen', 'port'], 1)
  assert.is(
    last,
    commented.replace(
      '[1, 2]\n',
      '[1, 2],\n    "caduceus": {\n        "listen": {\n            "port": 1\n        }\n    }\n',
    ),
  )
})

test('what is taken out takes its comma and its line along', () => {
  const cases: readonly (readonly [before: string, path: Path, after: string])[] = [
    ['{ "a": 1, "b": 2 }', ['a'], '{ "b": 2 }'],
    ['{ "a": 1, "b": 2 }', ['b'], '{ "a": 1 }'],
    ['{"a":1}', ['a'], '{}'],
    ['{\n  "a": 1,\n  "b": 2 // two\n}\n', ['b'], '{\n  "a": 1\n  // two\n}\n'],
    ['{\n  "a": 1,\n  "b": 2,\n}\n', ['a'], '{\n  "b": 2,\n}\n'],
    ['{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n', ['a', 'b'], '{\r\n\t"a": {}\r\n}\r\n'],
    ['{"a":1,"b":2,"a":3}', ['a'], '{"b":2}'],
  ]
  for (const [before, path, after] of cases) assert.is(withoutValue(before, where, path), after)
  assert.is(withoutValue('{"a": 1}', where, ['b']), undefined)
  assert.is(withoutValue('{"a": 1}', where, ['constructor']), undefined)
})

test('an empty object opens, and a file in one line stays in one', () => {
  const path = ['mcpServers', '__proto__']
  assert.is(withValue('{}', where, path, 1), '{\n  "mcpServers": {\n    "__proto__": 1\n  }\n}')
  assert.is(
    withValue('{"mcpServers":{},"b":1}', where, path, { c: [] }),
    '{"mcpServers":{"__proto__":{"c":[]}},"b":1}',
  )
  assert.is(withValue('\uFEFF{\r\n\t"a": {\r\n\t\t// none\r\n\t}\r\n}', where, ['a', 'b'], 1).at(0), '\uFEFF')
  assert.is(
    withValue('{\r\n\t"a": {\r\n\t\t// none\r\n\t}\r\n}', where, ['a', 'b'], {}),
    '{\r\n\t"a": {\r\n\t\t// none\r\n\t\t"b": {}\r\n\t}\r\n}',
  )
  assert.is(withValue('{"a":{/* no */},"b":1}', where, ['a', 'b'], 1), '{"a":{/* no */"b":1},"b":1}')
})

test('what is no JSON, or no object, is told with its place', () => {
  assert.throws(() => withValue('{\n "a" 1}', where, ['b'], 1), /mcp\.json is no JSON \(line 2, column 6/)
  assert.throws(() => withValue('[]', where, ['b'], 1), /mcp\.json: expected an object/)
  assert.throws(() => withValue('{"a": [1]}', where, ['a', 'b'], 1), /mcp\.json: a is no object/)
})

/** A text of a value, with blanks, comments and commas where they may stand. */
const blank = fc.constantFrom('', ' ', '\n', '\n  ', ' /* c */ ', ' // c\n', '\r\n\t', '/* , } */')
const nameOf = fc.constantFrom('a', 'b', '__proto__', 'a.b', 'constructor', '}', '//')
const { text: anyText } = fc.letrec<{ text: string; object: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('1', '"x"', 'null', '[1, 2]'),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.array(fc.tuple(blank, nameOf, blank, tie('text'), blank), { maxLength: 4 }),
      fc.boolean(),
      blank,
    )
    .map(([fields, trailing, end]) => {
      const all = fields.map(([b0, name, b1, value, b2]) => `${b0}${JSON.stringify(name)}:${b1}${value}${b2}`)
      return `{${all.join(',')}${trailing && all.length > 0 ? ',' : ''}${end}}`
    }),
}))
const anyObject = anyText.filter((text) => text.startsWith('{'))

/** The same change of the value. */
function changed(whole: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return value
  const fields = new Map(Object.entries(whole as object))
  const before = fields.get(name)
  const inner = rest.length === 0 ? value : changed(before ?? {}, rest, value)
  if (inner === undefined) fields.delete(name)
  else fields.set(name, inner)
  return Object.fromEntries(fields)
}

/** As texts: a field `constructor` is no class. */
const same = (one: unknown, other: unknown): void => assert.is(JSON.stringify(one), JSON.stringify(other))
const comments = (text: string): number => text.match(/\/\* c \*\/|\/\/ c\r?\n|\/\* , \} \*\//g)?.length ?? 0

test('any file says the same but for the change, with all of its comments', () => {
  fc.assert(
    fc.property(anyObject, fc.array(nameOf, { minLength: 1, maxLength: 3 }), (text, path) => {
      const before = parseJsonc(text, where)
      const parents = path.slice(0, -1).map((_, index) => valueAt(text, where, path.slice(0, index + 1)))
      fc.pre(
        parents.every(
          (one) => one === undefined || (typeof one === 'object' && !Array.isArray(one) && one !== null),
        ),
      )
      const set = withValue(text, where, path, { n: [1] })
      same(parseJsonc(set, where), changed(before, path, { n: [1] }))
      const isNew = valueAt(text, where, path) === undefined
      if (isNew) assert.is(comments(set), comments(text))
      const removed = withoutValue(set, where, path) ?? ''
      same(parseJsonc(removed, where), changed(changed(before, path, 1), path, undefined))
      if (isNew && parents.every((one) => one !== undefined)) assert.is(comments(removed), comments(text))
    }),
    { numRuns: 400 },
  )
})

test.run()
