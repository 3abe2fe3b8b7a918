// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { runBundled } from './_one-file.js'

const test = suite('a program in one file', { timeout: 30_000 })

test('an ES module without `require` writes its reports', async (t) => {
  const { code, output } = await runBundled(
    t,
    `
    import { startSupervisor } from ${JSON.stringify(inRoot('.t', 'runtime', 'index.js'))}
    await startSupervisor({ strategy: 'one_for_one' })
    setTimeout(() => { setTimeout(() => process.exit(0), 300); throw new Error('told') }, 10)
  `,
  )
  assert.is(code, 0, output)
  assert.match(output, /"level":50.*"msg":"stray error"/)
})

test.run()
