// second tier: quiet
// time limit: 200 s
import * as assert from 'uvu/assert'
import { type Outcome, runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('bench:gate', { timeout: 150_000 })

function gate(t: TestContext, ...args: string[]): Promise<Outcome> {
  return runNode([inRoot('scripts', 'run.mjs'), 'bench/gate', ...args], root, t.signal)
}

test('a quarter more work in each process is too much against the same tree', async (t) => {
  const { code, output } = await gate(t, '--only', 'stdio_c64', '--against', root, '--planted', '0.25')
  assert.match(output, /^stdio_c64 +1\.[1-9]\dx {2}of the tree before {2}too much$/m)
  assert.is(code, 1)
})

test('a row that is unknown is said, with exit code 2, and nothing is measured', async (t) => {
  const { code, output } = await gate(t, '--only', 'stdio_c65')
  assert.is(code, 2)
  assert.match(output, /^--only: expected some of session_c16, [^\n]*, got stdio_c65\n$/)
})

test.run()
