import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionRecord } from 'caduceus/server'
import type { TestContext } from '../../support/suite.js'

/** A folder that is gone after the test. */
export function makeFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A record of a session. */
export function makeRecord(
  id: string,
  version: number,
  state: Readonly<Record<string, unknown>> = {},
): SessionRecord {
  const client = { name: 'client', version: '1' }
  return { id, version, revision: '2025-11-25', client, capabilities: { roots: {} }, catalog: 0, state }
}
