import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { runNode } from '../support/project.js'
import { suite } from '../support/suite.js'

const test = suite('a program in one file', { timeout: 30_000 })

test('an ES module without `require` writes its reports', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  t.after(() => stop())
  const contents = `
    import { startSupervisor } from ${JSON.stringify(inRoot('.t', 'runtime', 'index.js'))}
    await startSupervisor({ strategy: 'one_for_one' })
    setTimeout(() => { setTimeout(() => process.exit(0), 300); throw new Error('told') }, 10)
  `
  const outfile = join(folder, 'program.mjs')
  const stdin = { contents, resolveDir: folder }
  await build({ stdin, bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error' })
  const { code, output } = await runNode([outfile], folder, t.signal)
  assert.is(code, 0, output)
  assert.match(output, /"level":50.*"msg":"stray error"/)
})

test.run()
