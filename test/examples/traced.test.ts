import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the traced program of README.md', { timeout: 20_000 })

test('it prints the spans of the client and of the server, and ends', async (t) => {
  const { code, output } = await runNode([inRoot('.t', 'test', 'examples', 'traced.js')], inRoot(), t.signal)
  assert.is(code, 0, output)
  assert.is(output.match(/name: 'tools\/call divide'/g)?.length, 2, output)
})

test.run()
