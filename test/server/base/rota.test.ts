import * as assert from 'uvu/assert'
import { Rota } from '../../../server/base/rota.js'
import { suite } from '../../support/suite.js'

const test = suite('rota')

test('callers take turns, and one piece of work is done in a turn of the event loop', async () => {
  const waiting: (() => void)[] = []
  const rota = new Rota({ setImmediate: (fn: () => void) => waiting.push(fn) })
  const done: string[] = []
  for (const [caller, count] of [
    ['ada', 3],
    ['bob', 1],
    ['eve', 2],
  ] as const)
    for (let n = 1; n <= count; n++) void rota.next(caller).then(() => done.push(`${caller} ${n}`))
  let most = 0
  while (waiting.length > 0) {
    const before = done.length
    waiting.shift()?.()
    await Promise.resolve()
    await Promise.resolve()
    most = Math.max(most, done.length - before)
  }
  assert.equal(done, ['ada 1', 'bob 1', 'eve 1', 'ada 2', 'eve 2', 'ada 3'])
  assert.is(most, 1)
  // and again, when all have had theirs
  const next = rota.next('ada')
  waiting.shift()?.()
  await next
  assert.is(waiting.length, 0)
})

test.run()
