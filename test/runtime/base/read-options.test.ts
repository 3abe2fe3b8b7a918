import * as assert from 'uvu/assert'
import { RuntimeError } from 'caduceus/runtime'
import { optionError } from '../../../runtime/base/errors.js'
import { optionReaders, orElse } from '../../../runtime/base/read-options.js'
import { suite } from '../../support/suite.js'

const test = suite('readers of options')

const read = optionReaders(optionError)
const nothing = undefined

test('a value that fits is returned, and a default for one that is left out', () => {
  assert.is(read.readMs(1, 'ms'), 1)
  assert.is(read.readMs(Number.POSITIVE_INFINITY, 'ms'), Number.POSITIVE_INFINITY)
  assert.is(read.readDelay(0, 'delay'), 0)
  assert.is(read.readCount(nothing, 'count', 5), 5)
  assert.is(read.readLimit(Number.POSITIVE_INFINITY, 'limit'), Number.POSITIVE_INFINITY)
  assert.is(read.readAmount(0, 'amount'), 0)
  assert.is(read.readText('a', 'text'), 'a')
  assert.is(read.readFlag(nothing, 'flag', false), false)
  assert.is(read.readWord('a', 'word', ['a', 'b']), 'a')
  assert.equal(read.readFields({ size: 1 }, 'options', ['size']), { size: 1 })
})

test('anything else is refused by the name of its field, with what was expected', () => {
  const refusals: [() => unknown, string][] = [
    [() => read.readMs(0, 'ms'), 'ms: expected milliseconds above 0, got 0'],
    [() => read.readMs(Number.NaN, 'ms', 1), 'ms: expected milliseconds above 0, got NaN'],
    [() => read.readDelay(-1, 'delay'), 'delay: expected milliseconds of 0 or more, got -1'],
    [() => read.readCount(1.5, 'count'), 'count: expected a whole number above 0, got 1.5'],
    [
      () => read.readCount(Number.POSITIVE_INFINITY, 'count'),
      'count: expected a whole number above 0, got Infinity',
    ],
    [() => read.readLimit(0, 'limit'), 'limit: expected a whole number above 0, or Infinity, got 0'],
    [
      () => read.readAmount(-1, 'amount'),
      'amount: expected a whole number of 0 or more, or Infinity, got -1',
    ],
    [() => read.readText('', 'text'), 'text: expected a non-empty string, got ""'],
    [() => read.readFlag(nothing, 'flag'), 'flag: expected true or false, got undefined'],
    [() => read.readFunction({}, 'fn'), 'fn: expected a function, got an object with keys []'],
    [() => read.readWord('c', 'word', ['a', 'b']), "word: expected 'a' or 'b', got \"c\""],
    [() => read.readObject([], 'options'), 'options: expected an object, got an array of 0'],
    [
      () => read.readFields({ siz: 1 }, 'options', ['size'], 'in.'),
      'in.siz: expected an option among size (did you mean "in.size"?), got "siz"',
    ],
  ]
  for (const [refused, message] of refusals) {
    const error = errorOf(refused)
    assert.instance(error, RuntimeError)
    assert.is(error.message, message)
    assert.is(error.code, 'BAD_OPTION')
    assert.equal(error.data, { field: message.slice(0, message.indexOf(':')) })
  }
})

test('options are read by a table, and groups of them by their path', () => {
  const limits = read.readGroup({ size: orElse(read.readCount, 5) })
  const table = { name: read.readText, limits }
  assert.equal(read.readOptions({ name: 'a' }, table), { name: 'a', limits: { size: 5 } })
  assert.equal(read.readOptions({ name: 'a', limits: { size: 1 } }, table).limits, { size: 1 })
  const refusals: [object, string][] = [
    [{}, 'name: expected a non-empty string, got undefined'],
    [{ name: 'a', limits: 5 }, 'limits: expected an object, got 5'],
    [{ name: 'a', limits: null }, 'limits: expected an object, got null'],
    [{ name: 'a', limits: { size: 0 } }, 'limits.size: expected a whole number above 0, got 0'],
    [
      { name: 'a', limits: { sise: 1 } },
      'limits.sise: expected an option among size (did you mean "limits.size"?), got "sise"',
    ],
  ]
  for (const [given, message] of refusals)
    assert.is(errorOf(() => read.readOptions(given, table)).message, message)
})

test.run()

function errorOf(fn: () => unknown): RuntimeError {
  try {
    fn()
  } catch (error) {
    return error as RuntimeError
  }
  throw new Error('expected a throw')
}
