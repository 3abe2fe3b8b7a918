// second tier: time
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the check of time and chance', { timeout: 20_000 })

test('npm run check names line and remedy, in the library only', async (t) => {
  const text = 'export const a = () =>\n  Date.now()\n'
  const project = makeProject(t, { 'runtime/base/a.ts': text, 'test/a.ts': text })
  const { code, output } = await runNode(
    [inRoot('scripts', 'check.mjs'), '--root', project, '--only', 'house'],
    project,
    t.signal,
  )
  assert.is(code, 1)
  assert.equal(output.trimEnd().split('\n'), [
    'runtime/base/a.ts:2 Date.now: time, turns and chance come from a World (runtime/time/world.ts)',
    'check house: 1 problem',
  ])
})

test.run()
