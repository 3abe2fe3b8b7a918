// npm test: transpiles the sources and runs each test file in its own process, two at a time; with --check after the checks.
//   node scripts/test.mjs [--check] [--coverage] [--trace-leaks] [--root folder] [part of a path ...]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { runFile } from './house/run-file.mjs'
import { listFiles, repository } from './house/sources.mjs'
import { mirror, outputPath, transpile } from './house/transpile.mjs'

const defaultLimit = 60_000
const atOnce = 2

process.exitCode = await main()

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      check: { type: 'boolean', default: false },
      coverage: { type: 'boolean', default: false },
      'trace-leaks': { type: 'boolean', default: false },
      root: { type: 'string', default: repository },
    },
  })
  const root = resolve(values.root)
  const start = performance.now()
  const checked = !values.check || check(root)
  const broken = await transpile(root)
  const files = selectFiles(root, positionals)
  const outcomes = files.length === 0 ? [] : await runAll(root, files, values)
  return summarize({ checked, broken, outcomes, positionals, seconds: (performance.now() - start) / 1000 })
}

function check(root) {
  const script = join(repository, 'scripts', 'check.mjs')
  return spawnSync(process.execPath, [script, '--root', root], { stdio: 'inherit' }).status === 0
}

/** Files with a raised time limit come first, so that the longest does not start last. */
function selectFiles(root, parts) {
  const paths = listFiles(root, 'test').filter((path) => path.endsWith('.test.ts'))
  const wanted = paths.filter((path) => parts.length === 0 || parts.some((part) => matches(path, part)))
  const files = wanted.map((path) => ({ path, limit: readLimit(join(root, path)) }))
  return files.sort((a, b) => b.limit - a.limit)
}

function matches(path, part) {
  return path.includes(part.replace(/^\.\//, '').replace(/\.ts$/, ''))
}

/** `// time limit: 120 s` among the first lines raises the limit of a file. */
function readLimit(path) {
  const top = readFileSync(path, 'utf8').split('\n', 10).join('\n')
  const seconds = /^\/\/ time limit: (\d+) s$/m.exec(top)?.[1]
  return seconds ? Number(seconds) * 1000 : defaultLimit
}

async function runAll(root, files, { coverage, 'trace-leaks': traceLeaks }) {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-'))
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const env = {
    ...(coverage ? { NODE_V8_COVERAGE: join(folder, 'coverage') } : {}),
    ...(traceLeaks ? { CADUCEUS_TRACE_LEAKS: '1' } : {}),
  }
  const outcomes = []
  const queue = [...files.entries()]
  const work = async () => {
    for (let next = queue.shift(); next && !interrupt.signal.aborted; next = queue.shift()) {
      const [index, { path, limit }] = next
      const file = join(root, mirror, outputPath(path))
      const own = join(folder, String(index))
      const outcome = await runFile({ file, root, folder: own, limit, signal: interrupt.signal, env })
      outcomes.push({ path, ...outcome })
      printFile(path, outcome)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
    if (coverage) await (await import('./house/coverage.mjs')).reportCoverage(root, join(folder, 'coverage'))
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return outcomes
}

function printFile(path, { passed, failed, tests, skipped, problems, output, ms }) {
  const verdict = failed === 0 ? 'ok  ' : 'FAIL'
  console.log(
    `${verdict} ${path}  ${passed} passed${failed ? `, ${failed} failed` : ''}  ${Math.round(ms)} ms`,
  )
  for (const { name, reason } of skipped) console.log(`     skipped ${name}: ${reason}`)
  if (failed === 0) return
  for (const { name, ok } of tests) if (!ok) console.log(`     failed  ${name}`)
  for (const problem of problems) console.log(`     failed  the file: ${problem}`)
  console.log(output.trimEnd().replace(/^/gm, '     | '))
}

function summarize({ checked, broken, outcomes, positionals, seconds }) {
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0)
  for (const { text } of broken) console.log(`does not parse: ${text}`)
  // With a filter, someone else's broken file is only named: a test that imports it fails by itself.
  const unparsed = positionals.length === 0 ? broken.length : 0
  const nothing = outcomes.length === 0
  if (nothing) console.log(`no test file matches ${positionals.join(' ') || 'test/**/*.test.ts'}`)
  if (!checked) console.log('failed: the check, see above')
  const failed = sum('failed') + unparsed + (nothing ? 1 : 0) + (checked ? 0 : 1)
  const bad = outcomes.filter((outcome) => outcome.failed > 0).map(({ path }) => path)
  if (bad.length > 0) console.log(`\nfailed files:\n  ${bad.sort().join('\n  ')}`)
  const skipped = outcomes.reduce((total, outcome) => total + outcome.skipped.length, 0)
  console.log(`\n${outcomes.length} files, ${seconds.toFixed(1)} s${skipped ? `, ${skipped} skipped` : ''}`)
  console.log(`${sum('passed')} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}
