// second tier: time
// shares a process
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { startAllowance } from '../support/allowance.mjs'
import { suite, type TestContext } from '../support/suite.js'
import { gone, isAlive } from '../transports/_processes.js'
import { environmentOf, newHome, overStdio, program } from './_caduceus.js'

const test = suite('how caduceus is stopped', { timeout: 30_000 })

/**
 * A server that answers nothing, and does not end at the end of its input; its process id is in a file, as a
 * whole.
 */
const mute = `const fs = require('fs')
fs.writeFileSync('part', String(process.pid))
fs.renameSync('part', 'pid')
setInterval(() => {}, 1e6)`
const stubborn = `process.on('SIGTERM', () => {}); ${mute}`

async function begin(t: TestContext, args: readonly string[], server: string) {
  const home = newHome(t)
  const child = spawn(process.execPath, [program, ...args, '--', process.execPath, '-e', server], {
    cwd: home,
    env: environmentOf(home),
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  while (!existsSync(join(home, 'pid'))) await sleep(20)
  await sleep(100)
  const pid = Number(readFileSync(join(home, 'pid'), 'utf8'))
  t.after(() => {
    child.kill('SIGKILL')
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  return { child, ended, pid }
}

for (const [signal, args, expected] of [
  ['SIGHUP', ['list'], 129],
  ['SIGINT', ['call', 'x'], 130],
  ['SIGTERM', ['list'], 143],
  ['SIGHUP', ['shell'], 129],
] as const)
  test(`${signal} ends ${args[0]} within about 2 s, and a server that stays`, async (t) => {
    const { child, ended, pid } = await begin(t, args, stubborn)
    const start = performance.now()
    const allowed = startAllowance(5_000)
    child.kill(signal)
    assert.is(await ended, expected)
    assert.ok(allowed.left() > 0, `${performance.now() - start} ms`)
    await gone(pid)
  })

test('a second signal ends it at once, and the server with it', async (t) => {
  const { child, ended, pid } = await begin(t, ['list'], stubborn)
  child.kill('SIGINT')
  await sleep(200)
  const allowed = startAllowance(1_800)
  child.kill('SIGINT')
  assert.is(await ended, 130)
  assert.ok(allowed.left() > 0)
  await gone(pid)
})

function end(t: TestContext, args: readonly string[], stdout: 'pipe' | number) {
  const home = newHome(t)
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home,
    env: environmentOf(home),
    stdio: ['pipe', stdout, 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  child.stdout?.destroy()
  let err = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk
  })
  return new Promise<{ code: number | null; err: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, err })),
  )
}

const commands = ['list', 'check --json', 'types', 'call echo message=hi', 'read note://first']

test('a reader that has gone ends a command in silence, with 141', async (t) => {
  for (const line of commands)
    assert.equal(await end(t, [...line.split(' '), ...overStdio], 'pipe'), { code: 141, err: '' }, line)
  assert.equal(await end(t, ['--help'], 'pipe'), { code: 141, err: '' })
})

if (!existsSync('/dev/full')) test.skip('a full disk is one line, and exit code 1', 'there is no /dev/full')
else
  test('a full disk is one line, and exit code 1', async (t) => {
    const full = openSync('/dev/full', 'w')
    t.after(() => closeSync(full))
    for (const args of [['--help'], ['list', ...overStdio]]) {
      const { code, err } = await end(t, args, full)
      assert.is(code, 1)
      assert.match(err, /^caduceus: .*ENOSPC.*\n$/)
    }
  })

test.run()
