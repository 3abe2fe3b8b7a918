// Runs test files, each in a process group of its own or many in one process, and tells what became of each.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { startAllowance, whenOver } from '../../test/support/allowance.mjs'

const withSourceMaps = fileURLToPath(new URL('./with-source-maps.mjs', import.meta.url))
const outputLimit = 1_000_000
const endGrace = 300

/**
 * Runs a transpiled test file in a process of its own and resolves with `{ passed, failed, skipped, tests, problems, output, ms }`; never rejects. At
 * `limit` ms (more on a busy machine), or when `signal` aborts, the file, its process group and the children it named are killed.
 * `folder` is emptied first: what another run has reported or left there is none of this one.
 */
export async function runFile({ file, root, folder, limit, signal, env }) {
  const start = performance.now()
  const facts = emptyFolder(folder)
  const child = spawn(process.execPath, [withSourceMaps, file], {
    cwd: root,
    env: { ...process.env, ...env, CADUCEUS_TEST_REPORT: facts, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const output = collect([child.stdout, child.stderr])
  const end = await ended(child, limit, signal, () => killAll(child.pid, facts))
  const leftOver = await outlives(child.pid, endGrace)
  await output.closed(endGrace)
  return {
    ...judge(readFacts(facts), end, leftOver, limit),
    output: output.text(),
    ms: performance.now() - start,
  }
}

/**
 * A process that runs one test file after another, so that what all of them load is loaded once. After a file that fails the next
 * one gets a new process; with `keeps`, only after one that left something behind, hung or ended it.
 */
export function startSharedProcess({ host, root, env, keeps = false, flags = [withSourceMaps] }) {
  const running = { child: undefined, wire: undefined, output: undefined }
  const start = () => {
    const child = spawn(process.execPath, [...flags, host], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    })
    const wire = child.stdio[3]
    wire.on('error', () => {}) // it ends while it is written to: its exit tells more
    child.once('exit', () => running.child === child && Object.assign(running, { child: undefined }))
    Object.assign(running, { child, wire, output: collect([child.stdout, child.stderr]) })
  }
  /** As `runFile`; one at a time. */
  const run = async ({ file, folder, limit, signal }) => {
    const begin = performance.now()
    const facts = emptyFolder(folder)
    if (running.child === undefined) start()
    const { child, wire, output } = running
    const done = new Promise((resolve) => wire.once('data', () => resolve({ code: 0, signalName: null })))
    wire.write(`${JSON.stringify({ file, facts, folder })}\n`)
    const end = await ended(child, limit, signal, () => killAll(child.pid, facts), done)
    const leftOver = await outlives(child.pid, endGrace, running.child === child ? child.pid : undefined)
    const verdict = judge(readFacts(facts), end, leftOver, limit)
    // what has failed may have left something behind
    if (verdict.problems.length > 0 || (verdict.failed > 0 && !keeps)) await stop()
    if (running.child === child) await new Promise((resolve) => setTimeout(resolve))
    else await output.closed(endGrace)
    return { ...verdict, output: output.take(), ms: performance.now() - begin }
  }
  /** Lets the process end, so that it can write what it has measured; resolves when it is gone. */
  const stop = async () => {
    const { child, wire } = running
    if (child === undefined) return
    const callOff = whenOver(endGrace * 10, () => killGroup(child.pid))
    const gone = new Promise((resolve) => child.once('exit', resolve))
    wire.end()
    await gone
    callOff()
  }
  return { run, stop }
}

function emptyFolder(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  mkdirSync(folder, { recursive: true })
  return join(folder, 'facts')
}

/** How the process ended; or, for a file in a process with others, what `done` resolves with. */
function ended(child, limit, signal, kill, done) {
  return new Promise((resolve) => {
    const reason = { killed: undefined }
    const stop = (why) => {
      reason.killed ??= why
      kill()
    }
    const onAbort = () => stop('interrupted')
    const callOff = whenOver(limit, () => stop('time'))
    signal.addEventListener('abort', onAbort, { once: true })
    const settle = (result) => {
      callOff()
      signal.removeEventListener('abort', onAbort)
      child.off('error', onError).off('exit', onExit)
      resolve({ ...reason, ...result })
    }
    const onError = (error) => settle({ error })
    const onExit = (code, signalName) => settle({ code, signalName })
    child.once('error', onError).once('exit', onExit)
    done?.then(settle)
  })
}

function judge(facts, end, leftOver, limit) {
  const tests = facts.filter(({ type }) => type === 'test')
  const problems = facts.filter(({ type }) => type === 'problem').map(({ text }) => text)
  const finished = facts.some(({ type }) => type === 'end')
  const failed = tests.filter(({ ok }) => !ok)
  if (end.error) problems.push(`could not be started: ${end.error.message}`)
  else if (end.killed === 'time') problems.push(`killed: did not end within ${limit / 1000} s`)
  else if (end.killed) problems.push('killed: the run was interrupted')
  else if (!finished && tests.length === 0) problems.push(`no test ran (${describeExit(end)})`)
  else if (!finished) problems.push(`ended before its tests were finished (${describeExit(end)})`)
  else if (end.code !== 0 && failed.length === 0 && problems.length === 0) problems.push(describeExit(end))
  if (leftOver && !end.killed)
    problems.push(`left processes running in its process group (killed)${leftOver}`)
  return {
    tests,
    problems,
    cpu: facts.find(({ type }) => type === 'end')?.cpu ?? 0,
    skipped: facts.filter(({ type }) => type === 'skip'),
    passed: tests.length - failed.length,
    failed: failed.length + (problems.length > 0 ? 1 : 0),
  }
}

function describeExit({ code, signalName }) {
  return signalName ? `ended by ${signalName}` : `exit code ${code}`
}

function collect(streams) {
  let chunks = []
  let size = 0
  for (const stream of streams) {
    stream.on('data', (chunk) => {
      chunks.push(chunk)
      size += chunk.length
      while (size > outputLimit && chunks.length > 1) size -= chunks.shift().length
    })
  }
  const closing = Promise.all(
    streams.map((stream) => new Promise((resolve) => stream.once('close', resolve))),
  )
  return {
    text: () => Buffer.concat(chunks).toString(),
    /** The text since it was last taken. */
    take: () => {
      const text = Buffer.concat(chunks).toString()
      chunks = []
      size = 0
      return text
    },
    /** A process that outlived the file may hold the pipes open: wait a little, then let go. */
    closed: async (grace) => {
      let timer
      await Promise.race([closing, new Promise((resolve) => (timer = setTimeout(resolve, grace)))])
      clearTimeout(timer)
      for (const stream of streams) stream.destroy()
    },
  }
}

function readFacts(path) {
  const lines = read(path).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

function killAll(pid, facts) {
  const known = readFacts(facts)
  const gone = new Set(known.filter(({ type }) => type === 'childExit').map((fact) => fact.pid))
  const children = known.filter(({ type, pid: child }) => type === 'child' && child > 0 && !gone.has(child))
  for (const { pid: child } of children) {
    kill(-child)
    kill(child)
  }
  killGroup(pid)
}

function killGroup(pid) {
  if (pid !== undefined) kill(-pid)
}

/**
 * Names the processes of the group that are still there after the grace (a child that is just ending is none), and kills them; its
 * `leader` may stay.
 */
async function outlives(group, grace, leader) {
  if (group === undefined) return ''
  const allowance = startAllowance(grace)
  while (kill(-group, 0)) {
    // without /proc nobody can tell the leader from what it has left behind
    const members = listGroup(group).filter(({ pid }) => pid !== leader && (pid > 0 || leader === undefined))
    if (members.length === 0) return ''
    if (allowance.left() === 0) {
      for (const { pid } of members) kill(pid)
      return members.map(({ pid, command }) => `\n       ${pid} ${command}`).join('')
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return ''
}

/** The command lines of a process group as /proc tells; the dead that nobody has waited for do not count. */
function listGroup(group) {
  const pids = listFolder('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  if (pids.length === 0) return [{ pid: -group, command: '(this system has no /proc to name them)' }]
  return pids.flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`)
    const [state, , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(memberOf) !== group || state === 'Z') return []
    return [{ pid, command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }]
  })
}

function listFolder(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid, signal = 'SIGKILL') {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}
