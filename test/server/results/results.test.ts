import * as assert from 'uvu/assert'
import { type ServerError, text } from 'caduceus/server'
import { toPromptResult, toReadResult, toToolResult } from '../../../server/results/results.js'
import { suite } from '../../support/suite.js'

const test = suite('server/results/results')

test('a tool may return text, blocks, a whole result or nothing, and nothing else', () => {
  const block = text('hi')
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
  assert.equal(toToolResult('x', 'hi'), { content: [block] })
  assert.equal(toToolResult('x', block), { content: [block] })
  assert.equal(toToolResult('x', [block, image]), { content: [block, image] })
  assert.equal(toToolResult('x', []), { content: [] })
  assert.equal(toToolResult('x', undefined), { content: [] })
  const whole = { content: [block], structuredContent: { a: 1 }, isError: true, _meta: { b: 2 } }
  assert.equal(toToolResult('x', whole), whole)
  for (const bad of [
    null,
    1,
    true,
    {},
    { text: 'hi' },
    ['hi'],
    [{}],
    { content: 'hi' },
    { content: [block], isError: 'yes' },
  ]) {
    assert.throws(
      () => toToolResult('x', bad),
      (error: ServerError) =>
        error.code === 'BAD_RESULT' && /^tool "x" returned no result: /.test(error.message),
    )
  }
})

const asked = { uri: 'x:a', mimeType: undefined }
const badResults: [() => unknown, RegExp][] = [
  [() => toReadResult(asked, 7), /^resource "x:a" returned no result: expected a string, bytes, contents/],
  [() => toReadResult(asked, { contents: 'x' }), /contents: expected an array/],
  [() => toReadResult(asked, { uri: 'x:a' }), /contents\[0\]/],
  [() => toPromptResult({ name: 'p', description: undefined }, undefined), /^prompt "p" returned no result/],
  [() => toPromptResult({ name: 'p', description: undefined }, [{ role: 'robot' }]), /messages\[0\]/],
]

for (const [make, message] of badResults) {
  test(`what nobody could read is a bad result: ${message.source}`, () => {
    assert.throws(make, (error: ServerError) => error.code === 'BAD_RESULT' && message.test(error.message))
  })
}

test.run()
