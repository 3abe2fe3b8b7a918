import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('fake clock')

test('time stands still until it is moved', async () => {
  const clock = createFakeClock(100)
  assert.is(clock.now(), 100)
  await clock.advance(25)
  assert.is(clock.now(), 125)
})

test('timers fire in the order of their times, equal ones in the order they were set', async () => {
  const clock = createFakeClock()
  const fired: string[] = []
  for (const [name, ms] of [
    ['c', 20],
    ['a', 10],
    ['b', 10],
    ['never', 31],
    ['d', 30],
  ] as const)
    clock.setTimeout(() => fired.push(`${name} at ${clock.now()}`), ms)
  await clock.advance(30)
  assert.equal(fired, ['a at 10', 'b at 10', 'c at 20', 'd at 30'])
  assert.is(clock.pending, 1)
})

test('a timer set by a timer fires in the same advance when it falls due', async () => {
  const clock = createFakeClock()
  const fired: number[] = []
  const again = (): void => {
    fired.push(clock.now())
    clock.setTimeout(again, 10)
  }
  clock.setTimeout(again, 10)
  await clock.advance(35)
  assert.equal(fired, [10, 20, 30])
})

test('promises of a timer settle before the next timer fires', async () => {
  const clock = createFakeClock()
  const order: string[] = []
  const work = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) await null
    order.push('promises')
  }
  clock.setTimeout(() => void work(), 1)
  clock.setTimeout(() => order.push('next timer'), 2)
  await clock.advance(2)
  assert.equal(order, ['promises', 'next timer'])
})

test('a cleared timer does not fire, even if cleared in the same moment', async () => {
  const clock = createFakeClock()
  const fired: string[] = []
  const timers: unknown[] = []
  clock.setTimeout(() => clock.clearTimeout(timers[0]), 5)
  timers.push(clock.setTimeout(() => fired.push('never'), 5))
  clock.clearTimeout(clock.setTimeout(() => fired.push('never'), 1))
  clock.clearTimeout('nonsense')
  await clock.advance(10)
  assert.equal([fired, clock.pending], [[], 0])
})

test.run()
