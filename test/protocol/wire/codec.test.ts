import * as assert from 'uvu/assert'
import { buildRequest, buildResult, decode, encode, ProtocolError } from 'caduceus/protocol'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('protocol/wire/codec')

test('a message comes back as it was', () => {
  const message = buildRequest(1, 'tools/call', {
    name: 'x',
    arguments: { text: 'a\nb\r\u2028\u{1F600}\ud800' },
  })
  assert.equal(decode(encode(message)), message)
})

test('an encoded message is one line', () => {
  const text = encode(buildResult('\n', { text: 'a\nb\r\nc' }))
  assert.is(/[\r\n]/.test(text), false)
})

test('a value without JSON text is refused by name', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const result of [{ big: 1n }, circle, nest(100_000)]) {
    assert.is(
      codeOf(() => encode(buildResult(1, result))),
      'NOT_SERIALISABLE',
    )
  }
})

test('a text that is not JSON fails without quoting it', () => {
  for (const text of ['', 'password123', '{"jsonrpc":"2.0",', '{"a":01}', '\0{}', '{"a":"\u0001"}', 'NaN']) {
    const error = refusalOf(() => decode(text))
    assert.is(error.code, 'PARSE_FAILED')
    assert.is(error.message.includes('password'), false)
    assert.is(error.cause, undefined)
  }
})

test('edge cases of numbers, keys and duplicates parse as JSON.parse does', () => {
  const message = decode(
    '{"jsonrpc":"2.0","id":1,"id":-0,"method":"a","params":{"big":1e400,"constructor":1,"a":1,"a":2}}',
  )
  assert.equal(
    JSON.stringify(message),
    '{"jsonrpc":"2.0","id":0,"method":"a","params":{"big":null,"constructor":1,"a":2}}',
  )
})

test('a key __proto__ is data and changes no prototype', () => {
  const message = decode(
    '{"jsonrpc":"2.0","id":1,"method":"a","params":{"__proto__":{"polluted":true},"x":1}}',
  )
  const params: object = 'params' in message ? (message.params ?? {}) : {}
  assert.is(Object.getPrototypeOf(params), Object.prototype)
  assert.equal(Object.keys(params), ['__proto__', 'x'])
  assert.is(Reflect.get({}, 'polluted'), undefined)
  assert.is(Reflect.get(params, 'polluted'), undefined)
})

test('nesting passes at the limit and fails beyond it, with the id for the answer', () => {
  const text = (levels: number) =>
    `{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`
  assert.is('method' in decode(text(62)), true)
  const error = refusalOf(() => decode(text(63)))
  assert.is(error.code, 'TOO_DEEP')
  assert.equal(error.data, { about: 'request', id: 7 })
  assert.is(
    codeOf(() => decode(text(3), { maxDepth: 4 })),
    'TOO_DEEP',
  )
  assert.is('method' in decode(text(2), { maxDepth: 4 }), true)
})

test('a long text that is too deep still says what it answers', () => {
  const text = (id: number, list: number) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"x":${'['.repeat(list)}${']'.repeat(list)}}}`
  for (const levels of [1_000, 100_000])
    assert.equal(refusalOf(() => decode(text(7, levels))).data, { about: 'response', id: 7 })
})

test('brackets beside each other, and brackets in strings, are not nesting', () => {
  const flat = buildResult(1, { list: Array.from({ length: 500 }, () => ({ a: [1] })) })
  const quoted = buildResult(1, { text: '[{"\\'.repeat(500), tail: '\\', 'k[[[[\\"': ['"', '\\"['] })
  assert.equal(decode(encode(flat)), flat)
  assert.equal(decode(encode(quoted)), quoted)
})

test('depth is measured right after any strings and escapes before the brackets', () => {
  for (const before of ['"', '\\', '\\"', '\\\\"', '"]]]}}}', '\\u0022[', '[[[{{{']) {
    const quoted = JSON.stringify(before)
    const list = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const text = (levels: number) =>
      `{"jsonrpc":"2.0","id":1,"result":{${quoted}:${quoted},"x":${list(levels)}}}`
    assert.is('result' in decode(text(62)), true, before)
    assert.is(
      codeOf(() => decode(text(63))),
      'TOO_DEEP',
      before,
    )
  }
})

test('values pass at the limit and fail beyond it, with the id for the answer', () => {
  // the message, its params and four members of theirs; and what is in the list
  const text = (values: number, of = '{}', id = 7) =>
    `{"jsonrpc":"2.0","id":${id},"method":"a","params":{"list":[${Array(values).fill(of).join()}]}}`
  const refusal = (json: string, maxValues?: number): unknown => {
    const error = refusalOf(() => decode(json, maxValues === undefined ? undefined : { maxValues }))
    return [error.code, error.data]
  }
  const refused = ['TOO_MANY_VALUES', { about: 'request', id: 7 }]
  for (const of of ['1', '"a,[{"', '-1.5e3', 'null']) {
    assert.is('params' in decode(text(10_000, of), { maxValues: 10_005 }), true, of)
    assert.equal(refusal(text(10_000, of), 10_004), refused, of)
  }
  // an array or an object is one, and one for what is in it
  assert.is('params' in decode(text(10_000), { maxValues: 20_005 }), true)
  assert.equal(refusal(text(10_000), 20_004), refused)
  // a name in an object costs more
  assert.is('params' in decode(text(49_995, '{"a":1}')), true)
  assert.equal(refusal(text(49_996, '{"a":1}')), refused)
  for (const of of ['{}', '[]', '0', '{"a":1,"b":2}']) assert.equal(refusal(text(300_000, of)), refused, of)
})

test('what looks like values in a string is one', () => {
  const message = buildResult(1, { text: '[{,"\\'.repeat(400_000) })
  assert.equal(decode(encode(message)), message)
})

test('a text of millions of values is refused in linear time, and is not parsed', () => {
  for (const of of ['{},', '[],', '0,', '"a":1,', '["b",{}],']) {
    const start = cpuTime()
    assert.is(
      codeOf(() => decode(`{"a":[${of.repeat(16_000_000 / of.length)}`)),
      'TOO_MANY_VALUES',
    )
    assert.ok(cpuTime() - start < 500, of)
  }
})

test('deeply nested texts are refused in linear time', () => {
  for (const text of ['['.repeat(4_000_000), '{"a":'.repeat(800_000), '"'.concat('\\"'.repeat(2_000_000))]) {
    const start = cpuTime()
    assert.is.not(
      codeOf(() => decode(text)),
      undefined,
    )
    assert.ok(cpuTime() - start < 1_500)
  }
})

test('an array is a batch whose broken elements are reported one by one', () => {
  const batch = decode('[{"jsonrpc":"2.0","method":"a"},{"id":3,"method":"b"},1]')
  assert.ok(Array.isArray(batch))
  const [first, second, third] = batch
  assert.equal(first, { jsonrpc: '2.0', method: 'a' })
  assert.ok(second instanceof ProtocolError)
  assert.equal(second.data, { about: 'request', id: 3 })
  assert.ok(third instanceof ProtocolError)
})

test('an empty batch and one beyond the limit are refused', () => {
  const notes = (count: number) =>
    JSON.stringify(Array.from({ length: count }, () => ({ jsonrpc: '2.0', method: 'a' })))
  assert.is(
    codeOf(() => decode('[]')),
    'INVALID_MESSAGE',
  )
  assert.is((decode(notes(100)) as unknown[]).length, 100)
  assert.is(
    codeOf(() => decode(notes(101))),
    'INVALID_MESSAGE',
  )
  assert.is(
    codeOf(() => decode(notes(3), { maxBatch: 2 })),
    'INVALID_MESSAGE',
  )
})

function nest(levels: number): object {
  let value: object = {}
  for (let level = 0; level < levels; level++) value = { value }
  return value
}

function codeOf(action: () => unknown): string | undefined {
  return refusalOf(action).code
}

function refusalOf(action: () => unknown): ProtocolError {
  try {
    action()
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

test.run()
