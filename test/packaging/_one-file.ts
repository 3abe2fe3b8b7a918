import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import { type Outcome, runNode } from '../support/project.js'
import type { TestContext } from '../support/suite.js'

/** Runs a program that is bundled with all that it imports. */
export async function runBundled(t: TestContext, contents: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  t.after(() => stop())
  const outfile = join(folder, 'program.mjs')
  const stdin = { contents, resolveDir: folder }
  await build({ stdin, bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error' })
  return runNode([outfile], folder, t.signal)
}
