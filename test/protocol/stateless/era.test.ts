import * as assert from 'uvu/assert'
import {
  decode,
  eraOfHttp,
  errorCodes,
  type Message,
  metaKeys,
  modernStatusOf,
  type RequestHeaders,
  unsupported,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { envelope, modern, notification, plain, read, refusalOf } from '../_modern.js'

const test = suite('protocol/stateless/era')
const { protocolVersion, clientCapabilities } = metaKeys
const cancelled = 'notifications/cancelled'
const header = (version: string, more: RequestHeaders = {}) => ({ 'mcp-protocol-version': version, ...more })
const inEnvelope = (revision: string) => ({ [protocolVersion]: revision })
const initialize = plain('initialize', { protocolVersion: '2025-11-25', capabilities: {} })

const served: readonly [string, Message, RequestHeaders, 'handshake' | 'modern'][] = [
  ['an envelope without headers', modern('tools/list'), {}, 'modern'],
  [
    'an envelope and headers that agree',
    modern('tools/list'),
    header('2026-07-28', { 'mcp-method': 'tools/list' }),
    'modern',
  ],
  [
    'an envelope of a session that is over',
    modern('tools/list'),
    header('2026-07-28', { 'mcp-session-id': 's' }),
    'modern',
  ],
  ['a method that nobody knows', modern('tools/invent'), {}, 'modern'],
  ['initialize with a whole envelope', modern('initialize', { protocolVersion: '2025-11-25' }), {}, 'modern'],
  [
    'a revision that is not supported',
    modern('tools/list', {}, inEnvelope('1900-01-01')),
    header('1900-01-01'),
    'modern',
  ],
  [
    'headers with white space around them',
    modern('tools/list'),
    header(' 2026-07-28\t', { 'mcp-method': ' tools/list ' }),
    'modern',
  ],
  ['initialize', initialize, {}, 'handshake'],
  ['initialize with a header of its era', initialize, header('2025-11-25'), 'handshake'],
  [
    'initialize with a broken envelope',
    modern('initialize', {}, { [clientCapabilities]: undefined }),
    {},
    'handshake',
  ],
  [
    'initialize with an envelope of an older revision',
    modern('initialize', {}, inEnvelope('2025-11-25')),
    {},
    'handshake',
  ],
  ['a request without an envelope', plain('tools/list'), {}, 'handshake'],
  ['a request with a header of an older revision', plain('tools/list'), header('2025-06-18'), 'handshake'],
  ['a request with a header that names nothing', plain('tools/list'), header('draft'), 'handshake'],
  [
    'a request whose mcp-method says something else, in the older era',
    plain('tools/list'),
    { 'mcp-method': 'x' },
    'handshake',
  ],
  ['an answer', { jsonrpc: '2.0', id: 1, result: {} }, header('2026-07-28'), 'handshake'],
  ['a notification', notification('notifications/initialized'), {}, 'handshake'],
  [
    'a notification with a header of an older revision',
    notification(cancelled),
    header('2025-11-25'),
    'handshake',
  ],
]

for (const [what, message, headers, era] of served) {
  test(`${what} is of the ${era} era`, () => {
    const found = eraOfHttp(message, headers)
    assert.is(found.era, era)
    if (found.era === 'modern') assert.ok(found.envelope)
  })
}

test('the envelope comes with the era', () => {
  assert.equal(eraOfHttp(modern('tools/list'), {}), { era: 'modern', envelope: read })
})

test('a modern notification needs no headers and no envelope', () => {
  const claiming = notification(cancelled, { _meta: { ...envelope } })
  const nothing = { era: 'modern', envelope: undefined }
  assert.equal(eraOfHttp(claiming, {}), nothing)
  assert.equal(eraOfHttp(notification(cancelled), header('2026-07-28')), nothing)
  assert.equal(eraOfHttp(notification(cancelled, { _meta: inEnvelope('2026-07-28') }), {}), nothing)
})

const refused: readonly [string, Message, RequestHeaders, number][] = [
  [
    'a header that names another revision (trap 11)',
    modern('tools/list', {}, inEnvelope('2025-11-25')),
    header('2026-07-28'),
    -32020,
  ],
  ['a header that names an older revision', modern('tools/list'), header('2025-11-25'), -32020],
  [
    'two headers of one name',
    modern('tools/list'),
    { 'mcp-protocol-version': ['2026-07-28', '2026-07-28'] },
    -32020,
  ],
  [
    'a method of another case in its header (trap 52)',
    modern('tools/call'),
    { 'mcp-method': 'Tools/Call' },
    -32020,
  ],
  ['another method in its header', modern('tools/call'), { 'mcp-method': 'tools/list' }, -32020],
  ['an empty method in its header', modern('tools/call'), { 'mcp-method': '' }, -32020],
  ['initialize and a modern header', initialize, header('2026-07-28'), -32020],
  ['initialize and a header of the future', initialize, header('2099-01-01'), -32020],
  ['a modern header and no envelope (trap 13)', plain('tools/list'), header('2026-07-28'), -32602],
  [
    'a header of the future and no envelope',
    plain('tools/call', { _meta: {} }),
    header('2099-01-01'),
    -32602,
  ],
  [
    'an envelope without capabilities (trap 8)',
    modern('tools/list', {}, { [clientCapabilities]: undefined }),
    {},
    -32602,
  ],
  [
    'a broken envelope, whatever its headers',
    modern('tools/list', {}, { [clientCapabilities]: 1 }),
    header('x', { 'mcp-method': 'y' }),
    -32602,
  ],
  ['a revision that is no text', modern('tools/list', {}, { [protocolVersion]: 1 }), {}, -32602],
  [
    'a notification whose revision is no text',
    notification(cancelled, { _meta: { [protocolVersion]: 1 } }),
    {},
    -32602,
  ],
  [
    'a notification and a header that names another revision',
    notification(cancelled, { _meta: { ...envelope } }),
    header('2099-01-01'),
    -32020,
  ],
  [
    'a notification and another method in its header',
    notification(cancelled),
    header('2026-07-28', { 'mcp-method': 'x' }),
    -32020,
  ],
]

for (const [what, message, headers, code] of refused) {
  test(`${what} is refused with ${code} and 400`, () => {
    const error = refusalOf(() => eraOfHttp(message, headers))
    assert.is(error.code, code)
    assert.is(modernStatusOf(error.code, 'ladder'), 400)
  })
}

test('a modern header alone is refused with what is missing (trap 13)', () => {
  const error = refusalOf(() => eraOfHttp(plain('tools/list', { _meta: {} }), header('2026-07-28')))
  assert.equal(error.data, {
    envelope: { missing: [protocolVersion, clientCapabilities], malformed: [] },
  })
})

test('a batch is handshake era unless an element has an envelope, even a broken one', () => {
  const text = (...messages: unknown[]) => decode(JSON.stringify(messages))
  const ping = plain('ping')
  assert.is(eraOfHttp(text(ping, notification(cancelled)), header('2026-07-28')).era, 'handshake')
  assert.is(eraOfHttp(text(ping, { jsonrpc: '1.0' }), {}).era, 'handshake')
  const claiming = [modern('tools/list'), modern('tools/list', {}, { [clientCapabilities]: undefined })]
  for (const element of [...claiming, notification(cancelled, { _meta: { ...envelope } })]) {
    assert.is(refusalOf(() => eraOfHttp(text(ping, element), {})).code, -32600)
  }
})

const statuses: readonly [number, number, number][] = [
  [errorCodes.methodNotFound, 404, 404],
  [errorCodes.headerMismatch, 400, 400],
  [errorCodes.missingClientCapability, 400, 400],
  [errorCodes.unsupportedProtocolVersion, 400, 400],
  [errorCodes.parseError, 400, 400],
  [errorCodes.invalidRequest, 400, 400],
  [errorCodes.invalidParams, 200, 400],
  [errorCodes.internalError, 200, 200],
  [-1, 200, 200],
  [12345, 200, 200],
]

for (const [code, byServer, byLadder] of statuses) {
  test(`the status of ${code} is ${byServer}, and ${byLadder} before routing (C2, 3.5)`, () => {
    assert.is(modernStatusOf(code), byServer)
    assert.is(modernStatusOf(code, 'ladder'), byLadder)
  })
}

test('codes are those of the schema (C5), and none is from -32000 to -32019 (C7)', () => {
  assert.equal(
    [errorCodes.headerMismatch, errorCodes.missingClientCapability, errorCodes.unsupportedProtocolVersion],
    [-32020, -32021, -32022],
  )
})

test('an unsupported revision error lists the supported ones and cuts the named one', () => {
  assert.equal(unsupported(undefined).data, { supported: ['2026-07-28'] })
  assert.match(unsupported('x'.repeat(1000)).message, /^Unsupported protocol version: .{0,120}$/)
})

test.run()
