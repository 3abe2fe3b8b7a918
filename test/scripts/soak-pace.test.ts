import * as assert from 'uvu/assert'
import { PaceMeter, speedOf, startPace } from '../../scripts/soak/pace.js'
import { Violations } from '../../scripts/soak/violations.js'
import { suite } from '../support/suite.js'

const test = suite('the pace of the soak, and what it finds wrong')

test('violations other than lateness are described in full and first', () => {
  const violations = new Violations()
  for (let i = 0; i < 5_000; i++) violations.add('late', `call ${i}`)
  for (let i = 0; i < 79; i++) violations.add('loss without a cut', `call ${i}`)
  assert.equal([violations.count, violations.byKind.get('late')], [5_079, 5_000])
  const serious = violations.list.filter((line) => line.startsWith('loss without a cut'))
  assert.is(serious.length, 79)
  assert.is(violations.list.indexOf('loss without a cut: call 0'), 0)
  assert.is(violations.list.length, 99)
})

test('time passes at the pace of the machine: slower for a late loop and other load', () => {
  const meter = new PaceMeter(0)
  meter.tick(50, 50)
  assert.is(meter.at(50, 50), 50)
  meter.tick(1_000, 50)
  assert.is(meter.at(1_000, 50), 100)
  meter.measured(0.25, 1_000, 50)
  meter.tick(1_050, 50)
  assert.is(meter.at(1_090, 50), 122.5)
  assert.equal(meter.speeds(), { mean: 0.25, least: 0.25 })
  meter.measured(0.01, 1_090, 50)
  meter.tick(1_130, 50)
  assert.is(meter.at(1_130, 50), 126.5)
})

test('time never goes back', () => {
  const meter = new PaceMeter(0)
  let last = 0
  for (let now = 1; now < 2_000; now += 7) {
    if (now % 3 === 0) meter.measured((now % 11) / 10, now, 50)
    if (now % 5 === 0) meter.tick(now, 50)
    const at = meter.at(now, 50)
    assert.ok(at >= last, `${at} after ${last}, at ${now}`)
    last = at
  }
})

test('programs waiting for a processor slow time down; new and gone ones do not', () => {
  const before = new Map([
    [1, { ran: 100, waited: 0 }],
    [2, { ran: 50, waited: 20 }],
  ])
  const after = new Map([
    [1, { ran: 130, waited: 60 }],
    [3, { ran: 5_000, waited: 9_000 }],
  ])
  assert.is(speedOf(before, after), 1 / 3)
  assert.is(speedOf(before, before), 1)
})

test('an ended program is skipped', async () => {
  const pace = startPace(() => [process.pid, 2 ** 30])
  const first = pace.now()
  while (pace.now() - first < 300) await new Promise((resolve) => setTimeout(resolve, 20))
  pace.stop()
  assert.ok(pace.speeds().least > 0)
})

test.run()
