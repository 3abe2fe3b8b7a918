import * as assert from 'uvu/assert'
import {
  checkParamHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  headerParams,
  type JsonObject,
  mirroredHeaders,
  paramHeaders,
  ProtocolError,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { modern, plain, refusalOf } from '../_modern.js'

const test = suite('protocol/stateless/mirrored-headers')

const values: readonly [string, string][] = [
  ['Hello', 'Hello'],
  ['', ''],
  ['a b\tc', 'a b\tc'],
  ['~!"#', '~!"#'],
  [' a', '=?base64?IGE=?='],
  ['a\t', '=?base64?YQk=?='],
  [' ', '=?base64?IA==?='],
  ['é', '=?base64?w6k=?='],
  ['日本', '=?base64?5pel5pys?='],
  ['\uFEFFa', '=?base64?77u/YQ==?='],
  ['a\nb', '=?base64?YQpi?='],
  ['a\u007f', '=?base64?YX8=?='],
  ['a\0', '=?base64?YQA=?='],
  ['=?base64?x?=', '=?base64?PT9iYXNlNjQ/eD89?='], // trap 55
  ['=?base64?', '=?base64?'],
  ['?=', '?='],
  ['=?base64?=', '=?base64?='],
  ['=?base64??=', '=?base64?PT9iYXNlNjQ/Pz0=?='],
  ['=?BASE64?x?=', '=?BASE64?x?='],
]

for (const [value, header] of values) {
  test(`${JSON.stringify(value)} is sent as ${JSON.stringify(header)}, and read back`, () => {
    assert.is(encodeHeaderValue(value), header)
    assert.is(decodeHeaderValue(header), value)
  })
}

const undecodable = ['x', 'SGVsbG8', 'SGVs bG8=', 'SGVsbG8=\n', 'SGVsbG8-', '====', '/w==', '7aCA']

for (const inner of undecodable) {
  test(`${JSON.stringify(inner)} between the markers is refused`, () => {
    assert.is(decodeHeaderValue(`=?base64?${inner}?=`), undefined)
  })
}

test('white space around a header does not count, inside it does (trap 53)', () => {
  assert.is(decodeHeaderValue(' \tfoo '), 'foo')
  assert.is(decodeHeaderValue(' =?base64?SGVsbG8=?= '), 'Hello')
  assert.is(decodeHeaderValue('a  b'), 'a  b')
  assert.is(decodeHeaderValue('\u00a0a'), '\u00a0a')
})

test('a million spaces in a header are read in linear time', () => {
  const spaces = ' '.repeat(1_000_000)
  assert.is(decodeHeaderValue(`a${spaces}b`), `a${spaces}b`)
  assert.is(decodeHeaderValue(`${spaces}a${spaces}`), 'a')
  assert.ok(encodeHeaderValue(`a${spaces}`).startsWith('=?base64?'))
})

const schema = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})
const marked = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name })

test('a tool without x-mcp-header mirrors nothing', () => {
  assert.equal(headerParams(schema({ a: { type: 'string' } })), [])
  assert.equal(headerParams({ type: 'object' }), [])
  assert.is(headerParams({ type: 'object' }), headerParams(schema({})))
})

test('properties of every allowed type are found at every depth (C4)', () => {
  const plan = headerParams(
    schema({
      region: marked('Region'),
      limit: marked('Max-Rows', 'integer'),
      place: schema({ properties: schema({ dry: marked('dry', 'boolean') }) }),
      'a/b~c': marked('x'),
    }),
  )
  assert.equal(plan, [
    { path: ['region'], header: 'mcp-param-region', type: 'string' },
    { path: ['limit'], header: 'mcp-param-max-rows', type: 'integer' },
    { path: ['a/b~c'], header: 'mcp-param-x', type: 'string' },
    { path: ['place', 'properties', 'dry'], header: 'mcp-param-dry', type: 'boolean' },
  ])
  assert.ok(Object.isFrozen(plan))
})

test('arguments may be named like keywords, and headers like methods (trap 59)', () => {
  assert.equal(headerParams(schema({ 'x-mcp-header': { type: 'string' } })), [])
  const [method] = headerParams(schema({ verb: marked('Method') }))
  assert.is(method?.header, 'mcp-param-method')
})

test('x-mcp-header outside of schemas is ignored', () => {
  const data = { 'x-mcp-header': 5 }
  assert.equal(
    headerParams(schema({ a: { type: 'object', default: data, enum: [data], examples: [data] } })),
    [],
  )
})

const badSchemas: readonly [string, JsonObject, string][] = [
  [
    'in the items of an array (trap 56)',
    schema({ a: { type: 'array', items: marked('a') } }),
    '/properties/a/items',
  ],
  ['on a number (trap 56, C3)', schema({ a: marked('a', 'number') }), '/properties/a'],
  ['on an object', schema({ a: marked('a', 'object') }), '/properties/a'],
  ['on a property of two types', schema({ a: marked('a', ['string', 'null']) }), '/properties/a'],
  ['on a property without a type', schema({ a: { 'x-mcp-header': 'a' } }), '/properties/a'],
  ['on the arguments as a whole', schema({}, { 'x-mcp-header': 'a' }), ''],
  ['in a definition', schema({ a: { $ref: '#/$defs/a' } }, { $defs: { a: marked('a') } }), '/$defs/a'],
  ['in a choice', schema({}, { oneOf: [schema({ a: marked('a') })] }), '/oneOf/0/properties/a'],
  ['in a condition', schema({}, { if: schema({ a: marked('a') }) }), '/if/properties/a'],
  ['in other properties', schema({}, { additionalProperties: marked('a') }), '/additionalProperties'],
  ['in properties by pattern', schema({}, { patternProperties: { a: marked('a') } }), '/patternProperties/a'],
  ['in what must not be', schema({ a: { not: marked('a') } }), '/properties/a/not'],
  ['with an empty name', schema({ a: marked('') }), '/properties/a'],
  ['with a space', schema({ a: marked('a b') }), '/properties/a'],
  ['with a colon', schema({ a: marked('a:') }), '/properties/a'],
  ['with a line', schema({ a: marked('a\r\nset-cookie: b') }), '/properties/a'],
  ['with another script', schema({ a: marked('é') }), '/properties/a'],
  ['with a name that is no text', schema({ a: marked(5) }), '/properties/a'],
  ['with null', schema({ a: marked(null) }), '/properties/a'],
  ['with a name without end', schema({ a: marked('a'.repeat(129)) }), '/properties/a'],
  ['twice, in another case', schema({ a: marked('Region'), b: marked('REGION') }), '/properties/b'],
]

for (const [what, bad, pointer] of badSchemas) {
  test(`x-mcp-header ${what} is BAD_SCHEMA`, () => {
    assert.throws(
      () => headerParams(bad),
      (error: unknown) =>
        error instanceof ProtocolError &&
        error.code === 'BAD_SCHEMA' &&
        error.message.startsWith(`inputSchema${pointer}/x-mcp-header: expected`),
    )
  })
}

test('more headers than a server takes are refused', () => {
  const many = (count: number) =>
    schema(
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, marked(`a${index}`)])),
    )
  assert.is(headerParams(many(64)).length, 64)
  assert.throws(() => headerParams(many(65)), /expected at most 64 of them, got 65/)
})

test('a lenient reader accepts number headers of the official SDK (C3)', () => {
  const plan = headerParams(schema({ a: marked('a', 'number') }), { allowNumber: true })
  assert.equal(plan, [{ path: ['a'], header: 'mcp-param-a', type: 'number' }])
  checkParamHeaders(plan, { a: 1.5 }, { 'mcp-param-a': '1.50' })
  assert.throws(
    () => headerParams(schema({ a: marked('a', 'object') }), { allowNumber: true }),
    /BAD_SCHEMA|type/,
  )
})

const plan = headerParams(
  schema({
    s: marked('S'),
    i: marked('I', 'integer'),
    b: marked('B', 'boolean'),
    o: schema({ in: marked('In') }),
  }),
)

const sent: readonly [JsonObject | undefined, JsonObject][] = [
  [
    { s: 'a', i: 42, b: true, o: { in: 'x' } },
    { 'mcp-param-s': 'a', 'mcp-param-i': '42', 'mcp-param-b': 'true', 'mcp-param-in': 'x' },
  ],
  [
    { s: '', b: false, i: -1 },
    { 'mcp-param-s': '', 'mcp-param-b': 'false', 'mcp-param-i': '-1' },
  ], // trap 57
  [{ s: null, i: null, o: null }, {}], // trap 57
  [{}, {}],
  [undefined, {}],
  [
    { s: ' a', o: { in: 'é' } },
    { 'mcp-param-s': '=?base64?IGE=?=', 'mcp-param-in': '=?base64?w6k=?=' },
  ],
  [{ s: { deep: 1 }, i: [], o: 'x' }, {}],
  [{ i: 2 ** 53 }, {}],
  [{ i: -0 }, { 'mcp-param-i': '0' }],
  [JSON.parse('{"__proto__":{"s":"a"}}'), {}],
]

for (const [args, headers] of sent) {
  test(`arguments ${JSON.stringify(args)} mirror to ${JSON.stringify(headers)} and pass`, () => {
    assert.equal(paramHeaders(plan, args), headers)
    checkParamHeaders(plan, args, paramHeaders(plan, args))
  })
}

const compared: readonly [JsonObject, JsonObject, boolean][] = [
  [{ s: 'a' }, { 'mcp-param-s': ' a\t' }, true],
  [{ s: 'a' }, { 'mcp-param-s': '=?base64?YQ==?=' }, true],
  [{ i: 42 }, { 'mcp-param-i': '42.0' }, true],
  [{ i: 42 }, { 'mcp-param-i': '=?base64?NDI=?=' }, true],
  [{ s: '42' }, { 'mcp-param-s': '42.0' }, false],
  [{ i: 42 }, { 'mcp-param-i': '0x2a' }, false],
  [{ i: 42 }, { 'mcp-param-i': '4.2e1' }, false],
  [{ i: 42 }, { 'mcp-param-i': '' }, false],
  [{ i: 0 }, { 'mcp-param-i': '' }, false],
  [{ b: true }, { 'mcp-param-b': 'True' }, false],
  [{ s: 'a' }, { 'mcp-param-s': 'A' }, false],
  [{ s: 'a' }, { 'mcp-param-s': '=?base64?YQ?=' }, false],
  [{ s: 'a' }, {}, false], // trap 58
  [{ s: '' }, {}, false],
  [{ o: { in: 'x' } }, { 'mcp-param-in': 'y' }, false],
  [{}, { 'mcp-param-s': 'whatever' }, true],
  [{ s: null }, { 'mcp-param-s': '=?base64?x?=' }, true],
  [{ other: 'a' }, { 'mcp-param-other': 'b' }, true],
]

for (const [args, headers, passes] of compared) {
  test(`${JSON.stringify(args)} and ${JSON.stringify(headers)} ${passes ? 'agree' : 'are refused with -32020'}`, () => {
    const check = () => checkParamHeaders(plan, args, headers as Record<string, string>)
    if (passes) return check()
    const error = refusalOf(check)
    assert.is(error.code, -32020)
    assert.match(error.message, /^mcp-param-[a-z]+: expected /)
  })
}

test('a header refusal never quotes the argument', () => {
  const error = refusalOf(() => checkParamHeaders(plan, { s: 'secret' }, { 'mcp-param-s': 'other-secret' }))
  assert.not.match(error.message, 'secret')
  assert.equal(error.data, { header: 'mcp-param-s' })
})

test('a client mirrors revision and method, and the name if any', () => {
  const headers = (method: string, params: JsonObject) =>
    mirroredHeaders(modern(method, params), '2026-07-28')
  const base = { 'mcp-protocol-version': '2026-07-28' }
  assert.equal(headers('tools/list', { name: 'x' }), { ...base, 'mcp-method': 'tools/list' })
  assert.equal(headers('tools/call', { name: 'é' }), {
    ...base,
    'mcp-method': 'tools/call',
    'mcp-name': '=?base64?w6k=?=',
  })
  assert.equal(headers('prompts/get', { name: 'p' }), {
    ...base,
    'mcp-method': 'prompts/get',
    'mcp-name': 'p',
  })
  assert.equal(headers('resources/read', { uri: 'a:b' }), {
    ...base,
    'mcp-method': 'resources/read',
    'mcp-name': 'a:b',
  })
  assert.equal(mirroredHeaders(plain('tools/call'), '2026-07-28'), { ...base, 'mcp-method': 'tools/call' })
})

test.run()
