import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of runtime/README.md', { timeout: 20_000 })

const programs = {
  counter: ['41 42', 'ended: normal'],
  'supervised-pair': ['sensor started', 'display started', 'sensor restarted', 'display restarted'],
  name: ['1 2', 'after the crash: 1'],
  task: ['sum: 6', 'faulty: SyntaxError', 'cancelled, left running: 0 shutdown'],
}

for (const [name, lines] of Object.entries(programs)) {
  test(`${name} says what the page promises, and ends by itself`, async (t) => {
    const program = inRoot('.t', 'test', 'examples', 'runtime', `${name}.js`)
    assert.equal(await runNode([program], root, t.signal), { code: 0, output: `${lines.join('\n')}\n` })
  })
}

test.run()
