import * as assert from 'uvu/assert'
import { errorCodes, field, parseUriTemplate, toSchema } from 'caduceus/protocol'
import {
  NaiveDateTime,
  parseDate,
  parseNaive,
  parseTime,
  parseZoned,
} from '../../protocol/schema/fields/calendar.js'
import { toIssues } from '../../protocol/schema/issues.js'
import { checkFormat } from '../../protocol/schema/fields/kinds.js'
import { toDefinedSchema } from '../../protocol/schema/defined.js'
import { compilePattern } from '../../protocol/schema/pattern/pattern.js'
import { suite } from '../support/suite.js'

const test = suite('protocol: to the letter')

test('RFC 6570: each operator encodes reserved characters as in appendix A', () => {
  const value = '1&admin=1/#?é'
  const encoded = '1%26admin%3D1%2F%23%3F%C3%A9'
  const plain = '1&admin=1/#?%C3%A9'
  for (const [operator, expected] of [
    ['', encoded],
    ['+', plain],
    ['#', `#${plain}`],
    ['.', `.${encoded}`],
    ['/', `/${encoded}`],
    [';', `;v=${encoded}`],
    ['?', `?v=${encoded}`],
    ['&', `&v=${encoded}`],
  ] as const) {
    const template = `x:{${operator}v}`
    assert.is(parseUriTemplate(template).expand({ v: value }), `x:${expected}`, operator)
    assert.equal(parseUriTemplate(template).match(`x:${expected}`), { v: value }, operator)
  }
  for (const [operator, ifEmpty] of [
    [';', ';v'],
    ['?', '?v='],
    ['&', '&v='],
    ['.', '.'],
    ['#', '#'],
  ] as const)
    assert.is(parseUriTemplate(`x:{${operator}v}`).expand({ v: '' }), `x:${ifEmpty}`)
})

test('the codes of errors are those of JSON-RPC and of the specification', () => {
  assert.equal(errorCodes, {
    parseError: -32700,
    invalidRequest: -32600,
    methodNotFound: -32601,
    invalidParams: -32602,
    internalError: -32603,
    resourceNotFound: -32002,
    headerMismatch: -32020,
    missingClientCapability: -32021,
    unsupportedProtocolVersion: -32022,
    urlElicitationRequired: -32042,
    userRejected: -1,
  })
  assert.ok(Object.isFrozen(errorCodes))
})

test('text values of forms and prompts are parsed strictly to their type', () => {
  for (const [kind, text, value] of [
    [field.boolean(), 'true', true],
    [field.boolean(), 'false', false],
    [field.boolean(), 'no', 'no'],
    [field.integer(), '12', 12],
    [field.integer(), 'x12', 'x12'],
    [field.number(), '.5', 0.5],
    [field.string(), '12', '12'],
    [field.enum([1, 2]), '2', 2],
    [field.enum([1, 2]), '3', '3'],
  ] as const)
    assert.is(kind.fromText(text), value, `${text} as ${JSON.stringify(kind.jsonSchema)}`)
})

test('lengths, counts and numbers pass at both limits and fail one beyond', async () => {
  const list = (count: number) => Array.from({ length: count }, () => 1)
  for (const [schema, good, bad] of [
    [field.list(field.integer(), { min: 2, max: 3 }), [list(2), list(3)], [list(1), list(4)]],
    [field.string({ min: 2, max: 3 }), ['ab', 'abc', '😀😀😀'], ['a', 'abcd', '😀', '😀😀😀😀']],
    [field.integer({ min: 2, max: 3 }), [2, 3], [1, 4]],
    [field.number({ range: [0.5, 1.5] }), [0.5, 1.5], [0.49, 1.51]],
    [field.list(field.integer(), { max: 0 }), [[]], [[1]]],
  ] as const) {
    for (const value of good) assert.equal(await schema.parse(value), { value }, JSON.stringify(value))
    for (const value of bad) assert.ok('issues' in (await schema.parse(value)), JSON.stringify(value))
  }
})

test('an e-mail address is matched from start to end', () => {
  const label = 'a'.repeat(63)
  const local = 'l'.repeat(320 - `@${label}.example`.length)
  for (const text of [
    'ann@example.com',
    'a@b',
    'a.b+c@x-1.example',
    `ann@${label}.example`,
    `${local}@${label}.example`,
  ])
    assert.is(checkFormat.email(text), true, text)
  for (const text of [
    '<ann@example.com',
    'ann@example.com>',
    'ann<@example.com',
    '@example.com',
    'ann@',
    'ann@-x.example',
    'ann@x-.example',
    'ann@x..example',
    `ann@${label}a.example`,
    `${local}l@${label}.example`,
    'ann smith@example.com',
    'ann@example.com\n',
  ])
    assert.is(checkFormat.email(text), false, text)
})

test('the work of a pattern counts its possible positions, not only the text', () => {
  const spent = (source: string): number => {
    let units = 0
    const pattern = compilePattern(source, (more) => {
      units += more
    })
    if (typeof pattern === 'string') throw new Error(pattern)
    pattern.test('a'.repeat(50))
    return units
  }
  const [narrow, wide] = [spent('(?:a{1,2})*b'), spent('(?:a{1,40})*b')]
  assert.ok(wide > narrow * 3, `${narrow}, ${wide}`)
})

test('parsed calendar values are frozen', () => {
  const moment = parseZoned('2024-01-15T14:30:00Z')
  const values = [
    parseDate('2024-01-15'),
    parseTime('14:30'),
    parseNaive('2024-01-15T14:30'),
    moment,
    moment?.local,
  ]
  for (const value of values) {
    assert.ok(value !== undefined)
    assert.ok(Object.isFrozen(value), value?.constructor.name)
  }
  assert.instance(moment?.local, NaiveDateTime)
})

test('an issue quotes the validator without a better sentence, or names its keyword', () => {
  const about = { instancePath: '/a', params: {} }
  assert.equal(
    toIssues(
      [
        { ...about, keyword: 'contains', message: 'must contain something' },
        { ...about, keyword: 'odd' },
        { ...about, keyword: 'minLength', params: { limit: 3 }, message: 'not this one', propertyName: 'x' },
      ],
      { a: {} },
    ),
    [
      { path: 'a', message: 'must contain something' },
      { path: 'a', message: 'breaks odd' },
      { path: 'a.x', message: 'the name of this field: expected at least 3 characters, got 1' },
    ],
  )
})

test('a $ref with a broken escape is refused as unresolved', () => {
  for (const reference of ['#/$defs/%zz', '#/$defs/%ff', '#/$defs/50%25'])
    assert.throws(() => toSchema({ $defs: {}, $ref: reference }), /there is no/, reference)
  const schema = toSchema({ $defs: { '50%': { type: 'string' }, '%ff': {} }, $ref: '#/$defs/50%25' })
  assert.ok(schema)
  toSchema({ $defs: { '%ff': { type: 'string' } }, $ref: '#/$defs/%ff' })
})

test('a pattern has 10,000 steps and 16 lookarounds at most', () => {
  const compiles = (source: string): boolean => typeof compilePattern(source, () => {}) !== 'string'
  assert.ok(compiles('(?=a)(?!b)'.repeat(8)))
  assert.not(compiles(`${'(?=a)(?!b)'.repeat(8)}(?=a)`))
  const most = Array.from({ length: 10_010 }, (_, n) => n)
    .filter((n) => n > 9_900 && compiles('a'.repeat(n)))
    .at(-1)
  assert.is(most, 10_000)
})

test('a JSON pointer in an error is cut at 200 characters', () => {
  const refusal = (name: string): string => {
    try {
      toDefinedSchema({ type: 'object', properties: { [name]: { type: 'text' } } } as never)
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const rest = '/properties//type'.length
  assert.ok(refusal('x'.repeat(200 - rest)).includes('x/type: '))
  assert.ok(refusal('x'.repeat(201 - rest)).includes('x/typ...: '))
})

test('an error lists 20 allowed values and counts the others', async () => {
  const message = async (count: number): Promise<string> => {
    const parsed = await toSchema({ enum: Array.from({ length: count }, (_, n) => n) }).parse('x')
    return 'issues' in parsed ? (parsed.issues[0]?.message ?? '') : ''
  }
  assert.not.match(await message(20), /more/)
  assert.match(await message(21), /, or 1 more/)
})

test('a character counts as one or two code units by its code point', () => {
  const pattern = compilePattern('^.a$', () => {})
  if (typeof pattern === 'string') throw new Error(pattern)
  for (const text of ['\uffffa', '\u{10000}a', '\u{10ffff}a'])
    assert.ok(pattern.test(text), JSON.stringify(text))
  assert.not(pattern.test('\uffff\uffffa'))
})

test.run()
