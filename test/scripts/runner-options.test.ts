import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { file, lastLine, runTests } from './fixture.js'

const test = suite('test runner, runs', { timeout: 20_000 })

test('passing files end with exit code 0 and the sum of their tests on the last line', async (t) => {
  const outcome = await runTests(t, {
    'test/a/one.test.ts': file(`test('holds', () => {})\ntest('holds too', async () => {})`),
    'test/b/two.test.ts': file(`test('holds', () => {})`),
  })
  assert.is(outcome.code, 0, outcome.output)
  assert.is(lastLine(outcome), '3 passed, 0 failed')
})

test('--trace-leaks shows the line that made the leaked resource', async (t) => {
  const files = { 'test/a/timer.test.ts': file(`test('holds', () => {\n  setTimeout(() => {}, 60000)\n})`) }
  const outcome = await runTests(t, files, '--trace-leaks')
  assert.match(outcome.output, /Timeout made\n.*timer\.test\.ts:7:/)
})

test('a file without a test, without run(), or with a broken import is a failure', async (t) => {
  const outcome = await runTests(t, {
    'test/a/empty.test.ts': 'export {}\n',
    'test/a/no-run.test.ts': file(`test('holds', () => {})`).replace('test.run()', ''),
    'test/a/no-import.test.ts': file(`import './missing.js'\ntest('holds', () => {})`),
    'test/a/no-tests.test.ts': file(''),
  })
  assert.match(outcome.output, 'the file: no test ran (exit code 0)')
  assert.match(outcome.output, 'no test ran: is test.run() called?')
  assert.match(outcome.output, 'missing.js')
  assert.is(lastLine(outcome), '0 passed, 4 failed')
})

test('a broken source fails its importers and the whole run', async (t) => {
  const files = {
    'runtime/broken.ts': 'const = 1\n',
    'test/a/one.test.ts': file(`test('holds', () => {})`),
    'test/a/two.test.ts': file(`import '../../runtime/broken.js'\ntest('holds', () => {})`),
  }
  const whole = await runTests(t, files)
  assert.match(whole.output, 'does not parse: runtime/broken.ts:1: Expected identifier but found "="')
  assert.is(lastLine(whole), '1 passed, 2 failed')
  const part = await runTests(t, files, 'a/one')
  assert.is(lastLine(part), '1 passed, 0 failed')
})

test('arguments choose files by a part of their path, and no match is a failure', async (t) => {
  const files = { 'test/a/one.test.ts': file(`test('holds', () => {})`), 'test/b/two.test.ts': file('') }
  const chosen = await runTests(t, files, 'test/a')
  assert.is(lastLine(chosen), '1 passed, 0 failed')
  const none = await runTests(t, files, 'test/c')
  assert.is(none.code, 1)
  assert.match(none.output, 'no test file matches test/c')
})

test('a skipped test is printed with its reason and counts as nothing', async (t) => {
  const body = `test('holds', () => {})\ntest.skip('draws', 'no browser here')`
  const outcome = await runTests(t, { 'test/a/one.test.ts': file(body) })
  assert.match(outcome.output, 'skipped fixture: draws: no browser here')
  assert.is(lastLine(outcome), '1 passed, 0 failed')
})

test('--coverage lists the lines that no test reached', async (t) => {
  const half =
    'type Text = string\nexport function used(): Text {\n  return "a"\n}\nexport function unused(): Text {\n  return "b"\n}\n'
  const files = {
    'runtime/half.ts': half,
    'runtime/never.ts': 'export const never = 1\n',
    'test/a/one.test.ts': file(
      `import { used } from '../../runtime/half.js'\ntest('holds', () => { used() })`,
    ),
  }
  const outcome = await runTests(t, files, '--coverage')
  assert.match(outcome.output, /never\.ts +\| +0 \|/)
  assert.match(outcome.output, /half\.ts +\| +\d+\.\d+ \| +100 \| +50 \| +\d+\.\d+ \| 6-7/)
  assert.is(lastLine(outcome), '1 passed, 0 failed')
})

test('--check runs the checks of the house, whose problems fail the run', async (t) => {
  const files = {
    'tsconfig.json': '{ "include": ["runtime/a.ts"] }\n',
    'runtime/a.ts': 'export let a = 1\n',
    'test/a/one.test.ts': file(`test('holds', () => {})`),
  }
  const outcome = await runTests(t, files, '--check')
  assert.match(outcome.output, 'runtime/a.ts:1 let at module level')
  assert.match(outcome.output, 'failed: the check, see above')
  assert.is(lastLine(outcome), '1 passed, 1 failed')
})

test('a test file runs alone with plain node once it is transpiled', async (t) => {
  const project = makeProject(t, { 'test/a/one.test.ts': file(`test('holds', () => {})`) })
  await runNode([inRoot('scripts', 'test.mjs'), '--root', project], project, t.signal)
  const outcome = await runNode(['.t/test/a/one.test.js'], project, t.signal)
  assert.is(outcome.code, 0)
  assert.match(outcome.output, 'Passed:    1')
})

test.run()
