// One run of the official suite, and what its result files say.
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { failure, readChecks, runProcess } from './suite-process.mjs'

const defaultLimit = 180_000

/**
 * Runs one suite at one revision and resolves with `{ scenario, checks }` for each scenario that it began. One that left no checks has
 * a failed check instead; so has a run that did not end within `limit` ms (default 3 min) or began nothing at all.
 */
export async function runSuite({ node, entries, suite, revision, url, scenario, folder, signal, limit }) {
  mkdirSync(folder, { recursive: true })
  const choice = scenario === undefined ? ['--suite', 'all'] : ['--scenario', scenario]
  const wire = revision === undefined ? [] : ['--spec-version', revision]
  const args = [entries[suite], 'server', '--url', url, ...choice, ...wire, '-o', folder]
  const { output, errors, problem } = await runProcess(node, args, {
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
