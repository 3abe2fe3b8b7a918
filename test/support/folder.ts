import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from './suite.js'

/** A folder that is gone after the test. */
export function makeFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
