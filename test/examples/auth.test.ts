// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of the pages on auth', { timeout: 20_000 })

test('dpop says what the page promises, and ends by itself', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'auth', 'dpop.js')
  const refusal = 'a token has to come with a proof of its key'
  const output = `agent\n401 DPoP error="invalid_token", error_description="${refusal}"\n`
  assert.equal(await runNode([program], root, t.signal), { code: 0, output })
})

test.run()
