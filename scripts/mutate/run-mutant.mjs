// What the tests say of one mutant.
import { rmSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { runFile } from '../house/run-file.mjs'

/**
 * Runs the test files that execute a mutant until one fails twice, or hangs: those of its own floor first, then the quicker ones. Each
 * run begins with an empty `folder`.
 */
export async function runMutant({ mutant, tests, places, copy, folder, options, signal }) {
  const rank = ({ path }) => (path.startsWith(`test/${mutant.floor}/`) ? 0 : 1e9) + places.get(path).ms
  const useful = tests.filter(
    ({ path }) => !places.get(path).failed && places.get(path).executed.has(mutant.key),
  )
  useful.sort((a, b) => rank(a) - rank(b))
  if (useful.length === 0) return { outcome: 'unreached', files: 0 }
  const { inMirror, source } = mutant.file
  const env = { CADUCEUS_TEST_FIRST: '1' }
  const end = performance.now() + options.patience * 1_000
  writeFileSync(inMirror(copy), source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end))
  try {
    let files = 0
    for (const test of useful) {
      if (performance.now() > end) break
      files += 1
      const limit = Math.max(20_000, 4 * places.get(test.path).ms)
      const run = () => runFile({ file: test.inMirror(copy), root: copy, folder, limit, signal, env })
      const first = await run()
      if (signal.aborted) break
      if (first.failed === 0) continue
      const hangs = first.problems.some((problem) => problem.startsWith('killed: '))
      if (hangs || (await run()).failed > 0)
        return { outcome: 'killed', by: test.path, files, of: useful.length }
    }
    return { outcome: 'survived', files, of: useful.length }
  } finally {
    writeFileSync(inMirror(copy), source)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
