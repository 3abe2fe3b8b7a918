// The suite as a process of its own, and of its own group: what it started goes with it.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const outputLimit = 4_000_000

/**
 * Runs a suite to its end and resolves with `{ output, errors, problem }`; `problem` says why it was ended before (`limit` in ms, `signal`) or could not
 * be started.
 */
export function runProcess(node, args, { cwd, signal, limit }) {
  return new Promise((resolve) => {
    const env = { ...process.env, NO_COLOR: '1', NODE_NO_WARNINGS: '1' }
    const child = spawn(node, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let problem
    const stop = (why) => {
      problem ??= why
      killGroup(child.pid)
    }
    const onAbort = () => stop('interrupted')
    const onExit = () => killGroup(child.pid)
    const timer = setTimeout(() => stop(`did not end within ${limit / 1000} s`), limit)
    signal.addEventListener('abort', onAbort, { once: true })
    process.once('exit', onExit)
    if (signal.aborted) onAbort()
    const output = collect(child.stdout)
    const errors = collect(child.stderr)
    child.once('error', (error) => {
      problem ??= `could not be started: ${error.message}`
    })
    child.once('close', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      process.off('exit', onExit)
      killGroup(child.pid) // a client that took too long has lost its shell, and goes on
      resolve({ output: output.text(), errors: errors.text(), problem })
    })
  })
}

/** The checks of one result file; a failed check where it is none. */
export function readChecks(path) {
  try {
    const checks = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(checks) ? checks : [failure('checks', 'checks.json is no list of checks')]
  } catch (error) {
    return [failure('checks', `checks.json: ${error.message}`)]
  }
}

/** A check that failed, for what the suite itself does not check. */
export function failure(id, errorMessage) {
  return { id, status: 'FAILURE', errorMessage }
}

function killGroup(pid) {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {} // it is gone already
}

function collect(stream) {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk) => {
    if (text.length < outputLimit) text += chunk
  })
  return { text: () => text }
}
