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

/** Of the only row that was measured. */
function ratioIn({ output }: Outcome): number {
  return Number(/^\S+ +([\d.]+)x {2}kept/m.exec(output)?.[1])
}

// whether it is more than what is kept depends on the machine as well: that is for whoever runs the gate
test('a quarter more work in each process shows in the ratio', async (t) => {
  const only = ['--only', 'stdio_c64']
  const plain = await gate(t, ...only)
  const planted = await gate(t, ...only, '--planted', '0.25')
  const more = ratioIn(planted) / ratioIn(plain)
  assert.ok(more > 1.08 && more < 2, `${plain.output} and ${planted.output}`)
})

test('a row that is unknown is said, with exit code 2, and nothing is measured', async (t) => {
  const { code, output } = await gate(t, '--only', 'stdio_c65')
  assert.is(code, 2)
  assert.match(output, /^--only: expected some of session_c16, [^\n]*, got stdio_c65\n$/)
})

test.run()
