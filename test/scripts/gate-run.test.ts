// second tier: quiet
// time limit: 200 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('bench:gate', { timeout: 150_000 })

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

/** Of the only row that was measured. */
function ratioIn({ lines }: { readonly lines: string[] }): number {
  return Number(/^\S+ +([\d.]+)x {2}kept/.exec(lines[0] ?? '')?.[1])
}

// whether it is more than what is kept depends on the machine as well: that is for whoever runs the gate
test('a quarter more work in each process shows in the ratio', async (t) => {
  const only = ['--only', 'stdio_c64']
  const plain = await gate(t, ...only)
  const planted = await gate(t, ...only, '--planted', '0.25')
  const more = ratioIn(planted) / ratioIn(plain)
  assert.ok(more > 1.08 && more < 2, `${plain.lines.join()} and ${planted.lines.join()}`)
})

test('a row that is unknown is said, with exit code 2, and nothing is measured', async (t) => {
  const { code, lines } = await gate(t, '--only', 'stdio_c65')
  assert.equal([code, lines], [2, ['']])
})

test.run()
