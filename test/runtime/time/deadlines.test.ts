import * as assert from 'uvu/assert'
import { createFakeClock, type FakeClock } from 'caduceus/runtime'
import { Deadline, Deadlines } from '../../../runtime/time/deadlines.js'
import { suite } from '../../support/suite.js'

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

/** As the clock of this machine is: the deadlines of a tree share ticks. */
function coarseClock(): FakeClock {
  return Object.assign(Object.create(createFakeClock()) as FakeClock, { grain: 16 })
}

test('with clock grain a deadline fires once, never early, at most a grain late', async () => {
  const clock = coarseClock()
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

test('with clock grain a deadline due in a standstill is held for as long again', () => {
  // one timer, which the loop serves after so many ms
  let [now, tick] = [0, () => {}]
  const serveAfter = (ms: number): void => {
    now += ms
    tick()
  }
  const deadlines = new Deadlines({
    grain: 16,
    now: () => now,
    setTimeout(fn) {
      tick = fn
    },
    clearTimeout() {},
  })
  const fired: string[] = []
  const arm = (name: string): Probe => {
    const probe = new Probe(() => fired.push(name))
    deadlines.arm(probe, 100)
    return probe
  }
  const answered = arm('answered')
  arm('lost')
  serveAfter(300)
  for (let n = 0; n < 17; n += 1) serveAfter(16)
  assert.equal(fired, [])
  // between two ticks the loop reads
  deadlines.disarm(answered)
  serveAfter(16)
  assert.equal(fired, ['lost'])
  // one second at most, and a loop that stands still again holds nobody for ever
  arm('later')
  serveAfter(10_000)
  serveAfter(990)
  assert.equal(fired, ['lost'])
  serveAfter(10_000)
  assert.equal(fired, ['lost', 'later'])
  arm('last')
  for (let n = 0; n < 2; n += 1) serveAfter(16 + 50)
  assert.equal(fired, ['lost', 'later', 'last'])
})

test('with clock grain the timer is cleared only when the tree ends and nothing waits', async () => {
  const clock = coarseClock()
  const { deadlines, fired, arm } = probes(clock)
  const [first, second] = [arm('first', 100), arm('second', 200)]
  deadlines.disarm(first)
  deadlines.end()
  assert.is(clock.pending, 1)
  deadlines.disarm(second)
  deadlines.end()
  assert.is(clock.pending, 0)
  await clock.advance(1_000)
  assert.equal(fired, [])
})

test('on an exact clock a deadline fires exactly at its time', async () => {
  const clock = createFakeClock()
  const { fired, arm } = probes(clock)
  const lengths = [60_000, 2_000, 1_000, 5_000, 100, 1, 0, 17, 33.3, 1_000]
  for (const ms of lengths) arm(`${ms}`, ms)
  await clock.advance(99)
  assert.equal(fired.splice(0), [
    ['0', 0],
    ['1', 1],
    ['17', 17],
    ['33.3', 33.3],
  ])
  await clock.advance(1)
  assert.equal(fired.splice(0), [['100', 100]])
  await clock.advance(900)
  assert.equal(fired.splice(0), [
    ['1000', 1_000],
    ['1000', 1_000],
  ])
  await clock.advance(59_000)
  assert.equal(fired, [
    ['2000', 2_000],
    ['5000', 5_000],
    ['60000', 60_000],
  ])
  assert.is(clock.pending, 0)
})

test('with an exact clock the timer goes with the last deadline and moves forward', async () => {
  const clock = createFakeClock()
  const { deadlines, fired, arm } = probes(clock)
  const late = arm('late', 1_000)
  const early = arm('early', 10)
  assert.is(clock.pending, 1)
  deadlines.disarm(early)
  await clock.advance(500)
  assert.equal([fired, clock.pending], [[], 1])
  deadlines.disarm(late)
  assert.is(clock.pending, 0)
  const again = new Probe(() => {
    fired.push(['again', clock.now()])
    if (clock.now() < 1_500) deadlines.arm(again, 500)
  })
  deadlines.arm(again, 500)
  await clock.advance(1_000)
  assert.equal(
    [fired, clock.pending],
    [
      [
        ['again', 1_000],
        ['again', 1_500],
      ],
      0,
    ],
  )
})

test('remaining times are exact on an exact clock, else rounded up', async () => {
  for (const [clock, due] of [
    [createFakeClock(), 123],
    [coarseClock(), 208],
  ] as const) {
    const fired: number[] = []
    const deadlines = new Deadlines(clock)
    deadlines.armRest(new Probe(() => fired.push(clock.now())), 123)
    await clock.advance(1_000)
    assert.equal(fired, [due])
  }
})

test('a disarmed deadline does not fire, and disarming twice is harmless', async () => {
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

test('one timer serves all deadlines, and only while one is pending', async () => {
  const clock = coarseClock()
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

test('a clock without a grain is exact', async () => {
  const exact = createFakeClock()
  const clock = { now: exact.now, setTimeout: exact.setTimeout, clearTimeout: exact.clearTimeout }
  const deadlines = new Deadlines(clock)
  const fired: number[] = []
  const probe = new Probe(() => fired.push(exact.now()))
  deadlines.arm(probe, 100)
  deadlines.armRest(new Probe(() => fired.push(exact.now())), 150)
  await exact.advance(1_000)
  assert.equal(fired, [100, 150])
  deadlines.arm(probe, 100)
  deadlines.disarm(probe)
  assert.is(exact.pending, 0)
})

test.run()
