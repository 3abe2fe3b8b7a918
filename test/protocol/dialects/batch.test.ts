import * as assert from 'uvu/assert'
import {
  allHandshakeDialects,
  answerInvalid,
  type Batch,
  buildNotification,
  buildRequest,
  buildResult,
  decode,
  dialect20250326,
  encodeBatch,
  errorCodes,
  type Message,
  openBatch,
  ProtocolError,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/dialects/batch')
const ping = buildRequest(1, 'ping')
const note = buildNotification('notifications/initialized')
const initialize = buildRequest(0, 'initialize', {})

test('2025-03-26 takes requests, notifications and answers in one array (trap 25)', () => {
  for (const messages of [[ping], [note, note], [ping, note, buildResult('a', {})]]) {
    assert.equal(openBatch(read(messages), dialect20250326), { messages, refusals: [] })
  }
})

test('every other revision refuses an array, even with one element (trap 26)', () => {
  for (const dialect of allHandshakeDialects) {
    if (dialect === dialect20250326) continue
    const error = refusalOf(() => openBatch(read([ping]), dialect))
    assert.is(error.message, `not one JSON-RPC message: revision ${dialect.revision} has no batches`)
    assert.equal(answerInvalid(error), {
      jsonrpc: '2.0',
      error: { code: errorCodes.invalidRequest, message: error.message },
    })
  }
})

test('initialize is refused inside a batch, and a batch before initialize (trap 5)', () => {
  for (const dialect of [dialect20250326, undefined]) {
    assert.match(
      refusalOf(() => openBatch(read([note, initialize]), dialect)).message,
      'initialize must not be',
    )
  }
  assert.match(refusalOf(() => openBatch(read([ping]), undefined)).message, 'a batch before initialize')
})

test('a broken batch element fails alone, and is answered if it may be a request', () => {
  const batch = read([
    1,
    ping,
    { jsonrpc: '2.0', id: 7, method: 5 },
    { jsonrpc: '2.0', id: 8, result: 1 },
    note,
  ])
  const { messages, refusals } = openBatch(batch, dialect20250326)
  assert.equal(messages, [ping, note])
  assert.equal(
    refusals.map(({ id, error }) => [id, error.code]),
    [
      [undefined, -32600],
      [7, -32600],
    ],
  )
})

test('answers are sent as one array on one line, and never as an empty one', () => {
  const answers: Message[] = [buildResult(1, { a: 'b\nc' }), buildResult('2', {})]
  const text = encodeBatch(answers)
  assert.equal(JSON.parse(text), answers)
  assert.is(text.includes('\n'), false)
  assert.throws(
    () => encodeBatch([]),
    (error: unknown) => error instanceof ProtocolError && error.code === 'NOT_SERIALISABLE',
  )
})

function read(values: readonly unknown[]): Batch {
  const decoded = decode(JSON.stringify(values))
  if (Array.isArray(decoded)) return decoded
  throw new Error('decoded as one message')
}

function refusalOf(action: () => unknown): ProtocolError {
  try {
    action()
  } catch (error) {
    if (error instanceof ProtocolError && error.code === 'INVALID_MESSAGE') return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test.run()
