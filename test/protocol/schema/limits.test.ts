import * as assert from 'uvu/assert'
import { ProtocolError, toSchema } from 'caduceus/protocol'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('protocol/schema/limits')

const refused: readonly [what: string, schema: object, message: RegExp][] = [
  [
    'a schema that is too long',
    { description: 'x'.repeat(262_144) },
    /expected at most 262144 characters, got 2621\d\d/,
  ],
  ['a schema that is too deep', nest(65, (inner) => ({ not: inner })), /expected at most 64 levels/],
  ['a schema deeper than the stack', nest(20_000, (inner) => ({ not: inner })), /JSON Schema: expected/],
  ['a default that is too deep', { default: nest(70, (inner) => [inner]) }, /expected at most 64 levels/],
  ['too many subschemas', { anyOf: Array(2_000).fill({}) }, /expected at most 2000 subschemas, got 2001/],
  [
    'a reference to the network',
    { properties: { a: { $ref: 'https://x.example/a' } } },
    /at \/properties\/a\/\$ref: expected a reference within/,
  ],
  ['a reference to a file', { $ref: 'other.json#/a' }, /expected a reference within/],
  [
    'a reference to nowhere',
    { items: { $ref: '#/$defs/none' } },
    /at \/items\/\$ref: there is no "#\/\$defs\/none"/,
  ],
  [
    'an id of two schemas',
    { properties: { a: { $id: 'https://x.example/a' }, b: { $id: 'https://x.example/a' } } },
    /at \/properties\/b\/\$id: the \$id "https:\/\/x\.example\/a" stands for another schema as well/,
  ],
  [
    'an id of two schemas, told relative to another one',
    { $id: 'https://x.example/a', properties: { b: { $id: 'c' }, d: { $id: 'https://x.example/c' } } },
    /at \/properties\/d\/\$id: the \$id/,
  ],
  ['an id that is the one of the whole', { not: { $id: 'schema' } }, /at \/not\/\$id: the \$id "schema"/],
  [
    'an id of two schemas, once with an empty fragment',
    { anyOf: [{ $id: 'https://x.example/a#' }, { $id: 'https://x.example/a' }] },
    /at \/anyOf\/1\/\$id: the \$id/,
  ],
  ['a reference to what every object has', { $ref: '#/constructor' }, /there is no/],
  ['a reference to an anchor that is not there', { $ref: '#none' }, /there is no "#none"/],
  [
    'a reference that leads nowhere from the id around it',
    {
      $defs: { a: { type: 'number' } },
      properties: {
        x: { $id: 'item', properties: { y: { $ref: '#/$defs/a' } } },
      },
    },
    /at \/properties\/x\/properties\/y\/\$ref: there is no "#\/\$defs\/a" within the \$id "item"/,
  ],
  [
    'an anchor of another id',
    {
      $defs: { a: { $anchor: 'n', type: 'number' } },
      not: { $id: 'item', $ref: '#n' },
    },
    /at \/not\/\$ref: there is no "#n" within the \$id "item"/,
  ],
  ...['#/components/a', '#/$defs', '#/enum/0', '#/title', '#/allOf'].map(
    (reference): (typeof refused)[number] => [
      `a reference to ${reference}, where no schema is`,
      {
        title: 'x',
        $defs: {},
        enum: [{}],
        allOf: [{}],
        components: { a: {} },
        properties: { b: { $ref: reference } },
      },
      /at \/properties\/b\/\$ref: there is no "/,
    ],
  ),
  [
    'an anchor for two schemas',
    { $defs: { a: { $anchor: 'n' }, b: { $dynamicAnchor: 'n' } } },
    /at \/\$defs\/b: the anchor "n" stands for another schema as well/,
  ],
  [
    'a circle within an id',
    {
      $defs: { a: {} },
      not: { $id: 'item', $defs: { a: { $ref: '#' } }, $ref: '#/$defs/a' },
    },
    /refers to itself/,
  ],
  ['a reference to itself', { $ref: '#' }, /never ends/],
  ['a reference to itself by its URI', { $id: 'https://x.example/s', $ref: 's' }, /never ends/],
  ['an empty reference', { properties: { a: { $ref: '' } } }, /expected a reference within/],
  [
    'a place that is no schema, by its URI',
    { $defs: { a: { $id: 'a', x: {} } }, items: { $ref: 'a#/x' } },
    /at \/items\/\$ref: there is no "a#\/x"/,
  ],
  [
    'a dynamic reference by its URI',
    { $defs: { a: { $id: 'a', $dynamicAnchor: 'n' } }, items: { $dynamicRef: 'a#n' } },
    /expected a reference within/,
  ],
  [
    'a circle that never goes into the value',
    {
      $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } },
      items: { $ref: '#/$defs/a' },
    },
    /never ends/,
  ],
  [
    'a pattern that is too long',
    { pattern: 'a'.repeat(513) },
    /at \/pattern: expected at most 512 characters/,
  ],
  [
    'a pattern that is none',
    { properties: { a: { pattern: '(' } } },
    /at \/properties\/a\/pattern: the pattern is not/,
  ],
  [
    'a backreference',
    { patternProperties: { '(a)\\1': {} } },
    /at \/patternProperties: the pattern has a backreference/,
  ],
  [
    'an unknown dialect',
    { $schema: 'http://json-schema.org/draft-04/schema#' },
    /at \/\$schema: expected the URI of draft/,
  ],
  ['a dialect that is no text', { $schema: 7 }, /at \/\$schema/],
  ['a circle of objects', circle(), /expected JSON: /],
  ['a BigInt', { maximum: 1n }, /expected JSON: /],
  ['an array', [], /expected an object, got an array/],
]

for (const [what, schema, message] of refused) {
  test(`${what} is refused at once`, () => {
    assert.throws(
      () => toSchema(schema as { [keyword: string]: unknown }),
      (error: unknown) =>
        error instanceof ProtocolError && error.code === 'BAD_SCHEMA' && message.test(error.message),
    )
  })
}

const admitted: readonly [what: string, schema: object, good: unknown, bad: unknown][] = [
  [
    'a tree that refers to itself through its fields',
    {
      $defs: {
        n: { properties: { l: { $ref: '#/$defs/n' }, r: { $ref: '#/$defs/n' }, v: { type: 'number' } } },
      },
      $ref: '#/$defs/n',
    },
    { l: { v: 1 }, r: { l: { v: 2 } } },
    { r: { l: { v: '2' } } },
  ],
  [
    'a reference with escapes',
    { $defs: { 'a/b c~': { type: 'number' } }, $ref: '#/$defs/a~1b%20c~0' },
    1,
    'x',
  ],
  ['an anchor', { $defs: { a: { $anchor: 'num', type: 'number' } }, $ref: '#num' }, 1, 'x'],
  [
    'a root with an id',
    { $id: 'https://x.example/s', $defs: { a: { type: 'number' } }, $ref: '#/$defs/a' },
    1,
    'x',
  ],
  [
    'references that start from the id around them',
    {
      $defs: {
        a: { type: 'string' },
        s: {
          $id: 'deep',
          allOf: [{ $ref: '#/$defs/a' }],
          $defs: { a: { minLength: 2 } },
        },
      },
      properties: {
        x: { $id: 'item', $ref: '#/$defs/a', $defs: { a: { type: 'number' } } },
        y: { $ref: '#/$defs/s' },
      },
    },
    { x: 1, y: 'xx' },
    { x: 1, y: 'x' },
  ],
  [
    'a reference to an item of a list, and to a schema that is no object',
    {
      allOf: [{ properties: { x: { type: 'number' } } }],
      $defs: { any: true },
      properties: { y: { $ref: '#/allOf/0' }, z: { $ref: '#/$defs/any' } },
    },
    { y: { x: 1 }, z: 1 },
    { y: { x: 'x' } },
  ],
  [
    'the whole, beside an id, and beside an anchor',
    {
      type: 'object',
      properties: { x: { $ref: '#' }, y: { $id: 'item' }, z: { $anchor: 'n' } },
    },
    { x: { x: {} } },
    { x: { x: 1 } },
  ],
  [
    'the same anchor within different ids',
    {
      properties: {
        x: {
          $id: 'x',
          $ref: '#n',
          $defs: { n: { $anchor: 'n', type: 'number' } },
        },
        y: {
          $id: 'y',
          $ref: '#n',
          $defs: { n: { $anchor: 'n', type: 'string' } },
        },
      },
    },
    { x: 1, y: 'y' },
    { x: 'x', y: 'y' },
  ],
  [
    'references by the URI of an id, whole, relative and with a fragment',
    {
      $id: 'https://x.example/s',
      $defs: {
        a: { $id: 'a', $defs: { n: { $anchor: 'n', type: 'number' }, t: { type: 'string' } } },
      },
      properties: {
        whole: { $ref: 'https://x.example/s' },
        relative: { $ref: 'a#n' },
        pointer: { $ref: 'https://x.example/a#/$defs/t' },
      },
      required: ['pointer'],
    },
    { whole: { pointer: 't' }, relative: 1, pointer: 't' },
    { whole: { pointer: 't' }, relative: 'x', pointer: 't' },
  ],
  [
    'the whole by its URI',
    { $id: 'https://x.example/s', properties: { x: { $ref: 'https://x.example/s' } }, type: 'object' },
    { x: { x: {} } },
    { x: { x: 1 } },
  ],
  [
    'the id of a part without one of the whole',
    { $defs: { a: { $id: 'https://x.example/a', type: 'number' } }, items: { $ref: 'https://x.example/a#' } },
    [1],
    ['x'],
  ],
  [
    'an anchor as draft-07 has it',
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      definitions: { a: { $id: '#n', type: 'number' } },
      properties: { x: { $ref: '#n' } },
    },
    { x: 1 },
    { x: 'x' },
  ],
  [
    'a field called $ref',
    { properties: { $ref: { type: 'string' } } },
    { $ref: 'https://x.example' },
    { $ref: 1 },
  ],
  [
    'a field called properties',
    { properties: { properties: { type: 'string' } } },
    { properties: 'x' },
    { properties: 1 },
  ],
  ['64 levels', nest(62, (inner) => ({ not: inner }), { type: 'number' }), 1, 'x'],
  ['a thousand fields', { properties: fields(1_000) }, { f7: 'x' }, { f7: 7 }],
]

for (const [what, schema, good, bad] of admitted) {
  test(`${what} is admitted`, async () => {
    const admittedSchema = toSchema({ ...schema })
    assert.equal(await admittedSchema.parse(good), { value: good })
    assert.is('issues' in (await admittedSchema.parse(bad)), true)
  })
}

test.slow(
  'a check is bounded in time for any schema and value (fault 44)',
  async () => {
    const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] })
    const chain = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`a${index}`, twice(`a${index + 1}`)]),
    )
    const branching = { properties: { x: { $ref: '#/$defs/b' } } }
    const union = { anyOf: [{ $ref: '#/$defs/and' }, { $ref: '#/$defs/or' }] }
    const branch = (op: string) => ({
      properties: { left: { $ref: '#/$defs/union' }, op: { const: op } },
      required: ['op'],
    })
    const hostile: readonly [object, unknown][] = [
      [{ $defs: { ...chain, a30: { type: 'string' } }, $ref: '#/$defs/a0' }, 'x'],
      [{ $defs: { b: { allOf: [branching, branching] } }, $ref: '#/$defs/b' }, nest(60, (x) => ({ x }))],
      [
        { $defs: { union, and: branch('and'), or: branch('or') }, $ref: '#/$defs/union' },
        nest(60, (left) => ({ left, op: 'x' })),
      ],
      [{ pattern: '^(a+)+$' }, `${'a'.repeat(4_000_000)}!`],
      [{ items: { pattern: '(x+x+)+y' } }, Array(100_000).fill(`${'x'.repeat(40)}y`)],
      [{ allOf: Array(200).fill({ items: { type: 'number' } }) }, Array(1_000_000).fill(1)],
    ]
    for (const [schema, value] of hostile) {
      const checked = toSchema({ ...schema })
      await checked.parse(null)
      const start = cpuTime()
      const parsed = await checked.parse(value)
      assert.ok(cpuTime() - start < 3_000, JSON.stringify(schema).slice(0, 60))
      assert.is(
        'issues' in parsed && parsed.issues[0]?.message,
        'takes too long to check: it is too large or too deep',
      )
    }
  },
  { timeout: 30_000 },
)

test('uniqueItems does not compare every two items', async () => {
  const schema = toSchema({ uniqueItems: true })
  const numbers = Array.from({ length: 500_000 }, (_, index) => index)
  await schema.parse([])
  const start = cpuTime()
  assert.equal(await schema.parse(numbers), { value: numbers })
  assert.ok(cpuTime() - start < 1_500)
})

function nest(levels: number, wrap: (inner: unknown) => object, innermost: object = {}): object {
  let value = innermost
  for (let level = 0; level < levels; level++) value = wrap(value)
  return value
}

function fields(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { type: 'string' }]))
}

function circle(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

test('an anchor may name two schemas below different ids', async () => {
  const named = (id: string) => ({ $id: id, properties: { x: { $id: 'x', type: 'string' } } })
  const schema = toSchema({
    properties: { a: named('https://x.example/a/'), b: named('https://x.example/b/') },
  })
  assert.ok('value' in (await schema.parse({ a: { x: '1' }, b: { x: '2' } })))
})

test.run()
