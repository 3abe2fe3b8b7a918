// second tier: time
// time limit: 180 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import type { SoakReport } from '../../scripts/soak/report.js'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('soak', { timeout: 80_000 })

function run(t: TestContext, ...args: string[]) {
  const child = spawn(process.execPath, [inRoot('scripts', 'run.mjs'), 'soak', ...args], {
    cwd: root,
    signal: t.signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.on('error', () => {}) // what the signal of the test does
  const said: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const ended = once(child, 'close').then(([code]) => ({ code, ...said }))
  return { child, ended }
}

function reportOf(stdout: string): SoakReport {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as SoakReport
}

test('a small soak loses nothing unreported and leaves nothing', async (t) => {
  const { code, stdout, stderr } = await run(
    t,
    ...['--minutes', '0.2', '--clients', '14', '--seed', '3', '--json'],
  ).ended
  const report = reportOf(stdout)
  assert.equal(report.violationList, [], stderr)
  assert.equal([code, report.violations, report.clients, report.seed], [0, 0, 14, 3])
  // more than the last calls, when nothing breaks any more
  assert.ok(report.calls > 2 * 14, `${report.calls} calls`)
  assert.ok((report.outcomes.ok ?? 0) >= 14)
  assert.ok(Object.values(report.cuts).reduce((sum, count) => sum + count, 0) > 0, 'nothing was broken')
})

test('an interrupted run ends in an orderly way, and tells what it found', async (t) => {
  const { child, ended } = run(t, '--minutes', '30', '--clients', '12', '--json')
  let interrupted = false
  child.stderr.on('data', (text: string) => {
    if (interrupted || !text.includes('all are ready')) return
    interrupted = true
    child.kill('SIGINT')
  })
  const { code, stdout, stderr } = await ended
  assert.is(code, 0, stderr)
  assert.is(reportOf(stdout).violations, 0)
})

test('an argument that is wrong is said, with exit code 2, and nothing is started', async (t) => {
  const { code, stdout, stderr } = await run(t, '--minutes', 'long').ended
  assert.equal([code, stdout], [2, ''])
  assert.is(stderr, 'soak: --minutes: expected a number above 0, 1440 at most, got long\n')
})

test.run()
