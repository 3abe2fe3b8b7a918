// second tier: time
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('conformance runner for clients', { timeout: 20_000 })

/** A suite: what it lists, and what its `scenarios` do, given what writes their checks. */
const someSuite = (scenarios: string) => `
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
const scenarios = ${scenarios}
const option = (name) => process.argv[process.argv.indexOf(name) + 1]
if (process.argv[2] === 'list' && process.argv[3] === '--client') {
  console.log('Client scenarios (test against a client):')
  console.log('  - plain [2025-06-18,2025-11-25]\\n  - auth/any-1 [2025-11-25,2026-07-28]\\n  - auth/more [extension]')
} else {
  scenarios[option('--scenario')]((...statuses) => {
    const own = option('-o') + '/' + option('--scenario') + '-2025-11-25T01-02-03-456Z'
    mkdirSync(own, { recursive: true })
    writeFileSync(own + '/checks.json', JSON.stringify(statuses.map((status) => ({ id: 'check', status }))))
  })
}
`

/** Runs `driver` with such a suite as `given`, and what runs it at hand. */
function runOn(t: TestContext, scenarios: string, driver: string) {
  const house = (name: string) =>
    JSON.stringify(pathToFileURL(inRoot('scripts', 'conformance', `${name}.mjs`)).href)
  const project = makeProject(t, {
    'suite.mjs': someSuite(scenarios),
    'driver.mjs': `import { runScenario } from ${house('client-suite')}
import { listScenarios } from ${house('list-scenarios')}
import { createTally } from ${house('tally')}
const [, , suite, folder] = process.argv
const interrupt = new AbortController()
const given = { node: process.execPath, entries: { own: suite }, suite: 'own', folder, command: 'run me', signal: interrupt.signal }
${driver}
`,
  })
  const args = [join(project, 'driver.mjs'), join(project, 'suite.mjs'), join(project, 'results')]
  return runNode(args, project, t.signal)
}

/** Prints the checks of one scenario, one a line. */
const printChecks = `
const checks = await runScenario({ ...given, scenario: 'one', revision: '2025-11-25', limit: 3_000 })
for (const { id, status, errorMessage = '' } of checks) console.log((id + ' ' + status + ' ' + errorMessage).trim())
`

test('scenarios are listed by revision, for the extensions, or all', async (t) => {
  const { output } = await runOn(
    t,
    '{}',
    `for (const of of ['2025-06-18', '2025-11-25', 'extension', undefined]) console.log((await listScenarios({ ...given, of }, 'client')).join())`,
  )
  assert.equal(output.trimEnd().split('\n'), [
    'plain',
    'plain,auth/any-1',
    'auth/more',
    'plain,auth/any-1,auth/more',
  ])
})

test('a suite that lists nothing is an error', async (t) => {
  const { code, output } = await runOn(
    t,
    '{}',
    `await listScenarios({ ...given, entries: { own: 'not-there.mjs' } }, 'client')`,
  )
  assert.match(output, /the suite lists no scenarios: .*not-there\.mjs/s)
  assert.is(code, 1)
})

test('the checks of a scenario are those it wrote', async (t) => {
  const { output } = await runOn(t, `{ one: (write) => write('SUCCESS', 'SKIPPED') }`, printChecks)
  assert.is(output, 'check SUCCESS\ncheck SKIPPED\n')
})

test('a client that fails unexpectedly is a failed check with its output', async (t) => {
  const scenario = `{ one(write) {
    write('SUCCESS')
    console.error('\\nStderr:\\nError: no such tool\\n\\n⚠️  CLIENT EXITED WITH ERROR (code 1) - Test may be incomplete')
  } }`
  const { output } = await runOn(t, scenario, printChecks)
  assert.match(
    output,
    /^check SUCCESS\nclient FAILURE CLIENT EXITED WITH ERROR \(code 1\): \nError: no such tool/,
  )
})

test('a client that takes too long is a failed check', async (t) => {
  const scenario = `{ one: (write) => { write('SUCCESS'); console.error('⚠️  CLIENT TIMED OUT - Test incomplete') } }`
  const { output } = await runOn(t, scenario, printChecks)
  assert.match(output, /^check SUCCESS\nclient FAILURE CLIENT TIMED OUT/)
})

test('a scenario without checks fails with the output of the suite', async (t) => {
  const { output } = await runOn(t, `{ one() { throw new Error('no port') } }`, printChecks)
  assert.match(output, /^finished FAILURE wrote no checks: .*no port/s)
})

test('a suite that hangs is killed with its client and is a failed check', async (t) => {
  const scenario = `{ one(write) {
    write('SUCCESS')
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'])
    writeFileSync('client.pid', String(pid))
    setInterval(() => {}, 1_000)
  } }`
  const gone = `
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
const isThere = (pid) => { try { return process.kill(pid, 0) } catch { return false } }
const pid = Number(readFileSync('client.pid', 'utf8'))
while (isThere(pid)) await new Promise((resolve) => setImmediate(resolve))
console.log('client gone')`
  const { output } = await runOn(t, scenario, `${printChecks}${gone}`)
  assert.is(output, 'check SUCCESS\nrun FAILURE did not end within 3 s\nclient gone\n')
})

test('nothing is started after an interruption', async (t) => {
  const { output } = await runOn(
    t,
    `{ one: (write) => write('SUCCESS') }`,
    `interrupt.abort()\n${printChecks}`,
  )
  assert.is(output, 'run FAILURE interrupted\n')
})

test('an expected failure is reported and not counted', async (t) => {
  const { code, output } = await runOn(
    t,
    '{}',
    `const tally = createTally(false, new Map([['r one', 'not there yet'], ['r two', 'all skipped']]))
tally.add('r', 'one', [{ id: 'a', status: 'SUCCESS' }, { id: 'b', status: 'FAILURE' }])
tally.add('r', 'two', [{ id: 'a', status: 'SKIPPED' }])
tally.add('r', 'three', [{ id: 'a', status: 'SUCCESS' }])
process.exitCode = tally.finish()`,
  )
  assert.equal(output.trimEnd().split('\n'), [
    'expected failure [r] one: not there yet',
    'expected failure [r] two: all skipped',
    'r: 1 passed, 0 failed, 0 skipped',
    '(0 of the failed are warnings; 0 skipped; 2 scenarios not counted)',
    '1 passed, 0 failed',
  ])
  assert.is(code, 0)
})

test('an expected failure that passes is a failure', async (t) => {
  const { code, output } = await runOn(
    t,
    '{}',
    `const tally = createTally(false, new Map([['r one', 'it is not there yet']]))
tally.add('r', 'one', [{ id: 'a', status: 'SUCCESS' }])
process.exitCode = tally.finish()`,
  )
  assert.match(output, /^FAIL \[r\] one: expected: it passes, although it is not there yet$/m)
  assert.is(code, 1)
})

test.run()
