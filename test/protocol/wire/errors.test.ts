import * as assert from 'uvu/assert'
import { errorCodes, isResourceNotFound, McpError, ProtocolError, toJsonRpcError } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/wire/errors')

test('both error classes carry brand, code, retryable, data and cause', () => {
  const cause = new Error('why')
  for (const error of [
    new ProtocolError('BAD_RESULT', 'what', { cause, data: { a: 1 }, retryable: true }),
    new McpError(-32602, 'what', { cause, data: { a: 1 }, retryable: true }),
  ]) {
    assert.is(Reflect.get(error, Symbol.for('caduceus.error')), true)
    assert.is(error.cause, cause)
    assert.equal(error.data, { a: 1 })
    assert.is(error.retryable, true)
    assert.is(error.message, 'what')
  }
  assert.is(new McpError(-32602, 'what').retryable, false)
  assert.is('cause' in new McpError(-32602, 'what'), false)
  assert.is(new ProtocolError('BAD_RESULT', 'what').name, 'ProtocolError')
  assert.is(new McpError(1, 'what').name, 'McpError')
})

test('an McpError reaches the far side as it is', () => {
  assert.equal(toJsonRpcError(new McpError(-32002, 'no such resource', { data: { uri: 'a:b' } })), {
    code: -32002,
    message: 'no such resource',
    data: { uri: 'a:b' },
  })
  assert.equal(toJsonRpcError(new McpError(7, 'own code')), { code: 7, message: 'own code' })
})

test('a code that is no integer is not sent', () => {
  assert.is(toJsonRpcError(new McpError(1.5, 'half')).code, errorCodes.internalError)
  assert.is(toJsonRpcError(new McpError(Number.NaN, 'none')).code, errorCodes.internalError)
})

test('messages that could not be read are answered by their kind', () => {
  const codes = (
    ['PARSE_FAILED', 'INVALID_UTF8', 'INVALID_MESSAGE', 'TOO_DEEP', 'LINE_TOO_LONG'] as const
  ).map((code) => toJsonRpcError(new ProtocolError(code, 'x')).code)
  assert.equal(codes, [-32700, -32700, -32600, -32600, -32600])
})

test('the answer to any other error leaks nothing', () => {
  const secret = 'password123'
  for (const error of [
    new Error(secret),
    secret,
    { message: secret },
    undefined,
    new ProtocolError('BAD_RESULT', secret),
  ]) {
    assert.equal(toJsonRpcError(error), { code: -32603, message: 'Internal error' })
  }
})

test('a missing resource is recognised by the code of any revision (trap 84)', () => {
  const found: readonly [number, unknown, boolean][] = [
    [-32002, undefined, true],
    [-32002, { uri: 'a:b' }, true],
    [-32602, { uri: 'a:b' }, true],
    [-32602, undefined, false],
    [-32602, { uri: 1 }, false],
    [-32603, { uri: 'a:b' }, false],
  ]
  for (const [code, data, expected] of found) {
    assert.is(isResourceNotFound({ code, message: 'm', data }), expected, `${code} ${JSON.stringify(data)}`)
    assert.is(isResourceNotFound(new McpError(code, 'm', { data })), expected)
  }
})

test.run()
