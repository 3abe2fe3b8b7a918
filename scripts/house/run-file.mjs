// Runs one test file in a process group of its own and tells what became of it.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { startAllowance, whenOver } from '../../test/support/allowance.mjs'

const outputLimit = 1_000_000
const endGrace = 300

/**
 * Runs a transpiled test file and resolves with `{ passed, failed, skipped, tests, problems, output, ms }`; never rejects. At
 * `limit` ms (more on a busy machine), or when `signal` aborts, the file, its process group and the children it named are killed.
 * `folder` is emptied first: what another run has reported or left there is none of this one.
 */
export async function runFile({ file, root, folder, limit, signal, env }) {
  const start = performance.now()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  mkdirSync(folder, { recursive: true })
  const facts = join(folder, 'facts')
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
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

function ended(child, limit, signal, kill) {
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
      resolve({ ...reason, ...result })
    }
    child.once('error', (error) => settle({ error }))
    child.once('exit', (code, signalName) => settle({ code, signalName }))
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
    skipped: facts.filter(({ type }) => type === 'skip'),
    passed: tests.length - failed.length,
    failed: failed.length + (problems.length > 0 ? 1 : 0),
  }
}

function describeExit({ code, signalName }) {
  return signalName ? `ended by ${signalName}` : `exit code ${code}`
}

function collect(streams) {
  const chunks = []
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

/** Names the processes of the group that are still there after the grace (a child that is just ending is none) and kills them. */
async function outlives(group, grace) {
  if (group === undefined) return ''
  const allowance = startAllowance(grace)
  while (kill(-group, 0)) {
    const members = listGroup(group)
    if (members.length === 0) return ''
    if (allowance.left() === 0 && kill(-group)) return members.map((member) => `\n       ${member}`).join('')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return ''
}

/** The command lines of a process group as /proc tells; the dead that nobody has waited for do not count. */
function listGroup(group) {
  const pids = listFolder('/proc').filter((name) => /^\d+$/.test(name))
  if (pids.length === 0) return ['(this system has no /proc to name them)']
  return pids.flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`)
    const [state, , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(memberOf) !== group || state === 'Z') return []
    return [`${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`]
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
