import * as assert from 'uvu/assert'
import { systemClock } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('system clock')

const day = 86_400_000

test('now never goes back and counts milliseconds', () => {
  const first = systemClock.now()
  const second = systemClock.now()
  assert.ok(second >= first && second - first < 1_000)
})

test('short waits and waits beyond 24.8 days fire in time and can be cleared', async () => {
  const fired: string[] = []
  const waits = [
    systemClock.setTimeout(() => fired.push('forty days'), 40 * day),
    systemClock.setTimeout(() => fired.push('for ever'), Number.POSITIVE_INFINITY),
    systemClock.setTimeout(() => fired.push('taken back'), 1),
  ]
  systemClock.clearTimeout(waits[2])
  await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 5))
  assert.equal(fired, [])
  for (const wait of waits) systemClock.clearTimeout(wait)
})

test.run()
