import * as assert from 'uvu/assert'
import {
  answerInvalid,
  buildError,
  buildNotification,
  buildRequest,
  buildResult,
  isNotification,
  isRequest,
  isResponse,
  ProtocolError,
  readMessage,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/wire/jsonrpc')

test('every builder makes a message that is read back as itself', () => {
  const messages = [
    buildRequest(1, 'tools/list'),
    buildRequest('a', 'tools/call', { name: 'x' }),
    buildNotification('notifications/initialized'),
    buildNotification('notifications/progress', { progressToken: 1, progress: 2 }),
    buildResult(0, {}),
    buildError('', { code: -32601, message: 'no' }),
    buildError(undefined, { code: -32700, message: 'no', data: [1] }),
  ]
  for (const message of messages) {
    assert.is(readMessage(message), message)
    assert.equal(JSON.parse(JSON.stringify(message)), message)
  }
  assert.equal(messages.map(isRequest), [true, true, false, false, false, false, false])
  assert.equal(messages.map(isNotification), [false, false, true, true, false, false, false])
  assert.equal(messages.map(isResponse), [false, false, false, false, true, true, true])
})

test('ids may be 0 and empty, but not null or fractions (trap 21)', () => {
  for (const id of [0, '', -1, 'a', Number.MAX_SAFE_INTEGER]) {
    assert.is(isRequest(readMessage({ jsonrpc: '2.0', id, method: 'ping' })), true)
  }
  for (const id of [null, 1.5, true, {}, [], 2 ** 53, Number.POSITIVE_INFINITY, undefined]) {
    assert.throws(
      () => readMessage({ jsonrpc: '2.0', id, method: 'ping' }),
      /id: expected a string or an integer/,
    )
  }
})

test('an id keeps its type (trap 22)', () => {
  const one = readMessage(JSON.parse('{"jsonrpc":"2.0","id":"1","result":{}}'))
  assert.is('id' in one && one.id, '1')
})

test('an error without id, or with null, belongs to no request (trap 24)', () => {
  const error = { code: -32700, message: 'x' }
  assert.is('id' in readMessage({ jsonrpc: '2.0', error }), false)
  assert.equal(readMessage({ jsonrpc: '2.0', id: null, error }), { jsonrpc: '2.0', error })
})

test('unknown fields are kept', () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'a', params: { x: { y: 1 } }, extra: true }
  assert.is(readMessage(message), message)
})

const broken: readonly [value: unknown, message: RegExp, about: string, id?: unknown][] = [
  [null, /expected|must be an object, got null/, 'unknown'],
  ['text', /must be an object, got a string/, 'unknown'],
  [[], /must be an object, got an array/, 'unknown'],
  [{ id: 1, method: 'a' }, /jsonrpc: expected "2.0"/, 'request', 1],
  [{ jsonrpc: 2, id: 1, method: 'a' }, /jsonrpc: expected "2.0"/, 'request', 1],
  [{ jsonrpc: '2.0' }, /expected method, result or error, got none/, 'unknown'],
  [{ jsonrpc: '2.0', id: 1 }, /expected method, result or error, got none/, 'unknown', 1],
  [{ jsonrpc: '2.0', id: 1, method: null }, /method: expected a string, got null/, 'request', 1],
  [
    { jsonrpc: '2.0', id: 1, method: 'a', params: [] },
    /params: expected an object, got an array/,
    'request',
    1,
  ],
  [
    { jsonrpc: '2.0', id: 1, method: 'a', params: null },
    /params: expected an object, got null/,
    'request',
    1,
  ],
  [{ jsonrpc: '2.0', method: 'a', params: 'x' }, /params: expected an object, got a string/, 'notification'],
  [{ jsonrpc: '2.0', id: 1, method: 'a', result: {} }, /neither result nor error/, 'request', 1],
  [{ jsonrpc: '2.0', id: 1, result: {}, error: {} }, /got both/, 'response', 1],
  [{ jsonrpc: '2.0', id: 1, result: null }, /result: expected an object, got null/, 'response', 1],
  [{ jsonrpc: '2.0', id: 1, result: 'ok' }, /result: expected an object, got a string/, 'response', 1],
  [{ jsonrpc: '2.0', result: {} }, /id: expected .* got nothing/, 'response'],
  [{ jsonrpc: '2.0', id: null, result: {} }, /id: expected .* got null/, 'response'],
  [{ jsonrpc: '2.0', id: 1, error: 'no' }, /error: expected an object, got a string/, 'response', 1],
  [
    { jsonrpc: '2.0', id: 1, error: { message: 'x' } },
    /error.code: expected an integer, got nothing/,
    'response',
    1,
  ],
  [
    { jsonrpc: '2.0', id: 1, error: { code: 1.5, message: 'x' } },
    /error.code: .* got a number/,
    'response',
    1,
  ],
  [
    { jsonrpc: '2.0', id: 1, error: { code: 1 } },
    /error.message: expected a string, got nothing/,
    'response',
    1,
  ],
  [{ jsonrpc: '2.0', id: {}, error: { code: 1, message: '' } }, /id: expected .* got an object/, 'response'],
  [{ JSONRPC: '2.0', ID: 1, METHOD: 'a' }, /jsonrpc/, 'unknown'],
]

for (const [value, message, about, id] of broken) {
  test(`refuses ${JSON.stringify(value)} and names its kind and id`, () => {
    const error = refusalOf(value)
    assert.is(error.code, 'INVALID_MESSAGE')
    assert.match(error.message, message)
    assert.equal(error.data, id === undefined ? { about } : { about, id })
  })
}

test('a broken request is answered by id, a broken response never', () => {
  const answerTo = (value: unknown) => answerInvalid(refusalOf(value))
  assert.is(answerTo({ jsonrpc: '2.0', id: 'a', method: 5 })?.id, 'a')
  assert.is(answerTo({ jsonrpc: '2.0', id: 'a', method: 5 })?.error.code, -32600)
  assert.is(answerTo({ jsonrpc: '2.0', id: 1, result: 5 }), undefined)
  assert.is(answerTo({ jsonrpc: '2.0', method: 'a', params: 5 }), undefined)
})

test('a malformed message that may be a response is answered without its id', () => {
  const answer = answerInvalid(refusalOf({ jsonrpc: '2.0', id: 1 }))
  assert.is(answer?.error.code, -32600)
  assert.is(answer !== undefined && 'id' in answer, false)
})

test('bad JSON is answered with -32700 and no id, an internal error not at all', () => {
  assert.equal(answerInvalid(new ProtocolError('PARSE_FAILED', 'x')), {
    jsonrpc: '2.0',
    error: { code: -32700, message: 'x' },
  })
  assert.is(answerInvalid(new ProtocolError('BAD_SCHEMA', 'x')), undefined)
})

function refusalOf(value: unknown): ProtocolError {
  try {
    readMessage(value)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
  throw new Error('it was read')
}

test('an id has 1,024 characters at most, and a longer one is not echoed', () => {
  const request = (length: number) => ({ jsonrpc: '2.0', id: 'i'.repeat(length), method: 'ping' })
  assert.is((readMessage(request(1_024)) as { id: string }).id.length, 1_024)
  try {
    readMessage(request(1_025))
  } catch (error) {
    assert.ok(error instanceof ProtocolError && error.code === 'INVALID_MESSAGE', String(error))
    return assert.is('id' in (answerInvalid(error) ?? {}), false)
  }
  assert.unreachable('it was taken')
})

test.run()
