import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { atExit } from '../../../transports/stdio/exit-hook.js'
import { endingOf } from '../../../transports/stdio/spawn.js'
import { startAllowance } from '../../support/allowance.mjs'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { gone, isAlive } from '../_processes.js'

const test = suite('stdio host', { timeout: 20_000 })

const program = fileURLToPath(new URL('./_host.js', import.meta.url))
const server = inRoot('test', 'support', 'raw-server.mjs')

type Host = { readonly process: ChildProcess; readonly lines: string[]; readonly pids: readonly number[] }

/** Starts a program with clients; `args` go to the servers of all of them. */
async function startHost(t: TestContext, count: number, args: readonly string[]): Promise<Host> {
  const host = spawn(process.execPath, [program, server, String(count), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => host.kill('SIGKILL'))
  const lines: string[] = []
  const pids = await new Promise<number[]>((resolve) => {
    createInterface({ input: host.stdout }).on('line', (line) => {
      lines.push(line)
      const told = JSON.parse(line) as { pids?: number[] }
      if (told.pids !== undefined) resolve(told.pids)
    })
  })
  return { process: host, lines, pids }
}

function ended(host: Host): Promise<number | null> {
  return new Promise((resolve) => host.process.once('exit', resolve))
}

test.slow('fault 34: servers of a killed host end within 5 s, at the end of stdin', async (t) => {
  const host = await startHost(t, 3, [])
  assert.is(host.pids.length, 3)
  const end = ended(host)
  host.process.kill('SIGKILL')
  await end
  const allowance = startAllowance(5_000)
  await Promise.all(host.pids.map(gone))
  assert.ok(allowance.left() > 0)
})

test.slow('process.exit() leaves no server or descendant behind, even deaf ones', async (t) => {
  const host = await startHost(t, 2, ['--ignore-eof', '--ignore-term'])
  assert.is(host.pids.length, 4)
  assert.equal(
    host.pids.map((pid) => isAlive(pid)),
    [true, true, true, true],
  )
  const end = ended(host)
  host.process.stdin?.write('exit')
  assert.is(await end, 5)
  await Promise.all(host.pids.map(gone))
})

test('many clients share one exit listener, removed with the last', () => {
  const before = process.listenerCount('exit')
  const undo = Array.from({ length: 20 }, () => atExit(() => {}))
  assert.is(process.listenerCount('exit'), before + 1)
  for (const one of undo) one()
  assert.is(process.listenerCount('exit'), before)
})

test('a process ends with its descendants: by group, on Windows by taskkill', () => {
  assert.equal(endingOf('linux', 7, 'SIGTERM'), { type: 'signal', pid: -7, signal: 'SIGTERM' })
  assert.equal(endingOf('darwin', 7, 'SIGKILL'), { type: 'signal', pid: -7, signal: 'SIGKILL' })
  const command = 'D:\\Win\\System32\\taskkill.exe'
  assert.equal(endingOf('win32', 7, 'SIGTERM', { SystemRoot: 'D:\\Win' }), {
    type: 'command',
    command,
    args: ['/PID', '7', '/T'],
  })
  assert.equal(endingOf('win32', 7, 'SIGKILL', { SystemRoot: 'D:\\Win' }), {
    type: 'command',
    command,
    args: ['/PID', '7', '/T', '/F'],
  })
})

test.run()
