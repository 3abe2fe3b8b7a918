import * as assert from 'uvu/assert'
import { createLineDecoder } from '../../../protocol/wire/lines.js'
import { compilePattern } from '../../../protocol/schema/pattern/pattern.js'
import { createEventDecoder } from '../../../protocol/wire/sse.js'
import { heapInUse } from '../../support/collected.js'
import { suite } from '../../support/suite.js'

const test = suite('protocol: what is kept is bounded', { timeout: 20_000 })

function matcher(source: string) {
  const pattern = compilePattern(source, () => {})
  if (typeof pattern === 'string') throw new Error(pattern)
  return pattern
}

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

test('cached pattern states are dropped at their limit', async () => {
  const pattern = matcher('(?:a.{3}b|.c)x')
  const before = await heapInUse()
  for (let start = 0; start < 20; start++) {
    const texts = Array.from({ length: 30_000 }, (_, index) =>
      String.fromCodePoint(0x20000 + start * 30_000 + index),
    )
    assert.is(pattern.test(texts.join('')), false)
  }
  const more = (await heapInUse()) - before
  assert.ok(more < 16_000_000, `${more} bytes more`)
  assert.is(pattern.test('acccbx'), true)
})

test('the word class of a pattern is letters, digits and underscore, ends included', () => {
  const word = matcher('(?:^|(?=x)x*)\\b(?:a|z|A|Z|0|9|_)\\b$')
  for (const character of ['a', 'z', 'A', 'Z', '0', '9', '_']) {
    assert.is(matcher('^(?:.|x)\\b$').test(character), true, character)
    assert.is(word.test(character), true, character)
  }
  for (const character of ['`', '{', '@', '[', '/', ':', '^', 'é', '-'])
    assert.is(matcher('^(?:.|x)\\b$').test(character), false, character)
})

test.run()
