// second tier: quiet
// time limit: 240 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { kept } from '../../scripts/bench/gate/verdict.js'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('bench:gate', { timeout: 200_000 })

/** The exit code, and the lines of the report. */
async function gate(t: TestContext, ...args: string[]): Promise<{ code: number; lines: string[] }> {
  const child = spawn(process.execPath, [inRoot('scripts', 'run.mjs'), 'bench/gate', ...args], {
    cwd: root,
    signal: t.signal,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.on('error', () => {}) // what the signal of the test does
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'close')
  return { code, lines: said.trimEnd().split('\n') }
}

test('no call, start or session costs more than what is kept of it', async (t) => {
  const { code, lines } = await gate(t)
  assert.is(code, 0, lines.join('\n'))
  assert.equal(
    lines.map((line) => line.split(' ')[0]),
    Object.keys(kept),
  )
})

test('a quarter more work in each process is too much', async (t) => {
  const { code, lines } = await gate(t, '--only', 'stdio_c64', '--planted', '0.25')
  assert.is(code, 1, lines.join('\n'))
  assert.match(lines.join('\n'), /^stdio_c64 .* too much$/)
})

test('a row that is unknown is said, with exit code 2, and nothing is measured', async (t) => {
  const { code, lines } = await gate(t, '--only', 'stdio_c65')
  assert.equal([code, lines], [2, ['']])
})

test.run()
