// second tier: time
// shares a process
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('programs of scripts/', { timeout: 20_000 })

/** A project that has the scripts of the repository in it, since they work on the folder they lie in. */
function makeHouse(t: TestContext, files: Record<string, string>): string {
  const project = makeProject(t, files)
  for (const name of ['run.mjs', 'build.mjs', 'house']) {
    cpSync(inRoot('scripts', name), join(project, 'scripts', name), { recursive: true })
  }
  return project
}

test('start runs the program on the sources, with its arguments and its exit code', async (t) => {
  const project = makeHouse(t, {
    'client/connection/greeting.ts': `export function greet(name: string): string { return 'good day, ' + name }\n`,
    'client/index.ts': `export { greet } from './connection/greeting.js'\n`,
    'scripts/start/main.ts': `import { greet } from 'caduceus/client'
import { greet as same } from '../../client/connection/greeting.js'
const [name] = process.argv.slice(2) as [string]
console.log(greet(name), same === greet)
process.exitCode = 7
`,
  })
  const outcome = await runNode(['scripts/run.mjs', 'start', 'Ada'], project, t.signal)
  assert.is(outcome.output, 'good day, Ada true\n')
  assert.is(outcome.code, 7)
})

test('an error in a program points to the line of the source', async (t) => {
  const project = makeHouse(t, {
    'scripts/start/main.ts': `type Removed = { readonly name: string }\n\nexport type Kept = Removed\nthrow new Error('here')\n`,
  })
  const outcome = await runNode(['scripts/run.mjs', 'start'], project, t.signal)
  assert.is(outcome.code, 1)
  assert.match(outcome.output, /scripts\/start\/main\.ts:4:/)
})

test('a program that does not exist, or does not parse, is named', async (t) => {
  const missing = await runNode(['scripts/run.mjs', 'bench'], makeHouse(t, {}), t.signal)
  assert.equal(missing, { code: 1, output: 'scripts/bench/main.ts does not exist yet\n' })
  const project = makeHouse(t, { 'scripts/bench/main.ts': 'export {}\n', 'client/a.ts': 'const = 1\n' })
  const broken = await runNode(['scripts/run.mjs', 'bench'], project, t.signal)
  assert.is(broken.code, 1)
  assert.match(broken.output, 'does not parse: client/a.ts:1: Expected identifier but found "="')
})

test('run takes NAME.ts or NAME/main.ts, and without a name prints its usage', async (t) => {
  const project = makeHouse(t, { 'scripts/start/one.ts': `console.log(process.argv.length)\n` })
  const { code, output } = await runNode(['scripts/run.mjs', 'start/one', 'Ada'], project, t.signal)
  assert.equal([code, output], [0, '3\n'])
  const usage = await runNode(['scripts/run.mjs'], project, t.signal)
  assert.is(usage.code, 2)
  assert.match(usage.output, 'usage: node scripts/run.mjs NAME [arguments]')
})

test('build names missing entry points and leaves an earlier dist/ alone', async (t) => {
  const project = makeHouse(t, { 'index.ts': 'export const a = 1\n', 'dist/index.js': 'export {}\n' })
  const outcome = await runNode(['scripts/build.mjs'], project, t.signal)
  assert.is(outcome.code, 1)
  assert.match(outcome.output, 'build: no such file: runtime/index.ts, protocol/index.ts')
  assert.ok(existsSync(join(project, 'dist', 'index.js')))
})

test.run()
