import * as assert from 'uvu/assert'
import { buildError, buildNotification, buildRequest, buildResult, decode, encode } from 'caduceus/protocol'
import { suite } from '../support/suite.js'

const test = suite('messages as text')

/** What is built, and the very text that goes over any transport. */
const golden = [
  [buildRequest(1, 'ping'), '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
  [
    buildRequest('a', 'tools/call', { name: 'add', arguments: { a: 1 } }),
    '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"add","arguments":{"a":1}}}',
  ],
  [buildNotification('notifications/initialized'), '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  [
    buildNotification('notifications/cancelled', { requestId: 1, reason: 'é' }),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"é"}}',
  ],
  [buildResult(1, { tools: [] }), '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'],
  [
    buildError(1, { code: -32601, message: 'Method not found', data: { a: null } }),
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"a":null}}}',
  ],
] as const

test('built messages are written as in the specification and read back', () => {
  for (const [message, text] of golden) {
    assert.is(encode(message), text)
    assert.equal(decode(text), message)
  }
})

test.run()
