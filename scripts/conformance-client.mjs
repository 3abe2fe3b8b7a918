// npm run conformance:client: the official suite's auth scenarios against the client of test/conformance/. Prints each failure and warning.
//   node scripts/conformance-client.mjs [--run 0.2@2025-11-25] [--scenario auth/basic-cimd] [--verbose]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { listScenarios, runScenario } from './conformance/client-suite.mjs'
import { install } from './conformance/install.mjs'
import { createTally } from './conformance/tally.mjs'
import { floors, repository } from './house/sources.mjs'
import { transpile } from './house/transpile.mjs'

const runs = [
  { name: '0.2@2025-03-26', suite: 'conformance02', revision: '2025-03-26' },
  { name: '0.2@2025-06-18', suite: 'conformance02', revision: '2025-06-18' },
  { name: '0.2@2025-11-25', suite: 'conformance02', revision: '2025-11-25' },
  { name: '0.2@2026-07-28', suite: 'conformance02', revision: '2026-07-28' },
  { name: '0.2 extensions', suite: 'conformance02', revision: undefined },
  { name: '0.1', suite: 'conformance01', revision: undefined },
]
/** What a strict client has to fail, and what is for a later version. */
const expected = new Map([
  ['0.1 auth/2025-03-26-oauth-metadata-backcompat', 'this mock names a wrong issuer (RFC 8414, section 3.3)'],
  ['0.2 extensions auth/dpop', 'DPoP is not there yet'],
  ['0.2 extensions auth/dpop-nonce', 'DPoP is not there yet'],
  ['0.2 extensions auth/wif-jwt-bearer', 'workload identity federation is not there yet'],
])

process.exitCode = await main()

async function main() {
  const { values } = parseArgs({
    options: {
      run: { type: 'string', multiple: true, default: runs.map(({ name }) => name) },
      scenario: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  })
  const tools = install()
  const broken = await transpile(repository, [...floors, 'test/conformance'])
  for (const { text } of broken) console.error(`does not parse: ${text}`)
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-conformance-'))
  const tally = createTally(values.verbose)
  try {
    for (const run of runs.filter(({ name }) => values.run.includes(name))) {
      const names = listScenarios({ ...tools, ...run }).filter(
        (name) => values.scenario === undefined || name === values.scenario,
      )
      for (const scenario of names) {
        const why = expected.get(`${run.name} ${scenario}`)
        const checks = await runScenario({ ...tools, ...run, scenario, folder })
        if (why === undefined) tally.add(run.name, scenario, checks)
        else if (checks.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING'))
          tally.add(run.name, scenario, [
            { id: 'expected', status: 'FAILURE', errorMessage: `passes by now: ${why}` },
          ])
        else console.log(`expected failure [${run.name}] ${scenario}: ${why}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return tally.finish()
}
