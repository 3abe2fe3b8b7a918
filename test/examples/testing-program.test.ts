import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the program that tests supervision', { timeout: 30_000 })

test('tests that use caduceus/testing pass and leave nothing that holds the process', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'testing.js')
  const { code, output } = await runNode(['--test-reporter=tap', program], root, t.signal)
  assert.is(code, 0, output)
  assert.match(output, /^# pass 3$/m)
  assert.match(output, /^# fail 0$/m)
})

test.run()
