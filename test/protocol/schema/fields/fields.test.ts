import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field, type Parsed, ProtocolError, type SchemaInput, toSchema } from 'caduceus/protocol'
import { suite } from '../../../support/suite.js'

const test = suite('protocol/schema/fields/fields')

function read(input: SchemaInput, value: unknown): Parsed<unknown> {
  const parsed = toSchema(input).parse(value)
  if (parsed instanceof Promise) throw new Error('expected an answer at once')
  return parsed
}

function issuesOf(parsed: Parsed<unknown>): string[] {
  return 'issues' in parsed ? parsed.issues.map(({ path, message }) => `${path}: ${message}`) : []
}

test('a group shows the JSON Schema of the components guide', () => {
  const schema = field.group({
    weight: field.integer(),
    unit: field.enum(['kg', 'lb'], { type: 'string' }),
    status: field.enum(['active', 'inactive', 'pending'], { description: 'Current status' }).optional(),
  })
  assert.equal(JSON.parse(JSON.stringify(schema.jsonSchema)), {
    type: 'object',
    properties: {
      weight: { type: 'integer' },
      unit: { type: 'string', enum: ['kg', 'lb'] },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], description: 'Current status' },
    },
    required: ['weight', 'unit'],
  })
})

test('nested groups keep their own required fields, formats and descriptions', () => {
  const user = field.group({
    email: field.string({ format: 'email', description: "User's email address" }),
    age: field.integer({ range: [0, 150], description: 'Age in years' }).optional(),
    address: field.group(
      { street: field.string(), postal_code: field.string({ format: 'postal-code' }).optional() },
      { description: 'Mailing address' },
    ),
  })
  assert.equal(JSON.parse(JSON.stringify(user.jsonSchema)), {
    type: 'object',
    properties: {
      email: { type: 'string', format: 'email', description: "User's email address" },
      age: { type: 'integer', minimum: 0, maximum: 150, description: 'Age in years' },
      address: {
        type: 'object',
        properties: { street: { type: 'string' }, postal_code: { type: 'string', format: 'postal-code' } },
        required: ['street'],
        description: 'Mailing address',
      },
    },
    required: ['email', 'address'],
  })
  assert.equal(issuesOf(read(user, { email: 'not checked', age: 151, address: {} })), [
    'age: expected a number <= 150, got 151',
    'address.street: is required',
  ])
})

test('every problem is reported at once with its path', () => {
  const event = field.group({
    day: field.date(),
    title: field.string(),
    seats: field.list(field.integer()),
    by: field.map(field.boolean()),
  })
  assert.equal(issuesOf(read(event, { day: '2024-02-30', seats: [1, 'x'], by: { 'a b': 1 } })), [
    'day: invalid ISO 8601 date format: expected text such as 2024-01-15',
    'title: is required',
    'seats[1]: expected an integer, got a string',
    'by["a b"]: expected a boolean, got an integer',
  ])
})

test('a default is shown, and its field is optional', () => {
  const schema = field.group({ by: field.integer({ default: 1 }), note: field.string().optional() })
  assert.equal(read(schema, {}), { value: { by: 1 } })
  assert.equal(schema.jsonSchema.required, undefined)
  assert.equal((schema.jsonSchema.properties as { by: object }).by, { type: 'integer', default: 1 })
  const { value } = read(field.group({ day: field.date({ default: '2024-01-15' }) }), {}) as {
    value: { day: unknown }
  }
  assert.is(String(value.day), '2024-01-15')
})

test('unknown fields are dropped, and names of Object.prototype are plain names', () => {
  const schema = field.group({ a: field.integer(), constructor: field.string().optional() })
  const { value } = read(schema, JSON.parse('{"a":1,"b":2,"__proto__":{"polluted":true}}')) as {
    value: object
  }
  assert.equal(Object.keys(value), ['a'])
  assert.is(Object.getPrototypeOf(value), Object.prototype)
})

const limits: readonly (readonly [SchemaInput, unknown, string | undefined])[] = [
  [field.string({ min: 3 }), 'ab', 'expected at least 3 characters, got 2'],
  [field.string({ min: 3 }), 'abc', undefined],
  [field.string({ max: 2 }), '😀😀', undefined],
  [field.string({ max: 2 }), '😀😀😀', 'expected at most 2 characters, got 3'],
  [field.string({ pattern: '^a+$' }), 'aab', 'expected text that matches ^a+$'],
  [field.string({ pattern: /^a+$/ }), 'aa', undefined],
  [field.string({ format: 'email' }), 'nobody', undefined],
  [field.string({ format: 'email', enforce: true }), 'nobody', 'expected email format'],
  [field.string({ format: 'email', enforce: true }), 'ann@example.com', undefined],
  [field.string({ format: 'uri', enforce: true }), 'no uri', 'expected uri format'],
  [field.integer(), 1.5, 'expected an integer, got 1.5'],
  [field.integer(), '1', 'expected an integer, got a string'],
  [field.integer({ min: 1 }), 0, 'expected a number >= 1, got 0'],
  [field.integer({ max: 9 }), 9, undefined],
  [field.integer({ range: [1, 100] }), 100, undefined],
  [field.integer({ range: [1, 100] }), 101, 'expected a number <= 100, got 101'],
  [field.number(), 1.5, undefined],
  [field.number(), Number.NaN, 'expected a number, got a number'],
  [field.boolean(), 'true', 'expected a boolean, got a string'],
  [field.any(), null, undefined],
  [field.any(), undefined, 'is required'],
  [field.enum([1, 2]), 3, 'expected one of 1, 2'],
  [field.list(field.any(), { max: 1 }), [1, 2], 'expected at most 1 items, got 2'],
  [field.time(), '14:30:00', undefined],
  [field.time(), '24:00:00', 'invalid ISO 8601 time format: expected text such as 14:30:00'],
  [field.datetime(), '2024-01-15T14:30:00+05:30', undefined],
  [
    field.datetime(),
    '2024-01-15T14:30:00',
    'invalid ISO 8601 datetime format: expected text such as 2024-01-15T14:30:00Z',
  ],
  [field.naiveDatetime(), '2024-01-15T14:30:00', undefined],
  [
    field.naiveDatetime(),
    '2024-01-15T14:30:00Z',
    'invalid ISO 8601 datetime without a zone format: expected text such as 2024-01-15T14:30:00',
  ],
  [field.date(), 20240115, 'expected a string such as 2024-01-15, got an integer'],
]

test('each kind of field accepts valid values and explains others', () => {
  for (const [schema, value, expected] of limits) {
    const [issue] = issuesOf(read(schema, value))
    assert.is(issue, expected === undefined ? undefined : `: ${expected}`, JSON.stringify(value))
  }
})

test('fields, schemas of other libraries and JSON Schema stand side by side', async () => {
  const mixed = toSchema(
    field.group({
      a: field.integer(),
      b: z.string().min(2),
      c: z.number().optional(),
      d: { type: 'boolean' },
    }),
  )
  assert.equal(mixed.jsonSchema.required, ['a', 'b', 'd'])
  assert.equal(await mixed.parse({ a: 1, b: 'xy', d: true }), { value: { a: 1, b: 'xy', d: true } })
  assert.equal(issuesOf(await mixed.parse({ a: 'x', b: 'xy', d: 1 })), [
    'a: expected an integer, got a string',
    'd: expected a boolean, got an integer',
  ])
})

test('a field is a Standard Schema, whose issues have the keys of their paths', async () => {
  const schema = field.group({ tags: field.list(field.group({ 'a b': field.string() })) })
  const result = await schema['~standard'].validate({ tags: [{}] })
  assert.equal(result, { issues: [{ message: 'is required', path: ['tags', 0, 'a b'] }] })
})

test('wrong field options are reported with the path of their field', () => {
  const wrong = {
    range: field.integer({ range: [3, 1] }),
    typo: field.string({ minimum: 1 } as never),
    preset: field.integer({ default: 'x' } as never),
    pattern: field.string({ pattern: '(' }),
    choices: field.enum([]),
    inner: field.group({ type: field.enum(['a'], { type: 'integer' }) }),
    list: field.list(field.string({ enforce: true })),
  }
  try {
    toSchema(field.group(wrong))
    assert.unreachable()
  } catch (error) {
    assert.instance(error, ProtocolError)
    assert.is((error as ProtocolError).code, 'BAD_SCHEMA')
    for (const part of [
      'range: max: expected no less than min (3), got 1',
      'typo: minimum: expected an option among',
      'preset: default: expected an integer, got a string',
      'pattern: pattern: is not a regular expression',
      'choices: expected a list of choices',
      'inner.type: type: expected the JSON type of every choice',
      'list: enforce: expected a format among email, uri, uuid',
    ])
      assert.ok((error as ProtocolError).message.includes(part), part)
  }
})

test('field values are parsed from text where all values are text', () => {
  const cases = [
    [field.integer(), '500', 500],
    [field.number(), '1e3', 1000],
    [field.integer(), 'x', 'x'],
    [field.boolean(), 'true', true],
    [field.string(), '5', '5'],
    [field.enum([1, 2]), '2', 2],
    [field.list(field.integer()), '[1,2]', [1, 2]],
    [field.date(), '2024-01-15', '2024-01-15'],
  ] as const
  for (const [from, text, value] of cases) assert.equal(from.fromText(text), value)
})

test('an embedded schema that cannot be compiled costs no stray rejection', () => {
  assert.is(field.list({ type: 'string', pattern: '^x$' }).jsonSchema.type, 'array')
})

test('text is unrestricted by default', () => {
  for (const text of ['', 'x'.repeat(10_000)]) assert.equal(read(field.string(), text), { value: text })
  assert.equal(read(field.string({ format: 'email' }), 'no address'), { value: 'no address' })
  assert.equal(issuesOf(read(field.string({ format: 'email', enforce: true }), 'no address')).length, 1)
})

test.run()
