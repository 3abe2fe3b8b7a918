import * as assert from 'uvu/assert'
import { ServerError } from 'caduceus/server'
import { toBeAwaited } from '../../../server/context/context.js'
import { suite } from '../../support/suite.js'

const test = suite('promises that were not awaited')

test('a promise used as a value throws what is missing, and can still be awaited', async () => {
  const promise = toBeAwaited('update', Promise.resolve(5))
  for (const use of [() => `${promise}`, () => Number(promise), () => JSON.stringify({ promise })])
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof ServerError &&
        error.code === 'BAD_RESULT' &&
        error.message === 'ctx.update(...) is a promise, and was used as a value: await it',
    )
  assert.is(await promise, 5)
})

test('its rejection is not also an unhandled one', async () => {
  const promise = toBeAwaited('get', Promise.reject(new Error('gone')))
  assert.throws(() => `${promise}`, 'ctx.get(...)')
  await new Promise((resolve) => setImmediate(resolve))
})

test.run()
