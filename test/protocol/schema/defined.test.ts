import { createRequire } from 'node:module'
import * as assert from 'uvu/assert'
import { field, type JsonObject, ProtocolError, type SchemaInput, toSchema } from 'caduceus/protocol'
import { describedAs, toDefinedSchema } from '../../../protocol/schema/defined.js'
import { suite } from '../../support/suite.js'

const test = suite('protocol/schema/defined')

/** What is wrong with a schema of a definition; empty when nothing is. */
function problem(input: unknown): string {
  try {
    toDefinedSchema(input as SchemaInput)
    return ''
  } catch (error) {
    assert.instance(error, ProtocolError)
    assert.is((error as ProtocolError).code, 'BAD_SCHEMA')
    return (error as ProtocolError).message
  }
}

test('a value that is no schema is refused with what to write', () => {
  const expected = 'expected a field, a schema of a library, or a JSON Schema'
  for (const [input, message] of [
    ['string', `${expected}, got "string": write field.string()`],
    ['Int', `${expected}, got "Int": write field.integer()`],
    ['toString', `${expected}, got "toString"`],
    [String, `${expected}, got a function: write field.string()`],
    [Date, `${expected}, got a function: write field.date()`],
    [() => 1, `${expected}, got a function: write its result: call it`],
    [5, `${expected}, got an integer`],
    [undefined, `${expected}, got nothing`],
    [
      ['a'],
      `${expected}, got an array: write field.enum([...]) for one of a few values, field.list(item) for a list`,
    ],
  ] as const)
    assert.is(problem(input), message)
})

test('library schemas without a JSON Schema are refused by name', () => {
  const method = (): void => {}
  class Decoder {
    decode = method
  }
  class Plain {
    type = 'string'
  }
  assert.match(problem({ _def: {}, safeParse: method }), /zod 4\.2/)
  assert.is(problem({ type: 'object', _def: {} }), '')
  assert.match(problem({ kind: 'schema', '~run': method }), /valibot: version 1/)
  assert.match(problem({ kind: 'schema', _run: method }), /valibot: version 1/)
  assert.match(problem({ kind: 'schema' }), /got an object with keys \[kind\]/)
  assert.match(problem(new Decoder()), /got an object with decode: its library has to follow/)
  assert.is(problem(new Plain()), '')
  assert.match(
    problem({ type: 'object', properties: { a: field.string() } }),
    /at \/properties\/a: a schema of caduceus/,
  )
})

/** What each keyword allows, and what it does not. */
const keywords: Readonly<Record<string, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
  description: [
    ['', 'x'],
    [1, null],
  ],
  $anchor: [
    ['a', '_a.b-1'],
    ['1a', '', 'a b', 5],
  ],
  $vocabulary: [[{}], [[], 'x']],
  uniqueItems: [
    [true, false],
    [1, 'true', null],
  ],
  minimum: [
    [0, -1.5],
    ['1', Number.NaN, Number.POSITIVE_INFINITY],
  ],
  multipleOf: [
    [0.1, 2],
    [0, -1, '1'],
  ],
  minLength: [
    [0, 3],
    [-1, 1.5, '1'],
  ],
  type: [
    ['string', 'null', ['string'], ['string', 'null']],
    ['text', [], ['string', 'string'], ['string', 'text'], 5],
  ],
  enum: [
    [[1], [null, 'a']],
    [[], 'a', {}],
  ],
  required: [
    [[], ['a', 'b']],
    [['a', 'a'], 'a', [1], true],
  ],
  examples: [
    [[], [1]],
    ['a', {}],
  ],
  default: [[null, 0, 'a'], []],
  dependentRequired: [
    [{}, { a: ['b'] }],
    [{ a: 'b' }, { a: ['b', 'b'] }, []],
  ],
  not: [
    [{}, true, false, { type: 'string' }],
    [1, 'string', null, []],
  ],
  items: [
    [{}, true],
    [[{}], [], 'string'],
  ],
  anyOf: [
    [[{}], [true, {}]],
    [[], [1], {}, [{}, 'a']],
  ],
  properties: [
    [{}, { a: {} }, { a: true, b: undefined }],
    [[], { a: 'string' }, { a: null }],
  ],
  dependencies: [
    [{}, { a: ['b'] }, { a: {} }, { a: true }],
    [{ a: 'b' }, { a: ['b', 'b'] }, []],
  ],
}

test('each schema keyword takes valid values and refuses others with place and reason', () => {
  for (const [keyword, [good, bad]] of Object.entries(keywords)) {
    for (const value of good)
      assert.is(problem({ description: 'all', [keyword]: value }), '', `${keyword}: ${JSON.stringify(value)}`)
    for (const value of bad)
      assert.ok(
        problem({ type: 'object', [keyword]: value }).startsWith(`JSON Schema at /${keyword}: expected `),
        `${keyword}: ${JSON.stringify(value)}`,
      )
  }
  const draft = 'http://json-schema.org/draft-07/schema#'
  assert.is(problem({ $schema: draft, items: [{}, true] }), '')
  assert.match(problem({ $schema: draft, items: [] }), /at \/items: expected a schema/)
  assert.match(problem({ $schema: draft, items: [1] }), /at \/items: expected a schema/)
})

test('the refused value of a keyword is shown if short', () => {
  for (const [schema, got] of [
    [{ type: 'text' }, 'got "text"'],
    [{ type: 'x'.repeat(40) }, `got "${'x'.repeat(40)}"`],
    [{ type: 'x'.repeat(41) }, 'got a string'],
    [{ minimum: '1' }, 'got "1"'],
    [
      { required: true },
      'got a boolean: names of properties stand beside them, { properties: { a: ... }, required: ["a"] }',
    ],
    [{ required: 'a' }, 'got "a"'],
    [{ uniqueItems: null }, 'got null'],
  ] as const)
    assert.ok(
      problem({ description: '', ...schema }).endsWith(got),
      `${JSON.stringify(schema)}: ${problem({ description: '', ...schema })}`,
    )
})

test('keywords that depend on each other are checked together', () => {
  assert.match(problem({ nullable: true }), /at \/nullable: expected a type beside it/)
  assert.is(problem({ nullable: true, type: 'string' }), '')
  assert.match(
    problem({ type: 'object', properties: { a: { b: { type: 'string' } } } }),
    /at \/properties\/a: expected a schema, got fields by their names \(b\)/,
  )
  assert.is(problem({ type: 'object', properties: { a: {}, b: { 'x-mine': {} }, c: { not: {} } } }), '')
})

test('wrong annotations of a field are all reported by name', () => {
  const problems = (notes: JsonObject) => field.string(notes).problems.map(({ message }) => message)
  assert.equal(problems({ title: 1, description: null, header: {} }), [
    'title: expected a string',
    'description: expected a string',
    'header: expected a string',
  ])
  assert.equal(problems({ examples: 'a', meta: 1 }), [
    'examples: expected an array',
    'meta: expected an object',
  ])
  assert.equal(problems({ examples: ['a'], meta: { a: 1 }, title: 't' }), [])
  assert.equal(problems({ default: 5 }), ['default: expected a string, got an integer'])
})

test('the annotations of a field are in its JSON Schema, and no others', () => {
  assert.equal(field.string({ title: 't', examples: ['a'], header: 'X-A', meta: { b: 1 } }).jsonSchema, {
    type: 'string',
    title: 't',
    examples: ['a'],
    'x-mcp-header': 'X-A',
    b: 1,
  })
  assert.equal(Object.keys(field.string().jsonSchema), ['type'])
})

test('a range is two numbers, the lower one first', () => {
  const problems = (range: unknown) =>
    field.integer({ range } as object).problems.map(({ message }) => message)
  assert.equal(problems([1, 1]), [])
  assert.equal(problems(['1', 2]).length, 1)
  assert.equal(problems([1, '2']).length, 1)
  assert.equal(problems([2, 1]).length, 1)
})

test('a prepared schema has loaded what its first value needs', async () => {
  const isLoaded = (): boolean =>
    Object.keys(createRequire(import.meta.url).cache).some((path) => path.endsWith('/ajv/dist/2019.js'))
  const schema = toSchema({ $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'number' })
  assert.not(isLoaded())
  await schema.prepare?.()
  assert.ok(isLoaded())
})

test('a library schema shows its input side by default, its output side if asked', () => {
  const seen: string[] = []
  const standard = {
    '~standard': {
      version: 1,
      vendor: 'testlib',
      validate: () => ({ value: 1 }),
      jsonSchema: {
        input: () => ({ title: seen.push('input') === 1 ? 'first' : 'second' }),
        output: () => ({ title: `${seen.push('output')}` }),
      },
    },
  } as unknown as SchemaInput
  toDefinedSchema(standard)
  toDefinedSchema(standard, 'output')
  assert.equal(seen, ['input', 'output'])
})

test('an object is recognised as named fields, one JSON Schema, or either', () => {
  class Plain {
    a = { type: 'string' }
  }
  for (const [input, expected] of [
    [{}, 'schema'],
    [new Plain(), 'schema'],
    [{ a: { type: 'string' } }, 'fields'],
    [{ type: { type: 'string' } }, 'fields'],
    [{ a: { 'x-mine': 1 } }, 'fields'],
    [{ not: { 'x-mine': 1 } }, 'either'],
    [{ not: { type: 'string' } }, 'either'],
    [{ not: { type: 'string' }, a: {} }, 'fields'],
    [{ type: 'object', properties: {} }, 'schema'],
    [{ type: 'object', a: 1 }, 'schema'],
    [{ type: 'text' }, 'schema'],
    [{ type: 'text', a: 1 }, 'fields'],
    [{ a: 1 }, 'fields'],
  ] as const)
    assert.is(describedAs(input as JsonObject), expected, JSON.stringify(input))
})

test('an obsolete keyword is refused with its replacement', () => {
  assert.match(problem({ type: 'object', properties: { a: { id: 'Foo', type: 'string' } } }), 'its $id')
  assert.is(problem({ type: 'object', properties: { id: { type: 'string' } } }), '')
})

test.run()
