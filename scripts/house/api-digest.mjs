// Whether the changelog speaks of the public API as its reports have it.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listFiles } from './sources.mjs'

/** Where the reports are. */
export const reports = 'test/api'

/** What stands for all reports of a folder in one word. */
export function digestOf(root) {
  const hash = createHash('sha256')
  for (const path of listFiles(root, reports))
    hash.update(`${path}\n${readFileSync(join(root, path), 'utf8')}`)
  return hash.digest('hex').slice(0, 12)
}

/** The section of the changelog that is not released yet. */
export function unreleasedOf(changelog) {
  const start = changelog.indexOf('\n## Unreleased\n')
  if (start < 0) return ''
  const end = changelog.indexOf('\n## ', start + 1)
  return changelog.slice(start, end < 0 ? undefined : end)
}

/** A finding when the changelog does not name the reports as they are. */
export function checkApi(root) {
  if (!existsSync(join(root, reports))) return []
  const word = `API ${digestOf(root)}`
  if (unreleasedOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).includes(word)) return []
  const text = `says nothing of the API as ${reports}/ has it: npm run api -- 'what changes for users'`
  return [{ path: 'CHANGELOG.md', line: 1, text }]
}
