import * as assert from 'uvu/assert'
import { kindOf } from '../../protocol/wire/json.js'
import { sentResults } from '../../protocol/messages/sent.js'
import { suite } from '../support/suite.js'

const test = suite('protocol: what is sent')

function problem(method: string, result: unknown): string | undefined {
  const found = sentResults[method]?.(result)
  return found && `${found.path}: ${found.expected}, ${found.got}`
}

const call = (block: object): string | undefined => problem('tools/call', { content: [block] })
const image = (data: unknown): string | undefined => call({ type: 'image', mimeType: 'image/png', data })
const noted = (annotations: object): string | undefined => call({ type: 'text', text: '', annotations })

test('data of an image is base64', () => {
  for (const data of ['', 'AAAA', 'AA==', 'AAA=', 'a+/9']) assert.is(image(data), undefined, data)
  for (const [data, got] of [
    ['AAA', 'other text'],
    ['AA-_', 'other text'],
    ['A===', 'other text'],
    ['AA==AAAA', 'other text'],
    [5, kindOf(5)],
    [undefined, kindOf(undefined)],
  ] as const)
    assert.is(image(data), `.content[0].data: base64, ${got}`)
  assert.ok(problem('resources/read', { contents: [{ uri: 'a:b', blob: 'A' }] })?.includes('blob'))
  assert.is(problem('resources/read', { contents: [{ uri: 'a:b', text: 'A' }] }), undefined)
})

test('a priority is a number from 0 to 1, both included', () => {
  for (const priority of [0, 0.5, 1, undefined]) assert.is(noted({ priority }), undefined, String(priority))
  for (const priority of [-0.1, 1.1, '1', Number.NaN])
    assert.ok(noted({ priority })?.includes('a number from 0 to 1'), String(priority))
})

test('lastModified needs a time zone', () => {
  assert.is(noted({ lastModified: '2025-01-12T15:00:58Z' }), undefined)
  for (const lastModified of ['2025-01-12T15:00:58', 'yesterday', 5])
    assert.ok(noted({ lastModified })?.includes('a moment such as'), String(lastModified))
})

test('a total is a whole number', () => {
  const total = (value: unknown) =>
    problem('completion/complete', { completion: { values: [], total: value } })
  for (const value of [0, 5, undefined]) assert.is(total(value), undefined)
  for (const value of [1.5, '5', Number.POSITIVE_INFINITY])
    assert.ok(total(value)?.includes('a whole number'))
})

test.run()
