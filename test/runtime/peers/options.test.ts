import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { definePeer, type PeerOptions, RuntimeError } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('options of a peer')

const module = new URL('./_counter.js', import.meta.url)
const good: PeerOptions = { kind: 'thread', module }

function refusal(options: object): RuntimeError {
  try {
    definePeer({ ...good, ...options })
  } catch (error) {
    if (error instanceof RuntimeError) return error
    throw error
  }
  throw new Error(`it was taken: ${JSON.stringify(options)}`)
}

test('what cannot work is refused before anything starts, and names its field', () => {
  class Other {}
  for (const [field, expected, ...values] of [
    ['kind', "'thread' or 'process'", undefined, 'worker', 1],
    ['module', 'a file: URL or an absolute path', undefined, 'relative.js', 'https://h/x.js', 5],
    ['module', 'the URL of a file that is there', new URL('./none.js', import.meta.url), '/none.js'],
    ['name', 'a non-empty string', '', 5, null],
    ['errors', 'an object of classes of errors', null, 5, { Other }, { a: () => {} }, { a: 'Error' }],
    ['env', 'an object of strings', null, 5, { A: 1 }],
    ['execArgv', 'an array of strings', 'x', [1], { length: 0 }],
    ['memory', 'a whole number of bytes above 0', 0, -1, 1.5, '1', Number.POSITIVE_INFINITY],
    ['maxMessageBytes', 'a whole number of bytes above 0, or Infinity', 0, -1, 1.5, '1', Number.NaN],
    ['blockedTimeout', 'milliseconds of 100 or more', 99, '100', Number.NaN, null],
  ] as const)
    for (const value of values) {
      const { code, data, message } = refusal({ [field]: value })
      assert.equal([code, (data as { field: string }).field], ['BAD_OPTION', field], message)
      assert.ok(message.includes(`${field}: expected ${expected}`), message)
    }
  assert.is(refusal({ modul: 1 }).code, 'BAD_OPTION')
})

test('the least that is allowed is taken', () => {
  class Own extends Error {}
  for (const options of [
    { kind: 'process' },
    { module: String(module) },
    { module: fileURLToPath(module) },
    { errors: {} },
    { errors: { Own } },
    { env: {} },
    { env: { A: 'b' } },
    { execArgv: [] },
    { execArgv: ['--no-warnings'] },
    { memory: 1 },
    { maxMessageBytes: 1 },
    { maxMessageBytes: Number.POSITIVE_INFINITY },
    { blockedTimeout: 100 },
    { blockedTimeout: Number.POSITIVE_INFINITY },
  ] as const)
    definePeer({ ...good, ...options })
})

test('a peer is called like the file of its module, unless told', () => {
  const nameOf = (options: PeerOptions) => (definePeer(options) as { readonly name: string }).name
  assert.is(nameOf(good), '_counter')
  assert.is(nameOf({ ...good, name: 'other' }), 'other')
})

test.run()
