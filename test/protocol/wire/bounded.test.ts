import * as assert from 'uvu/assert'
import { createEventDecoder, createLineDecoder } from 'caduceus/protocol'
import { heapInUse } from '../../support/collected.js'
import { suite } from '../../support/suite.js'

const test = suite('protocol: what is kept is bounded', { timeout: 20_000 })

test('a too long line or event is reported once by code, and its bytes are freed', async () => {
  await heapInUse()
  const before = process.memoryUsage().arrayBuffers
  const chunk = new Uint8Array(1024 * 1024).fill(0x61)
  const most = 4 * 1024 * 1024
  const lines = createLineDecoder({ maxMessageBytes: most })
  const end = Uint8Array.of(0x0a, 0x0a)
  const found = [...Array.from({ length: 12 }, () => lines.push(chunk)).flat(), ...lines.push(end)]
  const events = createEventDecoder({ maxMessageBytes: most })
  const told = [...Array.from({ length: 12 }, () => events.push(chunk)).flat(), ...events.push(end)]
  assert.equal(
    [...found, ...told].map((item) => 'error' in item && item.error.code),
    ['LINE_TOO_LONG', 'EVENT_TOO_LONG'],
  )
  await heapInUse()
  const more = process.memoryUsage().arrayBuffers - before - chunk.length
  assert.ok(more < 512 * 1024, `${more} bytes more`)
  assert.ok(lines.stats.errors === 1 && events !== undefined) // both are still there
})

test.run()
