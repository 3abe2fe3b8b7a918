// second tier: time
// shares a process
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { gone } from '../transports/_processes.js'
import { caduceus, newHome } from './_caduceus.js'

const test = suite('a model that caduceus asks for a server', { timeout: 60_000 })
const asking = ['--', process.execPath, fileURLToPath(new URL('./_asking-server.js', import.meta.url))]

/** A home with a program that stands for a model. */
function place(t: TestContext, program: string) {
  const home = newHome(t)
  writeFileSync(join(home, 'model.mjs'), program)
  const line = `'${process.execPath}' model.mjs '$(touch hit)'`
  const call = (...more: string[]) =>
    caduceus(t, ['call', 'ask', '--sampling', line, ...more, ...asking], { home })
  return { home, call }
}

const heard = `let text = ''
for await (const chunk of process.stdin) text += chunk
const { messages, maxTokens } = JSON.parse(text)
console.log('heard ' + messages[0].content.text + ' ' + maxTokens + ' ' + process.argv[2])`

test('a command gets the request as JSON, and answers with a text', async (t) => {
  const { home, call } = place(t, heard)
  for (const era of ['auto', 'handshake']) {
    const { code, out, err } = await call('--era', era)
    assert.equal([code, err], [0, ''])
    assert.is(out, 'node: heard what now; touch hit 10 $(touch hit)\n')
  }
  assert.not.ok(existsSync(join(home, 'hit')), 'no shell has it')
})

test('a command may answer with a whole result', async (t) => {
  const result = { role: 'assistant', model: 'own', content: { type: 'text', text: 'whole' } }
  assert.is((await place(t, `console.log('${JSON.stringify(result)}')`).call()).out, 'own: whole\n')
  const wrong = await place(t, `console.log('{"role": "assistant", "content": 7}')`).call(
    '--era',
    'handshake',
  )
  assert.match(wrong.out, /^refused/)
  const text = await place(t, `console.log('{"a": 1}')`).call()
  assert.is(text.out, 'node: {"a": 1}\n')
})

test('one that fails is told here, and the server hears that it has failed', async (t) => {
  const cases = [
    [
      'console.error("no key\\x1b[31m"); process.exit(3)',
      /^no key\[31m\ncaduceus: --sampling: .*node ended with exit code 3\n$/,
    ],
    [
      'for (;;) process.stdout.write("x".repeat(1e6)) || await new Promise((go) => process.stdout.once("drain", go))',
      /answers with more than \d+ bytes/,
    ],
  ] as const
  for (const [program, told] of cases) {
    const { out, err } = await place(t, program).call('--era', 'handshake')
    assert.match(out, /^refused: .*The model of this client has failed/)
    assert.match(err, told)
  }
  const home = newHome(t)
  const none = await caduceus(t, ['call', 'ask', '--sampling', 'no-such-command', ...asking], { home })
  assert.match(none.err, /--sampling: no-such-command cannot be started/)
  const empty = await caduceus(t, ['call', 'ask', '--sampling', ' ', ...asking], { home })
  assert.equal([empty.code, empty.err], [2, 'caduceus: --sampling: expected a command\n'])
})

test('one that never answers ends with the call, with all that it has started', async (t) => {
  const { home, call } = place(
    t,
    `import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
process.on('SIGTERM', () => {})
const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)"
const child = spawn(process.execPath, ['-e', stubborn], { stdio: 'inherit' })
writeFileSync('pids', process.pid + ' ' + child.pid)
setInterval(() => {}, 1e6)`,
  )
  const { code, err } = await call('--timeout', '6000')
  assert.is(code, 1, err)
  for (const pid of readFileSync(join(home, 'pids'), 'utf8').split(' ')) await gone(Number(pid))
})

test('one that leaves a program behind with its pipes holds nobody', async (t) => {
  const left = `import { spawn } from 'node:child_process'
const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { detached: true, stdio: 'inherit' })
process.stderr.write('left ' + child.pid + '\\n')
process.stdout.write('x'.repeat(5 * 1024 * 1024))
setInterval(() => {}, 1000)`
  const began = performance.now()
  const { err, out } = await place(t, left).call()
  const pid = Number(/left (\d+)/.exec(err)?.[1])
  process.kill(pid, 'SIGKILL')
  assert.match(err, /answers with more than/)
  assert.match(out + err, /has failed|refused/)
  assert.ok(performance.now() - began < 30_000)
})

test('without a command for it, no model is offered', async (t) => {
  const { out } = await caduceus(t, ['call', 'ask', ...asking])
  assert.match(out, /^refused/)
})

test.run()
