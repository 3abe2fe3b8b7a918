import * as assert from 'uvu/assert'
import { type BlockedEvent, defineActor, startActor, subscribe } from '../../../runtime/index.js'
import { suite } from '../../support/suite.js'

const test = suite('watchdog', { timeout: 20_000 })

test('a loop that does not turn is told of once, with whose code it was and its stack', async (t) => {
  const hog = defineActor({
    name: 'hog',
    init: () => ({}),
    call: {
      block: (_state, ms: number) => spinFor(ms),
    },
  })
  const ref = await startActor(hog, undefined, { onBlocked: 'report', blockedAfter: 200, logger: false })
  t.after(() => ref.stop())
  const found: BlockedEvent[] = []
  const told = new Promise<void>((resolve) => {
    t.after(
      subscribe('blocked', (event) => {
        found.push(event)
        if (event.owner === 'hog') resolve()
      }),
    )
  })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await ref.call('block', 1_000, { timeout: Number.POSITIVE_INFINITY })
  await told
  const event = found.find(({ owner }) => owner === 'hog')
  assert.match(String(event?.stack.join('\n')), /spinFor \(.*watchdog\.test/)
  assert.ok(Number(event?.ms) >= 200)
})

test.run()

/** By the processor's time: of what a busy machine gives to others nobody is told. */
function spinFor(ms: number): void {
  const start = process.cpuUsage()
  const used = (): number => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
  while (used() < ms);
}
