import * as assert from 'uvu/assert'
import { Deadline, Deadlines } from '../../runtime/deadlines.js'
import { createFakeClock, type FakeClock } from '../../runtime/fake-clock.js'
import { suite } from '../support/suite.js'

const test = suite('deadlines')

class Probe extends Deadline {
  readonly #expired: () => void

  constructor(expired: () => void) {
    super()
    this.#expired = expired
  }

  expire(): void {
    this.#expired()
  }
}

function probes(clock: FakeClock) {
  const deadlines = new Deadlines(clock)
  const fired: [string, number][] = []
  const arm = (name: string, ms: number): Probe => {
    const probe = new Probe(() => fired.push([name, clock.now()]))
    deadlines.arm(probe, ms)
    return probe
  }
  return { deadlines, fired, arm }
}

test('a deadline fires once, never early and at most 16 ms late', async () => {
  const clock = createFakeClock()
  const { fired, arm } = probes(clock)
  const times: [string, number][] = []
  for (const [offset, ms] of [
    [0, 100],
    [7, 100],
    [3, 5_000],
    [1, 0],
    [5, 33.3],
    [90, 1],
  ] as const) {
    await clock.advance(offset)
    arm(`${times.length}`, ms)
    times.push([`${times.length}`, clock.now() + ms])
  }
  await clock.advance(6_000)
  assert.is(fired.length, times.length)
  for (const [name, at] of fired) {
    const due = times[Number(name)]?.[1] ?? Number.NaN
    assert.ok(at >= due && at <= due + 16, `${name}: due ${due}, fired ${at}`)
  }
})

test('what was disarmed does not fire, in the middle of its lane, at its ends, and twice is harmless', async () => {
  const clock = createFakeClock()
  const { deadlines, fired, arm } = probes(clock)
  const armed = ['a', 'b', 'c', 'd'].map((name) => arm(name, 50))
  for (const i of [1, 0, 3, 3]) deadlines.disarm(armed[i] as Probe)
  deadlines.disarm(new Probe(() => {}))
  await clock.advance(100)
  assert.equal(
    fired.map(([name]) => name),
    ['c'],
  )
})

test('an expiry may disarm others and arm new ones', async () => {
  const clock = createFakeClock()
  const { deadlines, fired, arm } = probes(clock)
  const others: Probe[] = []
  const first = new Probe(() => {
    for (const other of others) deadlines.disarm(other)
    arm('new, same time', 20)
    arm('new, other time', 40)
  })
  deadlines.arm(first, 20)
  others.push(arm('disarmed', 20), arm('disarmed too', 24))
  await clock.advance(200)
  assert.equal(
    fired.map(([name]) => name),
    ['new, same time', 'new, other time'],
  )
})

test('one timer serves all, and only while something waits', async () => {
  const clock = createFakeClock()
  const { deadlines, arm } = probes(clock)
  assert.is(clock.pending, 0)
  const armed = Array.from({ length: 100 }, (_, i) => arm('x', 1_000 + i))
  assert.is(clock.pending, 1)
  await clock.advance(500)
  assert.is(clock.pending, 1)
  for (const probe of armed) deadlines.disarm(probe)
  await clock.advance(16)
  assert.is(clock.pending, 0)
  arm('again', 5)
  assert.is(clock.pending, 1)
  await clock.advance(32)
  assert.is(clock.pending, 0)
})

test('an infinite deadline never fires and needs no timer', async () => {
  const clock = createFakeClock()
  const { fired, arm } = probes(clock)
  arm('never', Number.POSITIVE_INFINITY)
  await clock.advance(100_000)
  assert.equal([fired, clock.pending], [[], 0])
})

test.run()
