// npm run conformance: the official suite against the fixture of test/conformance/, at every revision. Prints each failure and warning.
//   node scripts/conformance.mjs [--url http://127.0.0.1:3000/mcp] [--run 0.2@2025-11-25] [--scenario name] [--verbose]
// The first run installs scripts/conformance/package-lock.json: the suite, and the Node it needs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startFixture } from './conformance/fixture.mjs'
import { install } from './conformance/install.mjs'
import { runSuite } from './conformance/suite.mjs'
import { createTally } from './conformance/tally.mjs'

const runs = [
  { name: '0.2@2025-03-26', suite: 'conformance02', revision: '2025-03-26' },
  { name: '0.2@2025-06-18', suite: 'conformance02', revision: '2025-06-18' },
  { name: '0.2@2025-11-25', suite: 'conformance02', revision: '2025-11-25' },
  { name: '0.2@2026-07-28', suite: 'conformance02', revision: '2026-07-28' },
  { name: '0.1', suite: 'conformance01', revision: undefined },
]

process.exitCode = await main()

async function main() {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      run: { type: 'string', multiple: true, default: runs.map(({ name }) => name) },
      scenario: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  })
  const unknown = values.run.find((wanted) => !runs.some(({ name }) => name === wanted))
  if (unknown !== undefined) {
    console.error(`--run: expected some of ${runs.map(({ name }) => name).join(', ')}, got ${unknown}`)
    return 2
  }
  const tools = install()
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const fixture = values.url === undefined ? await startFixture(interrupt.signal) : undefined
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-conformance-'))
  const tally = createTally(values.verbose)
  try {
    for (const run of runs.filter(({ name }) => values.run.includes(name))) {
      const target = { ...tools, url: values.url ?? fixture.url, scenario: values.scenario }
      const scenarios = await runSuite({
        ...target,
        ...run,
        folder: join(folder, run.name),
        signal: interrupt.signal,
      })
      for (const { scenario, checks } of scenarios) tally.add(run.name, scenario, checks)
    }
    tally.add('fixture', 'server', (await fixture?.stop()) ?? [])
  } finally {
    await fixture?.stop()
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return tally.finish()
}
