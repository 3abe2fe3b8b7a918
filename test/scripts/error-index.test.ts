// second tier: time
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import * as client from '../../client/base/errors.js'
import * as protocol from '../../protocol/wire/errors.js'
import * as runtime from '../../runtime/base/errors.js'
import * as server from '../../server/base/errors.js'
import * as transports from '../../transports/base/errors.js'
import { makeProject } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const { checkHouse } = (await import(inRoot('scripts', 'house', 'check-house.mjs'))) as {
  checkHouse(root: string, scope: readonly string[]): Promise<{ text: string }>
}
const test = suite('the page of error codes', { timeout: 20_000 })

const errors = `/** Every code a DemoError can have. */
export type DemoErrorCode =
  /** Something was odd | or even. */
  | 'TOO_DEEP'
  /**
   * It took
   * too long.
   */
  | 'START_TIMEOUT'
`

async function findingsOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const { text } = await checkHouse(makeProject(t, files), [])
  return text
}

test('a missing or stale error page is named with the command that makes it', async (t) => {
  const stale =
    'protocol/errors.md:1 is not what the errors.ts of the floors say: run node scripts/error-index.mjs'
  for (const files of [{}, { 'protocol/errors.md': '# Errors by code\n' }]) {
    assert.is(await findingsOf(t, { 'server/base/errors.ts': errors, ...files }), stale)
  }
})

test('a code without a sentence of its own is named', async (t) => {
  const more = errors.replace(/\n$/, `\n  | 'RUNNING'\n`)
  assert.is(
    await findingsOf(t, { 'server/base/errors.ts': more }),
    'server/base/errors.ts:10 RUNNING has no sentence that says when it is thrown',
  )
})

test('a code without a remedy is named', async (t) => {
  const more = errors.replace(/\n$/, `\n  /** It is new. */\n  | 'NEW'\n`)
  assert.is(
    await findingsOf(t, { 'server/base/errors.ts': more }),
    'server/base/errors.ts:11 NEW has no remedy in scripts/house/error-remedies.mjs',
  )
})

test('each code of each class is in the page once, with class, file and remedy', () => {
  const page = readFileSync(inRoot('protocol', 'errors.md'), 'utf8')
  const rows = [
    ...page.matchAll(/^\| `([A-Z0-9_]+)` \| \[`(\w+)`\]\(\.\.\/([\w/.]+)\) \| (.+) \| (.*) \|$/gm),
  ]
  assert.ok(rows.length > 80, `${rows.length} rows`)
  const keys = rows.map(([, code, name]) => `${name} ${code}`)
  assert.equal([...new Set(keys)], keys)
  const classes = { ...runtime, ...protocol, ...transports, ...server, ...client } as Record<string, unknown>
  for (const [, code = '', name = '', file = '', sentence, remedy] of rows) {
    assert.type(classes[name], 'function', name)
    assert.match(readFileSync(inRoot(file), 'utf8'), `'${code}'`)
    for (const text of [sentence, remedy]) assert.match(text ?? '', /^[A-Z`].*\.$/, code)
  }
})

test('every remedy belongs to an existing code', async () => {
  const { remedies } = (await import(inRoot('scripts', 'house', 'error-remedies.mjs'))) as {
    remedies: object
  }
  const page = readFileSync(inRoot('protocol', 'errors.md'), 'utf8')
  const lost = Object.keys(remedies).filter((key) => {
    const [kind, code] = key.includes(' ') ? key.split(' ') : [undefined, key]
    return !page.includes(`| \`${code}\` | [\`${kind ?? ''}`)
  })
  assert.equal(lost, [])
})

test('every integer of errorCodes is in the page', () => {
  const page = readFileSync(inRoot('protocol', 'errors.md'), 'utf8')
  for (const [name, code] of Object.entries(protocol.errorCodes))
    assert.match(page, `| \`${code}\` | \`${name}\` |`)
})

test.run()
