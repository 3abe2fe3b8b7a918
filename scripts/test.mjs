// npm test: the checks, then the fast tier of tests. The rule for tiers is in test/README.md.
//   node scripts/test.mjs [part of a path ...]         the files whose path has one of these parts, of both tiers, without the checks
//   node scripts/test.mjs --tier fast|second|all       the tier that is run where no file is named; fast by default
//   --check        the checks first, where the fast tier is run as a whole
//   --coverage  --trace-leaks  --root folder
//   --only TEXT    the tests whose name has this part
//   --alone        a process for each file
// --at-once N    files that run at a time; by default as many as the machine has cores and memory for, and up
// to as many again                  while cores have nothing to do since files wait
//   --slowest N    names the slowest files at the end
//   --within S     fails a run that takes more than S seconds
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { builtOptions, buildMirror, usesDoorsAlone } from './house/built.mjs'
import { watchIdle } from './house/idle.mjs'
import { runFile, startSharedProcess } from './house/run-file.mjs'
import { listFiles, repository } from './house/sources.mjs'
import { readHeader } from './house/tiers.mjs'
import { mirror, outputPath, transpile } from './house/transpile.mjs'

/** Bytes that a test file may need at once, with the programs it starts. */
const bytesAtOnce = 2 ** 30
/** Files that one process runs before the next one begins: what they have loaded is never unloaded. */
const filesPerProcess = 60
const withBuilt = `${process.env.NODE_OPTIONS ?? ''} ${builtOptions}`.trim()

process.exitCode = await main()

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      check: { type: 'boolean', default: false },
      tier: { type: 'string' },
      coverage: { type: 'boolean', default: false },
      'trace-leaks': { type: 'boolean', default: false },
      root: { type: 'string', default: repository },
      only: { type: 'string', default: '' },
      alone: { type: 'boolean', default: false },
      'at-once': { type: 'string' },
      slowest: { type: 'string', default: '0' },
      within: { type: 'string' },
    },
  })
  const root = resolve(values.root)
  const tier = values.tier ?? (positionals.length > 0 ? 'all' : 'fast')
  if (!['fast', 'second', 'all'].includes(tier)) {
    console.error(`--tier: expected fast, second or all, got ${tier}`)
    return 2
  }
  const start = performance.now()
  // the checks leave a core idle now and then: what the tests are made of is made meanwhile
  const checking = !values.check || tier === 'second' || positionals.length > 0 || check(root)
  const broken = await transpile(root)
  const files = selectFiles(root, tier, positionals)
  const built = values.coverage ? new Set() : await selectBuilt(root, files)
  const checked = await checking
  const outcomes = files.length === 0 ? [] : await runAll(root, files, built, values)
  const seconds = (performance.now() - start) / 1000
  printSlowest(outcomes, Number(values.slowest))
  return summarize({
    checked,
    broken,
    outcomes,
    tier,
    positionals,
    seconds,
    within: Number(values.within ?? Infinity),
  })
}

function defaultAtOnce() {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(freemem() / bytesAtOnce)))
}

async function check(root) {
  const script = join(repository, 'scripts', 'check.mjs')
  const [code] = await once(spawn(process.execPath, [script, '--root', root], { stdio: 'inherit' }), 'exit')
  return code === 0
}

/** Those that may take longest come first, so that the longest does not start last. */
function selectFiles(root, tier, parts) {
  const paths = listFiles(root, 'test').filter((path) => path.endsWith('.test.ts'))
  const wanted = paths.filter((path) => parts.length === 0 || parts.some((part) => matches(path, part)))
  const files = wanted.map((path) => ({ path, ...readHeader(readFileSync(join(root, path), 'utf8')) }))
  return files
    .map((file) => ({ ...file, part: partOf(file, tier) }))
    .filter((file) => file.problem || tier === 'all' || file.tier === tier || file.part === 'slow')
    .sort((a, b) => rank(a) - rank(b) || b.limit - a.limit)
}

/** Which tests of a file are run: those that `test.slow` marks belong to the second tier. */
function partOf({ tier: own, hasSlow }, tier) {
  if (tier === 'fast') return 'fast'
  return tier === 'second' && own === 'fast' && hasSlow ? 'slow' : undefined
}

/** The fast tier first, so that red is known early; files that share a process last: they fill what is left of the time. */
function rank({ tier, alone }) {
  return (tier === 'fast' ? 0 : 2) + (alone ? 0 : 1)
}

function matches(path, part) {
  return path.includes(part.replace(/^\.\//, '').replace(/\.ts$/, ''))
}

async function runAll(
  root,
  files,
  built,
  { coverage, 'trace-leaks': traceLeaks, only, alone, 'at-once': atOnce },
) {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-'))
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const env = {
    CADUCEUS_TEST_RUN: folder,
    ...(only ? { CADUCEUS_TEST_ONLY: only } : {}),
    ...(coverage ? { NODE_V8_COVERAGE: join(folder, 'coverage') } : {}),
    ...(traceLeaks ? { CADUCEUS_TRACE_LEAKS: '1' } : {}),
  }
  const host = join(root, mirror, 'test/support/shared.js')
  const outcomes = []
  const entries = [...files.entries()]
  // a process has the library as it is or as it is bundled, so those of a kind follow each other
  const kind = ([, file]) => 4 * rank(file) + (file.part === 'slow' ? 0 : 2) + (built.has(file.path) ? 0 : 1)
  const envOf = ({ path, part }) => ({
    ...env,
    ...(part !== undefined && { CADUCEUS_TEST_PART: part }),
    ...(built.has(path) && { NODE_OPTIONS: withBuilt }),
  })
  const queue = entries.filter(([, { quiet }]) => !quiet).sort((a, b) => kind(a) - kind(b))
  const idle = watchIdle()
  const runOne = async ([index, file], run) => {
    const { path, limit, problem } = file
    const how = {
      file: join(root, mirror, outputPath(path)),
      root,
      folder: join(folder, String(index)),
      limit,
      signal: interrupt.signal,
      env: envOf(file),
    }
    const outcome = problem ? notRun(problem) : await run(how)
    outcomes.push({ path, ...outcome })
    printFile(path, outcome)
  }
  /** Takes one file after the other; a spare one each time only when there is something idle. */
  const work = async (isSpare) => {
    let shared
    let left = 0
    let isLike
    while (!isSpare || ((await idle.next()) && freemem() > bytesAtOnce)) {
      const next = queue.shift()
      if (next === undefined || interrupt.signal.aborted) break
      if (alone || next[1].alone || files.length === 1) {
        await runOne(next, runFile)
        continue
      }
      const own = JSON.stringify([built.has(next[1].path), next[1].part])
      if (left === 0 || isLike !== own) {
        await shared?.stop()
        isLike = own
        shared = startSharedProcess({ host, root, env: envOf(next[1]) })
        left = filesPerProcess
      }
      await runOne(next, (how) => shared.run(how))
      left -= 1
    }
    await shared?.stop()
    // spare ones have nothing to wait for any more
    idle.stop()
  }
  const always = Number(atOnce ?? defaultAtOnce())
  const spare = atOnce === undefined ? always : 0
  try {
    await Promise.all(Array.from({ length: always + spare }, (_, index) => work(index >= always)))
    for (const entry of entries) if (entry[1].quiet && !interrupt.signal.aborted) await runOne(entry, runFile)
    if (coverage) await (await import('./house/coverage.mjs')).reportCoverage(root, join(folder, 'coverage'))
  } finally {
    idle.stop()
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return outcomes
}

/**
 * The files that run against the bundle, as it is up sooner, with all programs that they start. For a few files of
 * the fast tier it is not worth its build.
 */
async function selectBuilt(root, files) {
  const isMany = files.length > filesPerProcess
  const able = files.filter(
    ({ path, tier, part }) => (isMany || tier === 'second' || part === 'slow') && usesDoorsAlone(root, path),
  )
  if (able.length === 0 || !(await buildMirror(root))) return new Set()
  return new Set(able.map(({ path }) => path))
}

function notRun(problem) {
  return { passed: 0, failed: 1, skipped: [], tests: [], problems: [problem], output: '', ms: 0, cpu: 0 }
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

/** What failed, once more at the end, where whoever reads a long log begins. */
function printFailed({ path, tests, problems, output }) {
  console.log(`  ${path}`)
  for (const { name, ok } of tests) if (!ok) console.log(`    ${name}`)
  for (const problem of problems) console.log(`    the file: ${problem}`)
  const why = output.slice(Math.max(0, output.search(/^ +FAIL {2}/m))).trimEnd()
  const lines = why.split('\n').slice(0, 12)
  console.log(lines.map((line) => `    | ${line.slice(0, 200)}`).join('\n'))
}

function printSlowest(outcomes, count) {
  if (count === 0) return
  console.log('\nslowest files:')
  const slowest = [...outcomes].sort((a, b) => b.ms - a.ms).slice(0, count)
  const seconds = (ms) => `${(ms / 1000).toFixed(1).padStart(6)} s`
  for (const { path, ms, cpu } of slowest) console.log(`${seconds(ms)} ${seconds(cpu)} of CPU  ${path}`)
}

function summarize({ checked, broken, outcomes, tier, positionals, seconds, within }) {
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0)
  for (const { text } of broken) console.log(`does not parse: ${text}`)
  // With a filter, someone else's broken file is only named: a test that imports it fails by itself.
  const unparsed = positionals.length === 0 ? broken.length : 0
  const nothing = outcomes.length === 0
  if (nothing) console.log(`no test file matches ${positionals.join(' ') || `tier ${tier}`}`)
  if (!checked) console.log('failed: the check, see above')
  const late = seconds > within
  if (late) console.log(`failed: the run took ${seconds.toFixed(1)} s, more than ${within} s`)
  const failed = sum('failed') + unparsed + (nothing ? 1 : 0) + (checked ? 0 : 1) + (late ? 1 : 0)
  const bad = outcomes.filter((outcome) => outcome.failed > 0).sort((a, b) => (a.path < b.path ? -1 : 1))
  if (bad.length > 0) console.log('\nfailed files:')
  for (const outcome of bad) printFailed(outcome)
  const skipped = outcomes.reduce((total, outcome) => total + outcome.skipped.length, 0)
  console.log(`\n${outcomes.length} files, ${seconds.toFixed(1)} s${skipped ? `, ${skipped} skipped` : ''}`)
  console.log(`${sum('passed')} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}
