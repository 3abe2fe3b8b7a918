// time limit: 300 s
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { reportOf, runSim } from './_run-sim.js'

const test = suite('300 worlds', { timeout: 240_000 })

test('keep every promise under faults', async (t) => {
  const args = ['--seeds', '1-300', '--operations', '40', '--jobs', '2', '--json', '--shrink-seconds', '20']
  const { code, stdout, stderr } = await runSim(t, ...args)
  assert.is(code, 0, stderr)
  const { seeds, violations } = reportOf(stdout)
  assert.is(seeds, 300)
  assert.equal(violations, {}, stderr)
})

test.run()
