import * as assert from 'uvu/assert'
import { type Parsed, ProtocolError, type Schema, type StandardSchema, toSchema } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/schema/schema')
const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 5 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    address: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true, maxItems: 3 },
    code: { type: 'string', pattern: '^[A-Z]{3}$' },
  },
  required: ['name', 'age'],
  additionalProperties: false,
}

test('a valid value is returned unchanged', async () => {
  const schema = toSchema(person)
  const value = { name: 'Ann', age: 3, tags: ['a', 'b'], code: 'ABC' }
  assert.equal(await schema.parse(value), { value })
})

test('the first value is checked async, later ones sync', async () => {
  const schema = toSchema(person)
  const first = schema.parse({})
  assert.instance(first, Promise)
  await first
  assert.is('issues' in schema.parse({}), true)
})

test('values that come while the schema is compiled are all read', async () => {
  const schema = toSchema({ type: 'number' })
  const results = await Promise.all([1, 'a', 2].map((value) => schema.parse(value)))
  assert.equal(
    results.map((result) => 'value' in result),
    [true, false, true],
  )
})

test('all schema violations are reported at once in words', async () => {
  const value = { name: 'x', age: 151, address: {}, tags: ['a', 'c', 'a', 'b'], code: 'abc', 'other one': 1 }
  const issues = await issuesOf(toSchema(person), value)
  assert.equal(
    new Map(issues.map(({ path, message }) => [`${path} ${message}`, true])),
    new Map(
      [
        'name expected at least 2 characters, got 1',
        'age expected a number <= 150, got 151',
        'address.street is required',
        'tags expected at most 3 items, got 4',
        'tags expected items that are all different',
        'tags[1] expected one of "a", "b"',
        'code expected text that matches ^[A-Z]{3}$',
        '["other one"] is not a known field',
      ].map((text) => [text, true]),
    ),
  )
})

const sentences: readonly [schema: object, value: unknown, issue: string][] = [
  [{ type: 'object' }, 5, ' expected an object, got an integer'],
  [{ type: ['string', 'null'] }, [], ' expected a string or null, got an array'],
  [{ const: 'a' }, 'b', ' expected "a"'],
  [{ multipleOf: 5 }, 7, ' expected a multiple of 5, got 7'],
  [{ exclusiveMinimum: 0 }, 0, ' expected a number > 0, got 0'],
  [{ maxLength: 2 }, '\u{1F600}bc', ' expected at most 2 characters, got 3'],
  [{ minProperties: 1 }, {}, ' expected at least 1 fields'],
  [{ not: { type: 'string' } }, 'a', ' is just what is not allowed'],
  [{ oneOf: [true, true] }, 1, ' fits more than one of the allowed forms'],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'b is required when a is given'],
  [
    { propertyNames: { maxLength: 1 } },
    { ab: 1 },
    'ab the name of this field: expected at most 1 characters, got 2',
  ],
  [{ unevaluatedProperties: false }, { a: 1 }, 'a is not a known field'],
  [{ if: { type: 'string' }, else: { minimum: 5 } }, 1, ' expected a number >= 5, got 1'],
  [{ prefixItems: [{ type: 'string' }] }, [1], '[0] expected a string, got an integer'],
  [
    { properties: { 'a/b~c': { type: 'string' } } },
    { 'a/b~c': 1 },
    '["a/b~c"] expected a string, got an integer',
  ],
  [
    { enum: Array.from({ length: 30 }, (_, n) => n) },
    -1,
    ' expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, or 10 more',
  ],
]

for (const [schema, value, issue] of sentences) {
  test(`${JSON.stringify(value)} for ${JSON.stringify(schema).slice(0, 60)}:${issue}`, async () => {
    const issues = await issuesOf(toSchema({ ...schema }), value)
    assert.is(
      `${issues[0]?.path} ${issues[0]?.message}`.replace(/^ /, ' '),
      issue.startsWith(' ') ? issue : issue,
    )
  })
}

test('a value that fits no alternative is told why', async () => {
  const schema = toSchema({ anyOf: [{ type: 'string' }, { type: 'object', required: ['k'] }] })
  const issues = await issuesOf(schema, {})
  assert.equal(
    issues.map(({ path, message }) => `${path} ${message}`),
    [' expected a string, got an object', 'k is required', ' fits none of the allowed forms'],
  )
})

test('hundreds of violations become twenty, hundreds of thousands one', async () => {
  const schema = toSchema({ type: 'array', items: { type: 'string' } })
  assert.is((await issuesOf(schema, Array(500).fill(1))).length, 20)
  assert.is((await issuesOf(schema, Array(500_000).fill(1))).length, 1)
})

test('inherited fields are neither present nor known', async () => {
  assert.equal(await issuesOf(toSchema({ required: ['constructor', 'toString'] }), {}), [
    { path: 'constructor', message: 'is required' },
    { path: 'toString', message: 'is required' },
  ])
  const proto = JSON.parse('{"__proto__": {"a": 1}}')
  assert.equal(await issuesOf(toSchema({ additionalProperties: false }), proto), [
    { path: '__proto__', message: 'is not a known field' },
  ])
})

test('items are compared by value, and a text never equals a structure', async () => {
  const schema = toSchema({ uniqueItems: true })
  for (const same of [
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    [1, 1],
    [null, null],
    [[1], [1]],
  ]) {
    assert.is((await issuesOf(schema, same)).length, 1, JSON.stringify(same))
  }
  const different = [1, '1', true, 'true', null, 'null', {}, '{}', [], '[]', { a: 1, b: 2 }, { a: 2, b: 1 }]
  assert.equal(await schema.parse(different), { value: different })
})

test('a schema is checked in its declared dialect (trap 83)', async () => {
  const tuple = { items: [{ type: 'string' }] }
  const draft07 = toSchema({ ...tuple, $schema: 'http://json-schema.org/draft-07/schema#' })
  assert.equal(await issuesOf(draft07, [1]), [{ path: '[0]', message: 'expected a string, got an integer' }])
  const draft2019 = toSchema({
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    $recursiveAnchor: true,
    properties: { next: { $recursiveRef: '#' } },
    required: ['v'],
  })
  assert.equal(await issuesOf(draft2019, { v: 1, next: {} }), [{ path: 'next.v', message: 'is required' }])
  const draft2020 = toSchema({
    $dynamicAnchor: 'node',
    properties: { next: { $dynamicRef: '#node' } },
    required: ['v'],
  })
  assert.equal(await issuesOf(draft2020, { v: 1, next: {} }), [{ path: 'next.v', message: 'is required' }])
})

test('unknown keywords and formats are ignored', async () => {
  const schema = toSchema({
    type: 'string',
    format: 'email',
    'x-mcp-header': 'Name',
    $comment: 'c',
    default: 1,
  })
  assert.equal(await schema.parse('no mail'), { value: 'no mail' })
})

test('a keyword that makes the check async is dropped', async () => {
  const schema = toSchema({ $async: true, type: 'string' })
  assert.equal(await issuesOf(schema, 5), [{ path: '', message: 'expected a string, got an integer' }])
})

test('a schema that fails to compile rejects its first value with BAD_SCHEMA', async () => {
  for (const broken of [{ type: 'strng' }, { minimum: '5' }, { properties: { a: { required: 'b' } } }]) {
    const schema = toSchema(broken)
    for (let time = 0; time < 2; time++) {
      try {
        await schema.parse(1)
        assert.unreachable()
      } catch (error) {
        assert.is(error instanceof ProtocolError && error.code, 'BAD_SCHEMA')
      }
    }
  }
})

test('the JSON Schema is a frozen copy', () => {
  const input = { type: 'object', properties: { a: { type: 'string' } } }
  const { jsonSchema } = toSchema(input)
  assert.equal(jsonSchema, input)
  assert.is.not(jsonSchema, input)
  assert.is(Object.isFrozen(jsonSchema) && Object.isFrozen(jsonSchema.properties), true)
})

test('a Standard Schema parses values and shows the requested side', async () => {
  const schema = toSchema(trimmed())
  const parsed: Parsed<number> = await schema.parse(' 12 ')
  assert.equal(parsed, { value: 12 })
  assert.equal(schema.jsonSchema, { type: 'string' })
  assert.equal(toSchema(trimmed(), 'output').jsonSchema, { type: 'number' })
})

test('issues of a Standard Schema get paths in our form', async () => {
  const issues = [
    { message: 'a', path: ['items', 2, { key: 'na me' }] },
    { message: 'b', path: [{ key: 'x' }, 'y'] },
    { message: 'c' },
  ]
  const schema = toSchema(trimmed(() => ({ issues })))
  assert.equal(await schema.parse(1), {
    issues: [
      { path: 'items[2]["na me"]', message: 'a' },
      { path: 'x.y', message: 'b' },
      { path: '', message: 'c' },
    ],
  })
})

test('a Standard Schema may be async, and may be a function', async () => {
  const waiting = trimmed(() => Promise.resolve({ value: 1 }))
  const callable = Object.assign(() => undefined, waiting)
  assert.instance(toSchema(callable).parse('x'), Promise)
  assert.equal(await toSchema(callable).parse('x'), { value: 1 })
})

test('a Standard Schema without JSON Schema is refused with advice', () => {
  const old = { '~standard': { version: 1, vendor: 'oldlib', validate: () => ({ value: 1 }) } }
  assert.throws(
    () => toSchema(old),
    (error: unknown) =>
      error instanceof ProtocolError &&
      error.code === 'BAD_SCHEMA' &&
      /~standard.jsonSchema, got nothing from oldlib/.test(error.message),
  )
  const failing = trimmed()
  const broken = {
    '~standard': {
      ...failing['~standard'],
      jsonSchema: {
        ...failing['~standard'].jsonSchema,
        input: (): Record<string, unknown> => {
          throw new Error('Date cannot be represented')
        },
      },
    },
  }
  assert.throws(
    () => toSchema(broken),
    (error: unknown) =>
      error instanceof ProtocolError &&
      error.code === 'BAD_SCHEMA' &&
      /testlib cannot show this schema as JSON Schema: Date cannot be represented/.test(error.message),
  )
})

function trimmed(
  validate: StandardSchema<string, number>['~standard']['validate'] = (value) => ({
    value: Number(String(value).trim()),
  }),
): StandardSchema<string, number> {
  return {
    '~standard': {
      version: 1,
      vendor: 'testlib',
      validate,
      jsonSchema: { input: () => ({ type: 'string' }), output: () => ({ type: 'number' }) },
    },
  }
}

async function issuesOf(schema: Schema, value: unknown) {
  const parsed = await schema.parse(value)
  return 'issues' in parsed ? parsed.issues : []
}

test.run()
