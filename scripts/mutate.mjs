// npm run mutate: changes the library in one place at a time and tells which changes no test notices.
//   node scripts/mutate.mjs [--floor name] [--seed N] [--count per floor] [--seconds S] [--patience S] [--at path:line ...] [--json] [test ...]
// It works on copies below the temporary folder. A change is killed when a test file that executes its place fails twice, or hangs.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { floors, listFiles, repository } from './house/sources.mjs'
import { mirror, outputPath, transpile } from './house/transpile.mjs'
import { listMutants, operatorNames } from './mutate/operators.mjs'
import { findPlaces } from './mutate/places.mjs'
import { pickMutants } from './mutate/pick.mjs'
import { printReport } from './mutate/report.mjs'
import { runMutant } from './mutate/run-mutant.mjs'

/** These run packages, builds or other projects, never the mirror. */
const otherTests = /^test\/(?:packaging|scripts|types)\//
const atOnce = 2

process.exitCode = await main()

async function main() {
  const options = readOptions()
  if (options === undefined) return 2
  setPriority(10) // whoever else works on this machine comes first
  process.env.CADUCEUS_TEST_PATIENCE = '3' // a mutant often hangs
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-mutate-'))
  const tell = options.json ? () => {} : (line) => console.log(line)
  try {
    const copies = await makeCopies(folder)
    const library = readLibrary(copies[0])
    const tests = listTests(options.tests)
    const kept = join(repository, 'coverage', 'mutate.json')
    const places = await findPlaces({ tests, library, copies, kept, folder, signal: interrupt.signal, tell })
    const mutants = pickMutants(library, options)
    const results = await runAll({
      mutants,
      tests,
      places,
      copies,
      folder,
      options,
      signal: interrupt.signal,
      tell,
    })
    printReport(results, options)
    return results.some(({ outcome }) => outcome === 'survived') ? 1 : 0
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      floor: { type: 'string', multiple: true, default: floors },
      operator: { type: 'string', multiple: true, default: operatorNames },
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '40' },
      seconds: { type: 'string', default: 'Infinity' },
      patience: { type: 'string', default: 'Infinity' },
      at: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
    },
  })
  const numbers = Object.fromEntries(
    ['seed', 'count', 'seconds', 'patience'].map((name) => [name, Number(values[name])]),
  )
  const wrong = [
    ...Object.keys(numbers)
      .filter((name) => !(numbers[name] >= 0))
      .map((name) => `--${name}: expected a number, got ${values[name]}`),
    ...values.floor
      .filter((name) => !floors.includes(name))
      .map((name) => `--floor: expected some of ${floors.join(', ')}, got ${name}`),
    ...values.operator
      .filter((name) => !operatorNames.includes(name))
      .map((name) => `--operator: expected some of ${operatorNames.join(', ')}, got ${name}`),
  ]
  for (const line of wrong) console.error(line)
  return wrong.length > 0 ? undefined : { ...values, ...numbers, tests: positionals }
}

/** Copies of the project that can be changed: one for each test file that runs at once. */
async function makeCopies(folder) {
  const copies = Array.from({ length: atOnce }, (_, number) => join(folder, `copy-${number}`))
  const paths = listFiles(repository)
  for (const copy of copies) {
    mkdirSync(copy)
    for (const path of paths) cpSync(join(repository, path), join(copy, path), { recursive: true })
    symlinkSync(join(repository, 'node_modules'), join(copy, 'node_modules'))
    const broken = await transpile(copy)
    if (broken.length > 0) throw new Error(`does not parse: ${broken[0].text}`)
  }
  return copies
}

function readLibrary(copy) {
  const paths = floors
    .flatMap((floor) => listFiles(repository, floor))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('/index.ts'))
  return paths.map((path) => {
    const inMirror = (root) => join(root, mirror, outputPath(path))
    const source = readFileSync(inMirror(copy), 'utf8')
    const lines = readFileSync(join(repository, path), 'utf8').split('\n')
    const lineAt = readLines(source)
    const mutants = listMutants(path, source).map((mutant, index) => {
      const line = lineAt(mutant.start)
      const before = source.slice(mutant.start, mutant.end)
      return {
        ...mutant,
        key: `${path}#${index}`,
        path,
        floor: path.split('/')[0],
        line,
        before,
        within: lines[line - 1]?.trim(),
      }
    })
    return { path, source, mutants, inMirror }
  })
}

/** From an offset of a transpiled file to the line of its source. */
function readLines(source) {
  const [, encoded] = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)/.exec(source) ?? []
  const map = new SourceMap(JSON.parse(Buffer.from(encoded ?? '', 'base64').toString() || '{}'))
  return (offset) => {
    const above = source.slice(0, offset).split('\n')
    return map.findEntry(above.length - 1, above.at(-1).length).originalLine + 1
  }
}

/** Those whose path has one of the parts; all, when there is none. */
function listTests(parts) {
  const paths = listFiles(repository, 'test').filter(
    (path) => path.endsWith('.test.ts') && !otherTests.test(path),
  )
  const wanted = paths.filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  return wanted.map((path) => ({
    path,
    limit: 240_000,
    inMirror: (root) => join(root, mirror, outputPath(path)),
  }))
}

async function runAll({ mutants, tests, places, copies, folder, options, signal, tell }) {
  const end = performance.now() + options.seconds * 1_000
  const results = []
  const queue = [...mutants]
  const work = async (copy, number) => {
    for (
      let mutant = queue.shift();
      mutant && !signal.aborted && performance.now() < end;
      mutant = queue.shift()
    ) {
      const start = performance.now()
      const outcome = await runMutant({
        mutant,
        tests,
        places,
        copy,
        folder: join(folder, `run-${number}`),
        options,
        signal,
      })
      if (signal.aborted) return
      const { file, ...facts } = mutant
      const result = { ...facts, ...outcome, ms: Math.round(performance.now() - start) }
      results.push(result)
      tell(
        `${results.length} of ${mutants.length}  ${result.outcome.padEnd(9)} ${mutant.path}:${mutant.line} ${mutant.operator}  ${result.by ?? ''}`,
      )
    }
  }
  await Promise.all(copies.map(work))
  return results
}
