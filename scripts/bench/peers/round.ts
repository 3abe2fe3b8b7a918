import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Entrant, Figures, Scenario } from './measure.js'

const runOne = fileURLToPath(new URL('./run-one.js', import.meta.url))
/** Milliseconds one round of one scenario may take. */
const patience = 100_000

/**
 * One round of one scenario, in a process of its own; without figures where it failed, and the reason is on
 * standard error.
 */
export async function measureRound(
  scenario: Scenario,
  entrants: readonly Entrant[],
  profiles?: string,
  signal?: AbortSignal,
): Promise<Figures> {
  const args = [runOne, scenario, JSON.stringify(entrants), ...(profiles === undefined ? [] : [profiles])]
  try {
    const run = promisify(execFile)(process.execPath, args, {
      timeout: patience,
      ...(signal === undefined ? {} : { signal }),
    })
    const { stdout, stderr } = await run
    if (stderr !== '') console.error(stderr.trimEnd().replace(/^/gm, `${scenario} `))
    return JSON.parse(stdout) as Figures
  } catch (error) {
    console.error(`${scenario}: did not finish: ${error instanceof Error ? error.message : error}`)
    return {}
  }
}
