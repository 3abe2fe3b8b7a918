import * as assert from 'uvu/assert'
import { crash, createFakeClock } from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import { Notes, startHost, thrown } from '../_actors.js'

const test = suite('timers')

test('OTP-110 sendAfter delivers its payload once, after its time and in time order', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  host.ctx.sendAfter(30, 'late')
  host.ctx.sendAfter(10, 'early')
  host.ctx.sendAfter(0, 'at once')
  await clock.advance(0)
  assert.equal(host.messages.seen, ['at once'])
  await clock.advance(9)
  assert.equal(host.messages.seen, ['at once'])
  await clock.advance(1)
  assert.equal(host.messages.seen, ['at once', 'early'])
  await clock.advance(1_000)
  assert.equal(host.messages.seen, ['at once', 'early', 'late'])
})

test('OTP-110 cancel answers the time left, or false if fired or cancelled', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const timer = host.ctx.sendAfter(100, 'never')
  const fired = host.ctx.sendAfter(5, 'fired')
  await clock.advance(30)
  assert.is(timer.cancel(), 70)
  assert.is(timer.cancel(), false)
  assert.is(fired.cancel(), false)
  await clock.advance(1_000)
  assert.equal(host.messages.seen, ['fired'])
  assert.is(clock.pending, 0)
})

test('OTP-110 the timer of a dead actor delivers nothing and is given back', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const fired = new Notes<string>()
  const timer = host.ctx.sendAfter(10, 'never')
  const { ctx } = host
  ctx.clock.setTimeout(() => fired.add('never'), 10)
  assert.is(clock.pending, 2)
  host.ref.kill()
  assert.is(clock.pending, 0)
  assert.is(timer.cancel(), false)
  await clock.advance(20)
  assert.equal([host.messages.seen, fired.seen], [[], []])
})

test('a throw in a ctx.clock callback is a crash of the actor', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const error = new Error('in a timer')
  assert.is(host.ctx.clock.now(), 0)
  host.ctx.clock.setTimeout(() => {
    throw error
  }, 10)
  await clock.advance(10)
  assert.equal(host.ref.reason, crash(error))
})

test('a ctx.clock timer can be cleared once or twice; other values are ignored', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const fired = new Notes<string>()
  const timers = host.ctx.clock
  const timer = timers.setTimeout(() => fired.add('never'), 10)
  timers.clearTimeout(timer)
  timers.clearTimeout(timer)
  timers.clearTimeout(undefined)
  timers.clearTimeout(7)
  await clock.advance(20)
  assert.equal([fired.seen, clock.pending, host.ref.alive], [[], 0, true])
})

test('the clock of a dead context sets no timer and counts a refusal', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const timers = host.ctx.clock
  host.ref.kill()
  const fired = new Notes<string>()
  timers.clearTimeout(timers.setTimeout(() => fired.add('never'), 1))
  timers.setTimeout(() => fired.add('never'), 1)
  await clock.advance(5)
  assert.equal([fired.seen, clock.pending], [[], 0])
  assert.is(processOf(host.ref).tree.afterlife.refused, 2)
})

test('sendAfter refuses a wrong time', async (t) => {
  const host = await startHost(t)
  for (const ms of [-1, Number.NaN, '10' as unknown as number]) {
    const { message } = thrown(() => host.ctx.sendAfter(ms), 'BAD_OPTION')
    assert.match(message, /^sendAfter: expected milliseconds of 0 or more, got /)
  }
})

test('a fired ctx.clock timer is not cleared when its actor ends, a pending one is', async (t) => {
  const clock = createFakeClock()
  const cleared: unknown[] = []
  const watched = Object.assign(Object.create(clock) as typeof clock, {
    clearTimeout: (timer: unknown) => {
      cleared.push(timer)
      clock.clearTimeout(timer)
    },
  })
  const host = await startHost(t, { clock: watched })
  host.ctx.clock.setTimeout(() => {}, 10)
  host.ctx.clock.setTimeout(() => {}, 20)
  await clock.advance(10)
  cleared.length = 0
  host.ref.kill()
  assert.is(cleared.length, 1)
  assert.is(clock.pending, 0)
})

test('ctx.clock has the grain of the clock of its tree, if any', async (t) => {
  const { now, setTimeout, clearTimeout } = createFakeClock()
  for (const [grain, expected] of [
    [16, 16],
    [undefined, 0],
  ] as const) {
    const clock = { now, setTimeout, clearTimeout, ...(grain !== undefined && { grain }) }
    assert.is((await startHost(t, { clock })).ctx.clock.grain, expected)
  }
})

test.run()
