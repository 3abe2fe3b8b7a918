// What the official suite has.
import { runProcess } from './suite-process.mjs'

const limit = 60_000

/**
 * Resolves with the names of the scenarios for servers or clients (`side`): those at one revision, those of the extensions (`of: 'extension'`), or all.
 * Rejects when the suite lists none.
 */
export async function listScenarios({ node, entries, suite, of, signal }, side) {
  const { output, errors } = await runProcess(node, [entries[suite], 'list', `--${side}`], { signal, limit })
  const listed = [...output.matchAll(/^\s+- (\S+) \[(.*)\]$/gm)].map(([, name, tags]) => ({ name, tags }))
  if (listed.length === 0)
    throw new Error(`the suite lists no scenarios: ${(errors || output).slice(0, 400)}`)
  return listed.filter(({ tags }) => of === undefined || tags.split(',').includes(of)).map(({ name }) => name)
}
