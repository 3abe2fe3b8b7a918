import * as assert from 'uvu/assert'
import { PaceMeter } from '../../scripts/soak/pace.js'
import { Violations } from '../../scripts/soak/violations.js'
import { suite } from '../support/suite.js'

const test = suite('the pace of the soak, and what it finds wrong')

test('what is wrong in more than its time is always described, and first', () => {
  const violations = new Violations()
  for (let i = 0; i < 5_000; i++) violations.add('late', `call ${i}`)
  for (let i = 0; i < 79; i++) violations.add('loss without a cut', `call ${i}`)
  assert.equal([violations.count, violations.byKind.get('late')], [5_079, 5_000])
  const serious = violations.list.filter((line) => line.startsWith('loss without a cut'))
  assert.is(serious.length, 79)
  assert.is(violations.list.indexOf('loss without a cut: call 0'), 0)
  assert.is(violations.list.length, 99)
})

test('time passes as fast as the machine has it for us: not while the loop is late, and slowly while others work, too', () => {
  const meter = new PaceMeter(0)
  meter.tick(50, 50)
  assert.is(meter.at(50, 50), 50)
  meter.tick(1_000, 50)
  assert.is(meter.at(1_000, 50), 100)
  meter.witnessed(0.25, 1_000, 50)
  meter.tick(1_050, 50)
  assert.is(meter.at(1_090, 50), 122.5)
  assert.equal(meter.speeds(), { mean: 0.25, least: 0.25 })
  meter.witnessed(0.01, 1_090, 50)
  meter.tick(1_130, 50)
  assert.is(meter.at(1_130, 50), 126.5)
})

test('time never goes back, whatever the witness says and whenever it says it', () => {
  const meter = new PaceMeter(0)
  let last = 0
  for (let now = 1; now < 2_000; now += 7) {
    if (now % 3 === 0) meter.witnessed((now % 11) / 10, now, 50)
    if (now % 5 === 0) meter.tick(now, 50)
    const at = meter.at(now, 50)
    assert.ok(at >= last, `${at} after ${last}, at ${now}`)
    last = at
  }
})

test.run()
