import * as assert from 'uvu/assert'
import { toldCause } from '../../../client/calls/errors.js'
import { suite } from '../../support/suite.js'

const test = suite('the crash that a server tells')

const told = { name: 'RangeError', message: 'too far', stack: 'RangeError: too far\n    at there' }

test('is an error with the name, message, stack and causes of the one that there was', () => {
  const error = toldCause({ ...told, cause: { message: 'why', stack: 'Error: why' } })
  assert.instance(error, Error)
  assert.equal([error?.name, error?.message, error?.stack], [told.name, told.message, told.stack])
  assert.equal(Object.keys(error ?? {}), [])
  const cause = error?.cause as Error
  assert.equal(
    [cause.name, cause.message, cause.stack, cause.cause],
    ['Error', 'why', 'Error: why', undefined],
  )
})

test('is absent without a message, a stack or an object', () => {
  for (const given of [undefined, null, 'text', {}, []]) assert.is(toldCause(given), undefined)
  for (const field of ['message', 'stack'])
    for (const value of [undefined, 7]) assert.is(toldCause({ ...told, [field]: value }), undefined)
})

test('keeps at most five causes of a chain', () => {
  let error: object = { ...told, message: '6' }
  for (const message of ['5', '4', '3', '2', '1']) error = { ...told, message, cause: error }
  const chain: string[] = []
  for (let next = toldCause(error); next !== undefined; next = next.cause as Error | undefined)
    chain.push(next.message)
  assert.equal(chain, ['1', '2', '3', '4', '5'])
})

test.run()
