import * as interpreter from '@cfworker/json-schema'
import * as assert from 'uvu/assert'
import { compileCheck } from '../../../protocol/schema/check.js'
import { interpretedCheck } from '../../../protocol/schema/interpreted.js'
import { suite } from '../../support/suite.js'

const test = suite('interpreted JSON Schema')

const address = { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] }
const order = {
  type: 'object',
  properties: {
    amount: { type: 'integer', minimum: 1, maximum: 10 },
    size: { enum: ['s', 'm'] },
    code: { type: 'string', pattern: '^[a-z]+$', minLength: 2 },
    mail: { type: 'string', format: 'email' },
    items: { type: 'array', items: address, minItems: 1, uniqueItems: true },
    to: { $ref: '#/$defs/address' },
  },
  required: ['amount'],
  additionalProperties: false,
  $defs: { address },
}

test('it finds what the compiled check finds, in the same words', async () => {
  const compiled = await compileCheck(order)
  const interpreted = interpretedCheck(interpreter, order, '2020-12')
  for (const value of [
    { amount: 1 },
    { amount: 1, size: 's', code: 'ab', mail: 'no mail', items: [{ street: 'a' }], to: { street: 'b' } },
    {},
    { amount: 'one' },
    { amount: 0.5 },
    { amount: 0 },
    { amount: 11 },
    { amount: 1, size: 'l' },
    { amount: 1, code: 'A1' },
    { amount: 1, code: 'a' },
    { amount: 1, other: true },
    { amount: 1, items: [] },
    { amount: 1, items: [{}, { street: 5 }] },
    { amount: 1, to: {} },
    { amount: 1, to: { street: 5 } },
    { amount: 1, 'a/b c': 1 },
    'no object',
    [],
    null,
  ]) {
    const [own, theirs] = [interpreted(value), compiled(value)]
    const sorted = (issues: typeof own) => issues.map(({ path, message }) => `${path}: ${message}`).sort()
    assert.equal(sorted(own), sorted(theirs), JSON.stringify(value))
  }
})

test('names of every object are fields like any other', () => {
  const schema = { type: 'object', properties: { constructor: { type: 'string' } }, required: ['toString'] }
  const check = interpretedCheck(interpreter, schema, '2020-12')
  assert.equal(check({ toString: 1 }), [])
  assert.equal(check({}), [{ path: 'toString', message: 'is required' }])
})

test('a pattern is matched in linear time, and formats are not checked', () => {
  const check = interpretedCheck(
    interpreter,
    { type: 'string', pattern: '^(a+)+$', format: 'email' },
    '2020-12',
  )
  assert.is(check('a'.repeat(50)).length, 0)
  assert.is(check(`${'a'.repeat(50)}b`).length, 1)
  assert.not(Object.keys(interpreter.format).some((name) => name.startsWith('pattern ')))
})

test('what it cannot check is refused', () => {
  for (const schema of [{ patternProperties: { '^a': {} } }, { pattern: '(a)\\1' }])
    assert.throws(
      () => interpretedCheck(interpreter, schema, '2020-12'),
      (error: { code?: string }) => error.code === 'BAD_SCHEMA',
    )
})

test.slow('what takes too long is told as that, and ends at once', () => {
  const unique = interpretedCheck(interpreter, { type: 'array', uniqueItems: true }, '2020-12')
  assert.equal(unique([1, 2, 3]), [])
  assert.match(String(unique(Array.from({ length: 80_000 }, (_, at) => at))[0]?.message), /takes too long/)
  const $defs: Record<string, object> = { d0: { type: 'integer' } }
  for (let at = 1; at < 30; at += 1)
    $defs[`d${at}`] = { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${at - 1}` })) }
  const doubling = interpretedCheck(interpreter, { $ref: '#/$defs/d29', $defs }, '2020-12')
  assert.match(String(doubling(1)[0]?.message), /takes too long/)
})

test('what it cannot check is refused, and what others take is taken', () => {
  const one = (schema: object, value: unknown) =>
    interpretedCheck(interpreter, schema as never, '2020-12')(value)
  assert.throws(() => one({ $dynamicRef: '#n', $defs: {} }, 1), /\$dynamicRef is not checked/)
  assert.equal(one({ type: 'string', nullable: true }, null), [])
  assert.is(one({ contains: { type: 'string' }, maxContains: 2 }, [1, 2]).length > 0, true)
  const issues = one({ type: 'object', additionalProperties: { type: 'string' } }, { '\ud800': 'b' })
  assert.match(String(issues[0]?.message), /no text/)
})

test.run()
