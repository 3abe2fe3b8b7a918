// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of the pages of server/gateway', { timeout: 20_000 })

test('exchange calls with a token of the caller for the server behind', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'gateway', 'exchange.js')
  const output = 'ada by way of gateway\nbob by way of gateway\n'
  assert.equal(await runNode([program], root, t.signal), { code: 0, output })
})

test('login asks a user to sign in to the server behind', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'gateway', 'login.js')
  const { code, output } = await runNode([program], root, t.signal)
  const lines = output.split('\n').filter((line) => !line.includes('WARNING'))
  const told = 'Sign in to mail: open http://… in a browser, and call this again.'
  assert.equal([code, lines], [0, ['mail__sign_in', told, '']])
})

test.run()
