import * as assert from 'uvu/assert'
import { comment, createEventDecoder, encodeEvent, ProtocolError, type SseItem } from 'caduceus/protocol'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('protocol/wire/sse')
const bytes = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => createEventDecoder().push(bytes(text))

test('an event is written field by field', () => {
  assert.is(encodeEvent({ data: '{}' }), 'data: {}\n\n')
  assert.is(
    encodeEvent({ event: 'message', id: '1', retry: 500, data: 'a' }),
    'event: message\nid: 1\nretry: 500\ndata: a\n\n',
  )
})

test('data is split at CR, LF and CRLF, so that it cannot end its own event', () => {
  assert.is(encodeEvent({ data: 'a\nb\r\nc\rd' }), 'data: a\ndata: b\ndata: c\ndata: d\n\n')
  assert.equal(read(encodeEvent({ data: 'x\r\rid: 9\n\ndata: y' })), [
    { type: 'event', data: 'x\n\nid: 9\n\ndata: y' },
  ])
})

test('written events read back, also with empty data or a leading space or colon', () => {
  for (const data of ['', ' a', ':a', 'data: x', '\u{1F600}', '{"a":1}', 'a\n', '\n']) {
    assert.equal(read(encodeEvent({ event: 'e', id: 'i', data })), [
      { type: 'event', event: 'e', id: 'i', data },
    ])
  }
})

test('empty data is a real event that carries its id (trap 43)', () => {
  assert.equal(read('id: x\ndata:\n\n'), [{ type: 'event', id: 'x', data: '' }])
  assert.equal(read('id: x\ndata\n\n'), [{ type: 'event', id: 'x', data: '' }])
})

test('SSE fields that would break the stream are refused', () => {
  for (const event of [
    { data: '', event: 'a\nb' },
    { data: '', id: 'a\rb' },
    { data: '', id: 'a\0' },
    { data: '', retry: -1 },
    { data: '', retry: 1.5 },
    { data: '', retry: Number.NaN },
  ]) {
    assert.throws(
      () => encodeEvent(event),
      (error: unknown) => error instanceof ProtocolError && error.code === 'BAD_EVENT',
    )
  }
})

test('comments are written so that their text is not parsed as fields', () => {
  assert.is(comment(), ':\n\n')
  assert.is(comment('a\ndata: b'), ': a\n: data: b\n\n')
  assert.equal(read(comment('a\r\rdata: b') + comment()), [])
})

const stream = bytes(
  [
    '\ufeff: hello\n\nevent: endpoint\ndata: /messages\n\n',
    'id: 1\r\ndata: {"a":\r\ndata: 1}\r\n\r\n',
    'retry: 250\ndata: \u{1F600}é\r\r',
    'id: 2\ndata:\n\ndata: cr\rid: 3\r\r',
    'data: cut off\nid: 4\n',
  ].join(''),
)
const items: readonly SseItem[] = [
  { type: 'event', event: 'endpoint', data: '/messages' },
  { type: 'event', id: '1', data: '{"a":\n1}' },
  { type: 'retry', ms: 250 },
  { type: 'event', data: '\u{1F600}é' },
  { type: 'event', id: '2', data: '' },
  { type: 'event', id: '3', data: 'cr' },
]

test('events are the same however the stream is split in two (trap 45)', () => {
  for (let at = 0; at <= stream.length; at++) {
    const decoder = createEventDecoder()
    const found = [...decoder.push(stream.subarray(0, at)), ...decoder.push(stream.subarray(at))]
    assert.equal(found, items, `split at ${at}`)
  }
})

test('events are the same for every size of chunk', () => {
  for (let size = 1; size <= stream.length; size++) {
    const decoder = createEventDecoder()
    const found: SseItem[] = []
    for (let at = 0; at < stream.length; at += size)
      found.push(...decoder.push(stream.subarray(at, at + size)))
    assert.equal(found, items, `chunks of ${size}`)
  }
})

test('an event cut off by the end is dropped, and so is its id', () => {
  assert.equal(read('id: 1\ndata: a\n\nid: 2\ndata: b\n'), [{ type: 'event', id: '1', data: 'a' }])
})

test('an event beyond the limit is skipped, whole or split, and its neighbours arrive', () => {
  for (const long of [
    'data: 0123456789012345678901234567890',
    'data: 0\n'.repeat(7),
    ': x\ndata: 0123\n'.repeat(4),
  ]) {
    for (const size of [1, 2, 3, 7, 1_000]) {
      const decoder = createEventDecoder({ maxMessageBytes: 12 })
      const text = `data: a\n\n${long}\n\ndata: b\n\n\ndata: c\n\n`
      const all = bytes(text)
      const found = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
        decoder.push(all.subarray(index * size, (index + 1) * size)),
      ).flat()
      const shown = found.map((item) => (item.type === 'event' ? item.data : item.type))
      assert.equal(shown, ['a', 'too_long', 'b', 'c'], `${JSON.stringify(long)} by ${size}`)
    }
  }
})

test('a skipped event is reported with its id and message', () => {
  const message = { result: { text: 'x'.repeat(5_000) }, jsonrpc: '2.0', id: 'seven' }
  for (const data of [
    JSON.stringify(message),
    JSON.stringify(message, null, 1).replaceAll('\n', '\ndata: '),
  ]) {
    for (const size of [100, 100_000]) {
      const decoder = createEventDecoder({ maxMessageBytes: 2_000 })
      const all = bytes(`event: message\nid: e7\ndata: ${data}\n\ndata: after\n\n`)
      const found = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
        decoder.push(all.subarray(index * size, (index + 1) * size)),
      ).flat()
      const [first, second] = found
      assert.ok(first?.type === 'too_long' && second?.type === 'event', JSON.stringify(found))
      assert.equal([first.id, first.error.code], ['e7', 'EVENT_TOO_LONG'])
      assert.equal(first.error.data, { about: 'response', id: 'seven' })
      assert.match(first.error.message, 'limits.messageBytes')
      assert.is(second.data, 'after')
    }
  }
})

test('an endless event holds no more than the limit', () => {
  const decoder = createEventDecoder({ maxMessageBytes: 100_000 })
  const chunk = bytes('x'.repeat(65_536))
  assert.equal(decoder.push(bytes('data: ')), [])
  const before = process.memoryUsage()
  for (let count = 0; count < 2_000; count++) assert.equal(decoder.push(chunk), [])
  const { heapUsed, external } = process.memoryUsage()
  assert.ok(heapUsed + external - before.heapUsed - before.external < 60_000_000)
  assert.equal(
    decoder.push(bytes('\n\ndata: b\n\n')).map(({ type }) => type),
    ['too_long', 'event'],
  )
})

test('any number of events and comments within the limit pass', () => {
  const decoder = createEventDecoder({ maxMessageBytes: 64 })
  let events = 0
  for (let count = 0; count < 1_000; count++) {
    for (const text of [':\n\n', 'data: 0123456789', '0123456789\n', '\n', ': ping\n', '\n']) {
      for (const item of decoder.push(bytes(text))) {
        assert.is(item.type, 'event')
        events++
      }
    }
  }
  assert.is(events, 1_000)
})

test.slow('line ends of any kind are read in time linear in their number', () => {
  for (const text of [
    `${'\n'.repeat(1_000_000)}\r`,
    '\r'.repeat(1_000_000),
    '\r\n'.repeat(500_000),
    'a'.repeat(1_000_000),
  ]) {
    const start = cpuTime()
    assert.equal(read(text), [])
    assert.ok(cpuTime() - start < 1_500)
  }
})

test.run()
