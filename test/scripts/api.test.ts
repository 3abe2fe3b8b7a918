// second tier: time
// time limit: 180 s
import { existsSync, readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('npm run api', { timeout: 170_000 })
const { doors } = (await import(inRoot('scripts', 'house', 'entries.mjs'))) as { doors: readonly string[] }
const { readApi } = (await import(inRoot('scripts', 'house', 'api.mjs'))) as {
  readApi(root: string): Promise<Map<string, string> | undefined>
}

test('the reports of the doors, and the page of names, are of the declarations', async () => {
  const api = await readApi(root)
  assert.ok(api !== undefined && api.size === doors.length + 1)
  for (const [path, text] of api) {
    const kept = existsSync(inRoot(path)) ? readFileSync(inRoot(path), 'utf8') : ''
    assert.ok(kept === text, `${path} is not of the declarations: npm run api -- 'what changes for users'`)
  }
})

test('every name has a sentence about what it is for', () => {
  const page = readFileSync(inRoot('protocol', 'names.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  assert.ok(rows.length > 500, `${rows.length} rows`)
  assert.equal(
    rows.filter((row) => !/\| \w+ \| \S.* \|$/.test(row)),
    [],
  )
})

test.run()
