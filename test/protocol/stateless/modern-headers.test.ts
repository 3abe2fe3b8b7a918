import * as assert from 'uvu/assert'
import { checkModernHeaders, type JsonObject, modernStatusOf, type RequestHeaders } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { modern, read, refusalOf } from '../_modern.js'

const test = suite('protocol/stateless/modern-headers')
const header = (version: string, more: RequestHeaders = {}) => ({ 'mcp-protocol-version': version, ...more })

const call = modern('tools/call', { name: 'add' })
const full = header('2026-07-28', { 'mcp-method': 'tools/call', 'mcp-name': 'add' })
const without = (name: string, headers: RequestHeaders = full) =>
  Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name))

test('a request with all headers passes', () => {
  checkModernHeaders(call, read, full)
  checkModernHeaders(modern('tools/list'), read, header('2026-07-28', { 'mcp-method': 'tools/list' }))
})

test('an unsupported revision is refused before missing headers (trap 12)', () => {
  const error = refusalOf(() => checkModernHeaders(call, { ...read, revision: '1900-01-01' }, {}))
  assert.is(error.code, -32022)
  assert.equal(error.data, { supported: ['2026-07-28'], requested: '1900-01-01' })
  assert.is(modernStatusOf(error.code, 'ladder'), 400)
  const older = refusalOf(() => checkModernHeaders(call, { ...read, revision: '2025-11-25' }, full))
  assert.is(older.code, -32022)
})

for (const name of Object.keys(full)) {
  test(`a request without ${name} is refused with -32020`, () => {
    const error = refusalOf(() => checkModernHeaders(call, read, without(name)))
    assert.is(error.code, -32020)
    assert.equal(error.data, { header: name })
    assert.is(error.message, `${name}: expected what the body says, got nothing`)
  })
}

test('of several headers that are missing the first is named', () => {
  const { data } = refusalOf(() => checkModernHeaders(call, read, {}))
  assert.equal(data, { header: 'mcp-protocol-version' })
})

const names: readonly [string, string, JsonObject, string, boolean][] = [
  ['white space around a name (trap 53)', 'tools/call', { name: 'foo' }, ' \tfoo ', true],
  ['a name in base64 (trap 54)', 'tools/call', { name: 'Hello' }, '=?base64?SGVsbG8=?=', true],
  ['markers of another case (trap 54)', 'tools/call', { name: 'Hello' }, '=?BASE64?SGVsbG8=?=', false],
  ['such markers as they are', 'tools/call', { name: '=?BASE64?SGVsbG8=?=' }, '=?BASE64?SGVsbG8=?=', true],
  [
    'a name that looks like base64, as it is (trap 55)',
    'tools/call',
    { name: '=?base64?x?=' },
    '=?base64?x?=',
    false,
  ],
  [
    'a name that looks like base64, in base64 (trap 55)',
    'tools/call',
    { name: '=?base64?x?=' },
    '=?base64?PT9iYXNlNjQ/eD89?=',
    true,
  ],
  ['base64 that is none', 'tools/call', { name: 'Hello' }, '=?base64?SGVsbG8?=', false],
  ['base64 of what is no UTF-8', 'tools/call', { name: '\uFFFD' }, '=?base64?/w==?=', false],
  ['a name of another case', 'tools/call', { name: 'Add' }, 'add', false],
  ['an empty name', 'tools/call', { name: '' }, '', true],
  ['a prompt', 'prompts/get', { name: 'p' }, 'p', true],
  ['another prompt', 'prompts/get', { name: 'p' }, 'q', false],
  ['a uri', 'resources/read', { uri: 'file:///a' }, 'file:///a', true],
  ['another uri', 'resources/read', { uri: 'file:///a' }, 'file:///b', false],
  ['the name of a resource', 'resources/read', { uri: 'file:///a', name: 'a' }, 'a', false],
  ['a name beside a method without one', 'tools/list', {}, 'anything', true],
  ['a name that the body lacks: its params are refused later', 'tools/call', {}, 'x', true],
  ['a name that is no text', 'tools/call', { name: 5 }, '5', true],
]

for (const [what, method, params, name, passes] of names) {
  test(`mcp-name with ${what} ${passes ? 'passes' : 'is refused with -32020'}`, () => {
    const headers = header('2026-07-28', { 'mcp-method': method, 'mcp-name': name })
    const check = () => checkModernHeaders(modern(method, params), read, headers)
    if (passes) check()
    else assert.is(refusalOf(check).code, -32020)
  })
}

test('params without a name need no mcp-name header', () => {
  checkModernHeaders(modern('tools/call'), read, without('mcp-name'))
})

test.run()
