// npm run conformance: the official suite against the server and the client of test/conformance/, at every revision. Prints each failure and warning.
//   node scripts/conformance.mjs [--side client] [--run 0.2@2025-11-25] [--scenario name] [--verbose] [--url http://127.0.0.1:3000/mcp]
// The first run installs scripts/conformance/package-lock.json: the suite, and the Node it needs. With --url another server is tested, and no client.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runScenario } from './conformance/client-suite.mjs'
import { expected } from './conformance/expected.mjs'
import { startFixture } from './conformance/fixture.mjs'
import { install } from './conformance/install.mjs'
import { listScenarios } from './conformance/list-scenarios.mjs'
import { runs } from './conformance/runs.mjs'
import { runSuite } from './conformance/suite.mjs'
import { createTally } from './conformance/tally.mjs'
import { repository } from './house/sources.mjs'

const sides = { server: testServer, client: testClient }
/** Scenarios of the client at once. */
const atOnce = 2

process.exitCode = await main()

async function main() {
  const { values } = parseArgs({
    options: {
      side: { type: 'string', multiple: true },
      run: { type: 'string', multiple: true },
      scenario: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      url: { type: 'string' },
    },
  })
  const side = values.side ?? (values.url === undefined ? Object.keys(sides) : ['server'])
  const known = [...new Set(side.flatMap((name) => runs[name] ?? []).map(({ name }) => name))]
  const wrong = wrongOf('--side', side, Object.keys(sides)) ?? wrongOf('--run', values.run ?? known, known)
  if (wrong !== undefined) {
    console.error(wrong)
    return 2
  }
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-conformance-'))
  const tally = createTally(values.verbose, expected)
  const given = { ...install(), ...values, folder, signal: interrupt.signal, tally }
  try {
    for (const name of side) {
      const wanted = runs[name].filter((run) => values.run?.includes(run.name) ?? true)
      if (wanted.length > 0) await sides[name](given, wanted)
    }
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return tally.finish()
}

function wrongOf(option, values, known) {
  const unknown = values.find((value) => !known.includes(value))
  return unknown === undefined ? undefined : `${option}: expected some of ${known.join(', ')}, got ${unknown}`
}

async function testServer({ tally, ...given }, wanted) {
  const fixture = given.url === undefined ? await startFixture(given.signal) : undefined
  const url = given.url ?? fixture.url
  try {
    for (const run of wanted) {
      if (given.scenario !== undefined && (await namesOf(given, run, 'server')).length === 0) continue
      const folder = join(given.folder, `server ${run.name}`)
      // scenarios of extensions are in no suite of a revision
      const names = run.of === 'extension' ? await namesOf(given, run, 'server') : [given.scenario]
      for (const [at, name] of names.entries()) {
        const own = run.of === 'extension' ? join(folder, String(at)) : folder
        const results = await runSuite({ ...given, ...run, url, scenario: name, folder: own })
        for (const { scenario, checks } of results) tally.add(`server ${run.name}`, scenario, checks)
      }
    }
  } finally {
    const problems = (await fixture?.stop()) ?? []
    if (problems.length > 0) tally.add('server', 'fixture', problems)
  }
}

async function testClient({ tally, ...given }, wanted) {
  const command = commandOf(process.execPath, join(repository, 'scripts', 'conformance-client.mjs'))
  for (const run of wanted) {
    const names = await namesOf(given, run, 'client')
    const results = severalAtOnce(names, (scenario) => {
      const folder = join(given.folder, `client ${run.name} ${scenario}`)
      return runScenario({ ...given, ...run, command, scenario, folder })
    })
    for (const [at, checks] of results.entries()) tally.add(`client ${run.name}`, names[at], await checks)
  }
}

async function namesOf(given, run, side) {
  const names = await listScenarios({ ...given, ...run }, side)
  return names.filter((name) => given.scenario === undefined || name === given.scenario)
}

/** The suite hands its command to a shell. */
function commandOf(...words) {
  return words.map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(' ')
}

/** A promise for each, in order. */
function severalAtOnce(items, start) {
  const lanes = Array.from({ length: atOnce }, () => Promise.resolve())
  return items.map((item, at) => {
    const lane = at % atOnce
    const result = lanes[lane].then(() => start(item))
    lanes[lane] = result.catch(() => {})
    return result
  })
}
