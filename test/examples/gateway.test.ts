// second tier: time
// shares a process
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of the pages of server/gateway', { timeout: 20_000 })

test('team offers what both servers have, and ends by itself', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'gateway', 'team.js')
  const lines = ['notes__read', 'mail__read', 'water the plants', '# notes', '', '> A note has one line.']
  const { code, output } = await runNode([program], root, t.signal)
  assert.equal([code, output], [0, `${lines.join('\n')}\n`])
})

test('trust refuses what has changed until it is accepted, and tells each call', async (t) => {
  const program = inRoot('.t', 'test', 'examples', 'gateway', 'trust.js')
  const { code, output } = await runNode([program], root, t.signal)
  const lines = output.split('\n').filter((line) => !line.startsWith('{'))
  const [page = ''] =
    readFileSync(inRoot('server', 'gateway', 'trust.md'), 'utf8').match(/(?<=```text\n)[^`]+/) ?? []
  assert.equal([code, lines.join('\n')], [0, page])
})

test.run()
