// One scenario of the official suite for clients, and what its result files say.
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { failure, readChecks, runProcess } from './suite-process.mjs'

/** Milliseconds that the suite gives a client, and that we give the suite. */
const clientLimit = 30_000
const defaultLimit = 60_000

/**
 * Runs one scenario against `command`, to which the suite adds its address, and resolves with the checks. A client that takes too long, or fails where
 * it must not, is a failed check; so is a scenario without checks.
 */
export async function runScenario({
  node,
  entries,
  suite,
  revision,
  scenario,
  command,
  folder,
  signal,
  limit,
}) {
  if (signal.aborted) return [failure('run', 'interrupted')]
  mkdirSync(folder, { recursive: true })
  const what = ['client', '--command', command, '--scenario', scenario, '--timeout', String(clientLimit)]
  const wire = revision === undefined ? [] : ['--spec-version', revision]
  const { errors, problem } = await runProcess(node, [entries[suite], ...what, ...wire, '-o', folder], {
    signal,
    limit: limit ?? defaultLimit,
  })
  const checks = written(folder) ?? [failure('finished', `wrote no checks: ${errors.slice(-600)}`)]
  const ended = /CLIENT (?:TIMED OUT|EXITED WITH ERROR \(code -?\d+\))/.exec(errors)?.[0]
  if (problem !== undefined) checks.push(failure('run', problem))
  if (ended !== undefined) checks.push(failure('client', `${ended}: ${said(errors)}`))
  return checks
}

function written(folder) {
  const path = readdirSync(folder, { recursive: true }).find((one) => String(one).endsWith('checks.json'))
  return path === undefined ? undefined : readChecks(join(folder, String(path)))
}

/** What the client wrote to standard error, as the suite repeats it. */
function said(errors) {
  const start = errors.lastIndexOf('\nStderr:')
  return start === -1 ? errors.slice(-400) : errors.slice(start + '\nStderr:'.length)
}
