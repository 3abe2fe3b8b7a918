import * as assert from 'uvu/assert'
import {
  claimsEnvelope,
  type JsonObject,
  type Message,
  metaKeys,
  readEnvelope,
  writeEnvelope,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { envelope, modern, notification, plain, read, refusalOf } from '../_modern.js'

const test = suite('protocol/stateless/envelope')
const { protocolVersion, clientCapabilities, clientInfo, logLevel } = metaKeys

test('a complete envelope is read, even without client info (trap 9)', () => {
  assert.equal(readEnvelope(modern('tools/list')), read)
})

test('an envelope is read anew for every request (trap 10)', () => {
  const info = { name: 'c', version: '1', title: 'C', icons: [{ src: 'data:,' }] }
  const whole = modern(
    'tools/call',
    { name: 't' },
    {
      [clientCapabilities]: { elicitation: {}, 'example.com/x': { a: 1 } },
      [clientInfo]: info,
      [logLevel]: 'warning',
      progressToken: 0,
      'example.com/other': [],
    },
  )
  assert.equal(readEnvelope(whole), {
    revision: '2026-07-28',
    clientCapabilities: { elicitation: {}, 'example.com/x': { a: 1 } },
    clientInfo: info,
    logLevel: 'warning',
  })
  assert.equal(readEnvelope(modern('tools/call', { name: 't' })).clientCapabilities, {})
})

test('an envelope accepts any revision, which is checked later', () => {
  assert.is(
    readEnvelope(modern('tools/list', {}, { [protocolVersion]: '1900-01-01' })).revision,
    '1900-01-01',
  )
})

const broken: readonly [JsonObject, readonly string[], readonly string[]][] = [
  [{ [clientCapabilities]: undefined }, [clientCapabilities], []], // trap 8
  [{ [protocolVersion]: undefined }, [protocolVersion], []],
  [
    { [protocolVersion]: undefined, [clientCapabilities]: undefined },
    [protocolVersion, clientCapabilities],
    [],
  ],
  [{ [protocolVersion]: 20260728 }, [], [protocolVersion]],
  [{ [protocolVersion]: null }, [], [protocolVersion]],
  [{ [clientCapabilities]: [] }, [], [clientCapabilities]],
  [{ [clientCapabilities]: true }, [], [clientCapabilities]],
  [{ [clientInfo]: null }, [], [clientInfo]],
  [{ [clientInfo]: { name: 'c' } }, [], [clientInfo]],
  [{ [clientInfo]: { name: 'c', version: 1 } }, [], [clientInfo]],
  [{ [logLevel]: 'warn' }, [], [logLevel]],
  [{ [logLevel]: null }, [], [logLevel]],
  [{ progressToken: 1.5 }, [], ['progressToken']],
  [
    { [protocolVersion]: undefined, [clientCapabilities]: 'x', [logLevel]: 1 },
    [protocolVersion],
    [clientCapabilities, logLevel],
  ],
]

for (const [meta, missing, malformed] of broken) {
  test(`envelope ${JSON.stringify(meta)} is -32602 for ${[...missing, ...malformed]}`, () => {
    const error = refusalOf(() => readEnvelope(modern('tools/list', {}, meta)))
    assert.is(error.code, -32602)
    assert.equal(error.data, { envelope: { missing, malformed } })
    for (const key of missing) assert.ok(error.message.includes(`${key} is missing`), error.message)
    for (const key of malformed) assert.ok(error.message.includes(`${key}: expected `), error.message)
  })
}

test('an envelope error names what was expected and never quotes', () => {
  const { message } = refusalOf(() =>
    readEnvelope(modern('tools/list', {}, { [protocolVersion]: ['secret'], [logLevel]: 'secret' })),
  )
  assert.is(
    message,
    `params._meta: not an envelope: ${protocolVersion}: expected a string, got an array; ${logLevel}: expected a level such as info, got a string`,
  )
})

test('without params, or without _meta, both keys and _meta are missing', () => {
  for (const request of [plain('tools/list'), plain('tools/list', { cursor: '' })]) {
    const error = refusalOf(() => readEnvelope(request))
    assert.equal(error.data, {
      envelope: { missing: ['_meta', protocolVersion, clientCapabilities], malformed: [] },
    })
  }
  const { message } = refusalOf(() => readEnvelope(plain('tools/list', { _meta: [] })))
  assert.match(message, '_meta: expected an object, got an array')
})

const claims: readonly [Message, boolean][] = [
  [modern('tools/list'), true],
  [modern('tools/list', {}, { [clientCapabilities]: undefined }), true],
  [modern('tools/list', {}, { [protocolVersion]: 5 }), true],
  [modern('tools/list', {}, { [protocolVersion]: null }), true],
  [notification('notifications/cancelled', { _meta: { ...envelope } }), true],
  [plain('tools/list'), false],
  [plain('tools/list', { _meta: { progressToken: 1, [clientCapabilities]: {}, [clientInfo]: {} } }), false],
  [plain('tools/list', { _meta: null }), false],
  [plain('tools/list', { [protocolVersion]: '2026-07-28' }), false],
  [notification('notifications/initialized'), false],
  [{ jsonrpc: '2.0', id: 1, result: { _meta: { ...envelope } } }, false],
  [{ jsonrpc: '2.0', error: { code: 1, message: '' } }, false],
]

for (const [message, claim] of claims) {
  test(`${JSON.stringify(message)} claims ${claim ? 'an envelope' : 'nothing'}`, () => {
    assert.is(claimsEnvelope(message), claim)
  })
}

test('an inherited envelope is ignored', () => {
  const text = JSON.stringify({ _meta: { inherited: envelope } }).replace('inherited', '__proto__')
  const request = plain('tools/list', JSON.parse(text))
  assert.is(claimsEnvelope(request), false)
  assert.is(refusalOf(() => readEnvelope(request)).code, -32602)
})

test('a server reads the envelope that a client writes', () => {
  const whole = {
    revision: '2026-07-28',
    clientCapabilities: { elicitation: { url: {} } },
    clientInfo: { name: 'c', version: '1' },
    logLevel: 'debug',
  } as const
  assert.equal(readEnvelope(plain('tools/list', { _meta: writeEnvelope(whole) })), whole)
  assert.equal(writeEnvelope(read), envelope)
})

test.run()
