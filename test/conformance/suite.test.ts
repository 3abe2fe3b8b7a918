// second tier: time
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { makeProject, type Outcome, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('conformance runner', { timeout: 20_000 })

/** What a suite does with the folder it is to write into. */
const writeChecks = `
import { mkdirSync, writeFileSync } from 'node:fs'
const folder = process.argv[process.argv.indexOf('-o') + 1]
function begin(scenario) {
  console.log('=== Running scenario: ' + scenario + ' ===')
}
function write(scenario, ...statuses) {
  const own = folder + '/server-' + scenario + '-2025-11-25T01-02-03-456Z'
  mkdirSync(own)
  const checks = statuses.map((status) => ({ id: scenario + '-check', status, errorMessage: 'as it is' }))
  writeFileSync(own + '/checks.json', JSON.stringify(checks))
}
`

/** Runs the runner on a suite that does `what`. */
function runOn(t: TestContext, what: string, limit = 15_000): Promise<Outcome> {
  const house = (name: string) =>
    JSON.stringify(pathToFileURL(inRoot('scripts', 'conformance', `${name}.mjs`)).href)
  const project = makeProject(t, {
    'suite.mjs': `${writeChecks}\n${what}\n`,
    'driver.mjs': `import { runSuite } from ${house('suite')}
import { createTally } from ${house('tally')}
const tally = createTally(false)
const results = await runSuite({
  node: process.execPath,
  entries: { own: process.argv[2] },
  suite: 'own',
  revision: '2025-11-25',
  url: 'http://127.0.0.1:1/mcp',
  folder: process.argv[3],
  signal: new AbortController().signal,
  limit: ${limit},
})
for (const { scenario, checks } of results) tally.add('own', scenario, checks)
process.exitCode = tally.finish()
`,
  })
  const args = [join(project, 'driver.mjs'), join(project, 'suite.mjs'), join(project, 'results')]
  return runNode(args, project, t.signal)
}

function lastLine(output: string): string | undefined {
  return output.trimEnd().split('\n').at(-1)
}

test('successful checks pass the scenario; skipped and informative ones do not count', async (t) => {
  const what = `begin('a'); write('a', 'INFO', 'SUCCESS', 'SKIPPED'); begin('b-c'); write('b-c', 'SUCCESS')`
  const { code, output } = await runOn(t, what)
  assert.is(lastLine(output), '2 passed, 0 failed')
  assert.is(code, 0)
})

test('a warning fails the run', async (t) => {
  const { code, output } = await runOn(t, `begin('a'); write('a', 'SUCCESS', 'WARNING')`)
  assert.match(output, /^WARN \[own\] a: a-check: as it is$/m)
  assert.is(lastLine(output), '1 passed, 1 failed')
  assert.is(code, 1)
})

test('a failed check fails the run, whatever the exit code of the suite', async (t) => {
  const { code, output } = await runOn(t, `begin('a'); write('a', 'FAILURE', 'SUCCESS')`)
  assert.match(output, /^FAIL \[own\] a: a-check: as it is$/m)
  assert.is(code, 1)
})

test('a throwing scenario fails with the output of the suite', async (t) => {
  const what = `begin('a'); write('a', 'SUCCESS'); begin('b'); console.error('Failed to run scenario b:', 'no tool')`
  const { code, output } = await runOn(t, what)
  assert.match(output, /^FAIL \[own\] b: finished: Failed to run scenario b: no tool$/m)
  assert.is(lastLine(output), '1 passed, 1 failed')
  assert.is(code, 1)
})

test('a scenario in which nothing succeeded is a failure', async (t) => {
  const { output } = await runOn(
    t,
    `begin('a'); write('a', 'SUCCESS'); begin('b'); write('b', 'INFO', 'SKIPPED'); begin('c'); write('c')`,
  )
  assert.match(output, /^FAIL \[own\] b: decided: no check succeeded: b-check INFO, b-check SKIPPED$/m)
  assert.match(output, /^FAIL \[own\] c: decided: no check succeeded: there is none$/m)
  assert.is(lastLine(output), '1 passed, 2 failed')
})

test('a scenario that was mostly skipped is pointed out', async (t) => {
  const what = `begin('a'); write('a', 'SUCCESS', 'SKIPPED'); begin('b'); write('b', 'SUCCESS', 'SKIPPED', 'SKIPPED')`
  const { code, output } = await runOn(t, what)
  assert.equal(output.match(/^NOTE .*$/gm), ['NOTE [own] b: 2 of 3 checks skipped: b-check, b-check'])
  assert.match(output, /^own: 2 passed, 0 failed, 3 skipped$/m)
  assert.is(code, 0)
})

test('a scenario that was announced and did not run is a failure', async (t) => {
  const { output } = await runOn(
    t,
    `console.log('Running all suite (2 scenarios) against x'); begin('a'); write('a', 'SUCCESS')`,
  )
  assert.match(output, /^FAIL \[own\] \(run\): run: 2 scenarios announced, 1 run$/m)
})

test('a suite without scenarios is a failure', async (t) => {
  const { code, output } = await runOn(t, `console.log('no such suite')`)
  assert.match(output, /^FAIL \[own\] \(run\): run: ran nothing: no such suite$/m)
  assert.is(code, 1)
})

test('a suite that hangs is killed and is a failure', async (t) => {
  const { code, output } = await runOn(t, `begin('a'); setInterval(() => {}, 1_000)`, 1_000)
  assert.match(output, /^FAIL \[own\] \(run\): run: did not end within 1 s$/m)
  assert.is(code, 1)
})

test.run()
