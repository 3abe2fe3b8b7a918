import * as assert from 'uvu/assert'
import { RestartWindow } from '../../../runtime/supervision/restart-window.js'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('restart window')

/** Which of the restarts at these times are allowed. */
function allowed(intensity: number, periodMs: number, times: number[]): boolean[] {
  const window = new RestartWindow(intensity, periodMs)
  return times.map((time) => window.add(time))
}

test('OTP-49 intensity N allows N restarts within the period and not one more', () => {
  assert.equal(allowed(0, 1_000, [0]), [false])
  assert.equal(allowed(1, 1_000, [0, 10]), [true, false])
  assert.equal(allowed(3, 1_000, [0, 1, 2, 3]), [true, true, true, false])
})

test('OTP-49 OTP-58 a restart leaves the window once older than the period', () => {
  assert.equal(allowed(2, 1_000, [0, 600, 1_001, 1_500]), [true, true, true, false])
  assert.equal(allowed(1, 1_000, [0, 1_001, 2_002, 3_003]), [true, true, true, true])
})

test('OTP-50 the period is counted in milliseconds, both ends included', () => {
  assert.equal(allowed(1, 1_000, [0, 1_000]), [true, false])
  assert.equal(allowed(1, 1_000, [0, 1_000.5]), [true, true])
})

test('OTP-49 JS-5 the window agrees with the OTP rule over many random histories', () => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let history = 0; history < 500; history++) {
    const [intensity, periodMs] = [random(6), 1 + random(50)]
    const window = new RestartWindow(intensity, periodMs)
    let times: number[] = []
    for (let now = 0, i = 0; i < 60; i++, now += random(20)) {
      times = [...times.filter((time) => now - time <= periodMs), now]
      const left = Math.max(0, intensity - times.length)
      assert.is(window.add(now), times.length <= intensity, `${intensity} in ${periodMs} at ${now}`)
      assert.is(window.left(now), left)
    }
  }
})

test('OTP-59 a huge or infinite intensity costs no more than a small one', () => {
  assert.ok(allowed(Number.POSITIVE_INFINITY, 1_000, [0, 0, 0, 0]).every(Boolean))
  const window = new RestartWindow(1_000_000, 1_000)
  const start = cpuTime()
  for (let i = 0; i < 500_000; i++) window.add(i / 1_000)
  // A scan of all times at each restart needs minutes.
  assert.ok(cpuTime() - start < 2_000)
  assert.is(new RestartWindow(Number.POSITIVE_INFINITY, 1).left(0), Number.POSITIVE_INFINITY)
})

test('OTP-59 the ring of restart times answers as a list of all of them would', () => {
  let seed = 1
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let run = 0; run < 500; run++) {
    const [intensity, periodMs] = [random(6), 1 + random(50)]
    const window = new RestartWindow(intensity, periodMs)
    const all: number[] = []
    for (let now = 0, i = 0; i < 30; i++, now += random(30)) {
      all.push(now)
      const recent = all.filter((time) => time >= now - periodMs).length
      const left = Math.max(0, intensity - recent)
      assert.is(window.add(now), recent <= intensity, `run ${run}: add at ${now}`)
      assert.is(window.left(now), left, `run ${run}: left at ${now}`)
      if (recent > intensity) break
    }
  }
})

test.run()
