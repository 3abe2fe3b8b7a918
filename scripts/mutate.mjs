// npm run mutate: changes one room of the library in one place at a time and tells which changes no test notices. How: scripts/mutate/README.md.
//   node scripts/mutate.mjs --room server/gateway [--room ...] [--minutes M] [--operator name] [--at path[:line] ...] [--at-once N] [--json] [part of a test's path ...]
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { floors, listFiles, repository } from './house/sources.mjs'
import { mirror, outputPath, transpile } from './house/transpile.mjs'
import { operatorNames } from './mutate/operators.mjs'
import { judge, printReport, tableRow } from './mutate/report.mjs'
import { tryRoom } from './mutate/room.mjs'
import { addSwitches } from './mutate/schema.mjs'
import { makeCopy } from './mutate/worker.mjs'

/** These run in a browser, from a text that is made of them beforehand; their switches are never asked. */
const notRun = /^transports\/view\/page\/(?!model|words)/

process.exitCode = await main()

async function main() {
  const options = readOptions()
  if (options === undefined) return 2
  process.env.CADUCEUS_TEST_PATIENCE = '3' // a mutant often hangs
  const interrupt = new AbortController()
  const onSignal = () => interrupt.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  await transpile(repository)
  const reports = []
  for (const room of options.room) {
    if (interrupt.signal.aborted) break
    reports.push(await runRoom(room, options, interrupt.signal))
  }
  if (options.json) console.log(JSON.stringify(reports, null, 2))
  else if (reports.length > 1) for (const report of reports) console.log(tableRow(report))
  return reports.every(({ survived, undecided }) => survived + undecided === 0) ? 0 : 1
}

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      room: { type: 'string', multiple: true, default: [] },
      operator: { type: 'string', multiple: true, default: operatorNames },
      minutes: { type: 'string', default: '10' },
      at: { type: 'string', multiple: true, default: [] },
      'at-once': { type: 'string', default: String(3 * availableParallelism()) },
      json: { type: 'boolean', default: false },
    },
  })
  const numbers = { minutes: Number(values.minutes), atOnce: Number(values['at-once']) }
  const wrong = [
    ...(numbers.minutes > 0 ? [] : [`--minutes: expected a number, got ${values.minutes}`]),
    ...(numbers.atOnce >= 1 ? [] : [`--at-once: expected a number, got ${values['at-once']}`]),
    ...(values.room.length > 0 ? [] : ['--room: expected a folder of the library, such as server/gateway']),
    ...values.room
      .filter((room) => !floors.includes(room.split('/')[0]) || listSources(room).length === 0)
      .map((room) => `--room: expected a folder of the library, such as server/gateway, got ${room}`),
    ...values.operator
      .filter((name) => !operatorNames.includes(name))
      .map((name) => `--operator: expected some of ${operatorNames.join(', ')}, got ${name}`),
  ]
  for (const line of wrong) console.error(line)
  return wrong.length > 0 ? undefined : { ...values, ...numbers, tests: positionals }
}

function listSources(room) {
  return listFiles(repository, room).filter((path) => path.endsWith('.ts') && !path.endsWith('/index.ts'))
}

async function runRoom(room, options, signal) {
  const start = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-mutate-'))
  const tell = options.json ? () => {} : (line) => console.log(line)
  try {
    const files = readRoom(room)
    const switched = files.map(({ path, code }) => [path, code])
    const copies = Array.from({ length: options.atOnce }, (_, number) => join(folder, `copy-${number}`))
    for (const copy of copies) makeCopy(copy, switched)
    const all = files.flatMap(({ mutants }) => mutants)
    const wanted = all.filter((mutant) => isWanted(mutant, options))
    const made = wanted.filter(({ path }) => !notRun.test(path))
    const loadBefore = loadavg()[0]
    const results = await tryRoom({ ...options, room, files, mutants: made, copies, folder, signal, tell })
    const minutes = (performance.now() - start) / 60_000
    const load = [loadBefore, loadavg()[0]].map((value) => Math.round(value * 10) / 10)
    const report = judge({ room, results, notMade: wanted.length - made.length, minutes, load })
    const kept = join(repository, 'coverage', 'mutate', `${room.replaceAll('/', '-')}.json`)
    mkdirSync(join(repository, 'coverage', 'mutate'), { recursive: true })
    writeFileSync(kept, JSON.stringify(report, null, 2))
    if (!options.json) printReport(report)
    return report
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

function isWanted({ path, line, operator }, options) {
  if (!options.operator.includes(operator)) return false
  return options.at.length === 0 || options.at.includes(path) || options.at.includes(`${path}:${line}`)
}

function readRoom(room) {
  let first = 1
  return listSources(room).map((path) => {
    const source = readFileSync(join(repository, mirror, outputPath(path)), 'utf8')
    const from = `${'../'.repeat(path.split('/').length - 1)}scripts/mutate/switch.mjs`
    const { code, mutants } = addSwitches({ path, source, first, from })
    first += mutants.length
    const lines = readFileSync(join(repository, path), 'utf8').split('\n')
    const lineAt = readLines(source)
    const told = mutants.map((mutant) => {
      const line = lineAt(mutant.start)
      const before = source.slice(mutant.start, mutant.end)
      return { ...mutant, path, line, before, within: lines[line - 1]?.trim() }
    })
    return { path, source, code, mutants: told }
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
