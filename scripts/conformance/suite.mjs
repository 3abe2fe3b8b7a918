// One run of the official suite, and what its result files say.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const defaultLimit = 180_000
const outputLimit = 4_000_000
const decides = new Set(['SUCCESS', 'FAILURE', 'WARNING'])

/**
 * Runs one suite at one revision and resolves with `{ scenario, checks }` for each scenario that it began. One that left no checks has
 * a failed check instead; so has a run that did not end within `limit` ms (default 3 min) or began nothing at all.
 */
export async function runSuite({ node, entries, suite, revision, url, scenario, folder, signal, limit }) {
  mkdirSync(folder, { recursive: true })
  const choice = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario]
  const wire = revision === undefined ? [] : ['--spec-version', revision]
  const args = [entries[suite], 'server', '--url', url, ...choice, ...wire, '-o', folder]
  const { output, errors, problem } = await run(node, args, {
    cwd: folder,
    signal,
    limit: limit ?? defaultLimit,
  })
  const written = readResults(folder)
  const begun = [...output.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(([, name]) => name)
  const results = begun
    .filter((name) => !written.has(name))
    .map((name) => ({ scenario: name, checks: [unfinished(name, errors)] }))
  for (const [name, checks] of written) results.push({ scenario: name, checks })
  const why = problem ?? whyIncomplete(output, results)
  if (why !== undefined) results.push({ scenario: '(run)', checks: [failure('run', why)] })
  return results.sort((a, b) => a.scenario.localeCompare(b.scenario))
}

function run(node, args, { cwd, signal, limit }) {
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
      resolve({ output: output.text(), errors: errors.text(), problem })
    })
  })
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

/** The suite names its folders `server-SCENARIO-TIME`, the time as ISO 8601 with `-` for `:` and `.`. */
function readResults(folder) {
  const found = new Map()
  for (const name of readdirSync(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1]
    const path = join(folder, name, 'checks.json')
    if (scenario !== undefined && existsSync(path)) found.set(scenario, readChecks(path))
  }
  return found
}

function readChecks(path) {
  try {
    const checks = JSON.parse(readFileSync(path, 'utf8'))
    if (!Array.isArray(checks)) return [failure('checks', 'checks.json is no list of checks')]
    return checks.some(({ status }) => decides.has(status)) ? checks : [...checks, undecided(checks)]
  } catch (error) {
    return [failure('checks', `checks.json: ${error.message}`)]
  }
}

/** A scenario that could not be carried out may write that it began, and nothing else. */
function undecided(checks) {
  return failure(
    'decided',
    `no check has a verdict: ${checks.map(({ id, status }) => `${id} ${status}`).join(', ')}`,
  )
}

function unfinished(scenario, errors) {
  const start = errors.indexOf(`Failed to run scenario ${scenario}:`)
  return failure('finished', start === -1 ? 'wrote no checks' : errors.slice(start, start + 400))
}

/** The suite says how many scenarios it is going to run: fewer results than that are not a pass. */
function whyIncomplete(output, results) {
  const announced = /^Running \S+ suite \((\d+) scenarios?\)/m.exec(output)?.[1]
  if (announced !== undefined && results.length < Number(announced))
    return `${announced} scenarios announced, ${results.length} run`
  return results.length === 0 ? `ran nothing: ${output.slice(0, 400)}` : undefined
}

function failure(id, errorMessage) {
  return { id, status: 'FAILURE', errorMessage }
}
