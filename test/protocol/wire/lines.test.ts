import * as assert from 'uvu/assert'
import { createLineDecoder, type LineItem } from 'caduceus/protocol'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('protocol/wire/lines')
const bytes = (text: string) => new TextEncoder().encode(text)
const textsOf = (items: readonly LineItem[]) =>
  items.map((item) => (item.type === 'line' ? item.text : item.type))

const stream = bytes('{"a":1}\n\r\n{"b":"\u{1F600}é\u2028"}\r\n   \n\n{"c":"\\n"}\nlast')
const lines = ['{"a":1}', '{"b":"\u{1F600}é\u2028"}', '{"c":"\\n"}', 'last']

test('lines are the same however the stream is split in two', () => {
  for (let at = 0; at <= stream.length; at++) {
    const decoder = createLineDecoder()
    const items = [
      ...decoder.push(stream.subarray(0, at)),
      ...decoder.push(stream.subarray(at)),
      ...decoder.end(),
    ]
    assert.equal(textsOf(items), lines, `split at ${at}`)
  }
})

test('lines are the same for every size of chunk, and when the chunk is reused', () => {
  for (let size = 1; size <= stream.length; size++) {
    const decoder = createLineDecoder()
    const chunk = new Uint8Array(size)
    const items: LineItem[] = []
    for (let at = 0; at < stream.length; at += size) {
      const part = stream.subarray(at, at + size)
      chunk.set(part)
      items.push(...decoder.push(chunk.subarray(0, part.length)))
      chunk.fill(0)
    }
    assert.equal(textsOf([...items, ...decoder.end()]), lines, `chunks of ${size}`)
  }
})

test('bytes and lines are counted', () => {
  const decoder = createLineDecoder()
  decoder.push(stream)
  decoder.push(Uint8Array.of(0xff, 0x0a))
  assert.equal({ ...decoder.stats }, { bytes: stream.length + 2, lines: 3, errors: 1 })
})

test('an invalid UTF-8 line is reported in place, and others are read', () => {
  const bad = [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]
  for (const line of bad) {
    const decoder = createLineDecoder()
    const items = decoder.push(Uint8Array.from([...bytes('a\n'), ...line, ...bytes('\nb\n')]))
    assert.equal(textsOf(items), ['a', 'invalid', 'b'])
    const [, item] = items
    assert.is(item?.type === 'invalid' && item.error.code, 'INVALID_UTF8')
  }
})

test('a NUL stays in the line, and a byte order mark is dropped', () => {
  assert.equal(textsOf(createLineDecoder().push(bytes('a\0b\n\ufeff{}\n'))), ['a\0b', '{}'])
})

test('a line of just the limit is read, with LF and with CRLF, whole and in pieces', () => {
  for (const end of ['\n', '\r\n']) {
    for (const size of [1, 5, 100]) {
      const decoder = createLineDecoder({ maxMessageBytes: 10 })
      const items = chunksOf(bytes(`0123456789${end}ab${end}`), size).flatMap((chunk) => decoder.push(chunk))
      assert.equal(textsOf(items), ['0123456789', 'ab'], `${JSON.stringify(end)} in chunks of ${size}`)
    }
  }
})

test('a line beyond the limit is skipped, and those before and after it are read', () => {
  for (const size of [1, 2, 3, 7, 100]) {
    for (const end of ['\n', '\r\n']) {
      const decoder = createLineDecoder({ maxMessageBytes: 10 })
      const text = `ok${end}0123456789x${end}later${end}${'y'.repeat(50)}${end}0123456789${end}`
      const items = chunksOf(bytes(text), size).flatMap((chunk) => decoder.push(chunk))
      assert.equal(textsOf(items), ['ok', 'too_long', 'later', 'too_long', '0123456789'], `chunks of ${size}`)
      assert.is(items[1]?.type === 'too_long' && items[1].error.code, 'LINE_TOO_LONG')
      assert.match(
        items[1]?.type === 'too_long' ? items[1].error.message : '',
        /10 bytes \(limits\.messageBytes\), got 1/,
      )
      assert.equal(decoder.stats.errors, 2)
    }
  }
  const decoder = createLineDecoder({ maxMessageBytes: 10 })
  assert.equal(decoder.push(bytes('ok\n0123456789xy')).length, 1)
  assert.equal(textsOf(decoder.end()), ['too_long'])
  assert.equal(decoder.end(), [])
})

test('a too long line is reported with its message id or method', () => {
  const text = 'x'.repeat(5_000)
  const deep = { id: 9, method: 'no', a: [{ id: 8 }] }
  for (const [message, told] of [
    [
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { text } },
      { about: 'request', id: 1 },
    ],
    [
      { method: 'tools/call', params: { ...deep, text }, jsonrpc: '2.0', id: 2 },
      { about: 'request', id: 2 },
    ],
    [
      { params: { text }, id: 'é"\\', method: 'tools/call' },
      { about: 'request', id: 'é"\\' },
    ],
    [
      { jsonrpc: '2.0', id: 3, result: { ...deep, text } },
      { about: 'response', id: 3 },
    ],
    [
      { result: { text, ...deep }, jsonrpc: '2.0', id: 4 },
      { about: 'response', id: 4 },
    ],
    [
      { jsonrpc: '2.0', id: 5, error: { code: 1, message: text } },
      { about: 'response', id: 5 },
    ],
    [
      { jsonrpc: '2.0', method: 'notifications/message', params: { ...deep, text } },
      { about: 'notification' },
    ],
    [{ result: { text, id: 7 } }, { about: 'response' }],
    [{ jsonrpc: '2.0', x: text, id: 6, y: text }, { about: 'unknown' }],
    [[{ jsonrpc: '2.0', id: 1, method: 'ping', params: { text } }], { about: 'unknown' }],
    [text, { about: 'unknown' }],
  ] as const) {
    for (const size of [1, 50, 700, 100_000]) {
      for (const maxMessageBytes of [10, 1_000, 4_000]) {
        const decoder = createLineDecoder({ maxMessageBytes })
        const items = chunksOf(bytes(`${JSON.stringify(message)}\n`), size).flatMap((chunk) =>
          decoder.push(chunk),
        )
        assert.is(items.length, 1)
        assert.equal(items[0]?.type === 'too_long' && items[0].error.data, told)
      }
    }
  }
})

test('100 MB without a line end are skipped, holding no more than the limit', () => {
  const decoder = createLineDecoder()
  const chunk = new Uint8Array(65_536).fill(0x61)
  const before = process.memoryUsage().arrayBuffers
  let held = 0
  for (let count = 0; count < 1_600; count++) {
    assert.equal(decoder.push(chunk), [])
    held = Math.max(held, process.memoryUsage().arrayBuffers - before)
  }
  assert.equal(textsOf(decoder.push(bytes('\nok\n'))), ['too_long', 'ok'])
  assert.ok(held < 3 * 16 * 1024 * 1024, `${held} bytes held`)
})

test('a flood of line feeds costs less than half as many lines with a character each', () => {
  const timeOf = (text: string) => {
    const decoder = createLineDecoder()
    const chunk = bytes(text.repeat(65_536 / text.length))
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < 20; round++) {
      const start = performance.now()
      decoder.push(chunk)
      best = Math.min(best, performance.now() - start)
    }
    return best
  }
  const [feeds, returns] = [timeOf('\n'), timeOf('\r\n')]
  assert.ok(feeds < returns, `${feeds} ms, ${returns} ms`)
})

test('a line that comes byte by byte takes time linear in its length', () => {
  const timeFor = (length: number) => {
    const decoder = createLineDecoder()
    const one = Uint8Array.of(0x61)
    const start = cpuTime()
    for (let count = 0; count < length; count++) decoder.push(one)
    const items = decoder.push(Uint8Array.of(0x0a))
    assert.is(items[0]?.type === 'line' && items[0].text.length, length)
    return cpuTime() - start
  }
  timeFor(100_000)
  const small = Math.max(timeFor(200_000), 5)
  assert.ok(timeFor(1_600_000) < small * 8 * 3)
})

function chunksOf(whole: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    whole.subarray(index * size, (index + 1) * size),
  )
}

test.run()
