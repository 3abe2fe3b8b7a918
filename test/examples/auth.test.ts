import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of the pages on auth', { timeout: 20_000 })

const programs = {
  workload: ['agent-7'],
  dpop: [
    'agent',
    '401 DPoP error="invalid_token", error_description="a token has to come with a proof of its key"',
  ],
}

for (const [name, lines] of Object.entries(programs)) {
  test(`${name} says what the page promises, and ends by itself`, async (t) => {
    const program = inRoot('.t', 'test', 'examples', 'auth', `${name}.js`)
    assert.equal(await runNode([program], root, t.signal), { code: 0, output: `${lines.join('\n')}\n` })
  })
}

test.run()
