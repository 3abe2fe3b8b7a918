// The server under test, as a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { repository } from '../house/sources.mjs'
import { failure } from './suite-process.mjs'

const startLimit = 30_000
const stopLimit = 15_000

/**
 * Starts `scripts/conformance-server.mjs` and resolves with `{ url, pid, exited, stop }` once it has printed its URL; rejects when
 * it does not. `stop` ends it and resolves with a failed check if it had ended by itself or does not end in order.
 */
export async function startFixture(signal) {
  const script = join(repository, 'scripts', 'conformance-server.mjs')
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  signal.addEventListener('abort', kill, { once: true })
  exit.then(() => {
    process.off('exit', kill)
    signal.removeEventListener('abort', kill)
  })
  const url = await firstLine(child, exit)
  if (url === undefined) {
    kill()
    throw new Error('the fixture did not print its URL')
  }
  let stopping
  return { url, pid: child.pid, exited: exit, stop: () => (stopping ??= stop(child, exit)) }
}

async function firstLine(child, exit) {
  const lines = createInterface({ input: child.stdout })
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, startLimit)
  })
  try {
    return await Promise.race([once(lines, 'line').then(([line]) => line), exit.then(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}

async function stop(child, exit) {
  if (child.exitCode !== null || child.signalCode !== null)
    return [failure('ended-early', `the fixture ended by itself: ${child.exitCode ?? child.signalCode}`)]
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopLimit)
  const [code, signalName] = await exit
  clearTimeout(timer)
  if (code === 0) return []
  return [failure('ends-in-order', `the fixture ended with ${signalName ?? code} after SIGTERM, expected 0`)]
}
