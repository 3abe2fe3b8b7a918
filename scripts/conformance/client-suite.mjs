// One scenario of the official suite against our client, and what its result files say.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const client = join(dirname(fileURLToPath(import.meta.url)), 'client.mjs')
const limit = 60_000

/** The names of the auth scenarios of a suite at one revision; without one those of extensions (0.2) or all (0.1). Throws. */
export function listScenarios({ node, entries, suite, revision }) {
  const wire = revision === undefined ? [] : ['--spec-version', revision]
  const names = list([node, entries[suite]], wire)
  if (suite === 'conformance01' || revision !== undefined) return names
  const dated = new Set(
    ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'].flatMap((one) =>
      list([node, entries[suite]], ['--spec-version', one]),
    ),
  )
  return names.filter((name) => !dated.has(name))
}

function list([node, entry], more) {
  const { stdout, status } = spawnSync(node, [entry, 'list', '--client', ...more], {
    encoding: 'utf8',
    timeout: limit,
  })
  if (status !== 0) throw new Error(`the suite does not list its scenarios (${status})`)
  return [...stdout.matchAll(/^\s*-?\s*(auth\/[\w.-]+)/gm)].map(([, name]) => name)
}

/** Runs one scenario and resolves with its checks; a client that fails where it must not, or a run without checks, is a failed check. */
export function runScenario({ node, entries, suite, revision, scenario, folder, name }) {
  const out = join(folder, `${name}-${scenario}`.replace(/\W+/g, '_'))
  mkdirSync(out, { recursive: true })
  const wire = revision === undefined ? [] : ['--spec-version', revision]
  const command = `${process.execPath} ${client}`
  const args = [entries[suite], 'client', '--command', command, '--scenario', scenario, ...wire, '-o', out]
  const { stderr = '' } = spawnSync(node, args, {
    encoding: 'utf8',
    timeout: limit,
    env: { ...process.env, NO_COLOR: '1' },
  })
  const path = readdirSync(out, { recursive: true }).find((one) => String(one).endsWith('checks.json'))
  if (path === undefined) return [failure('finished', `wrote no checks: ${stderr.slice(-600)}`)]
  const checks = JSON.parse(readFileSync(join(out, String(path)), 'utf8'))
  const ended = /CLIENT (?:TIMED OUT|EXITED WITH ERROR[^\n]*)/.exec(stderr)?.[0]
  return ended === undefined ? checks : [...checks, failure('client', `${ended}: ${stderr.slice(-900)}`)]
}

function failure(id, errorMessage) {
  return { id, status: 'FAILURE', errorMessage }
}
