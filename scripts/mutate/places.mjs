// Which test files execute which mutants: taken once from what V8 counts, and kept beside the coverage reports.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runFile } from '../house/run-file.mjs'

/**
 * Runs each test file once, in any of the `copies`, and resolves with a map from test file to `{ ms, failed, executed }`; `executed`
 * holds the keys of mutants. What the kept answers know of unchanged files is not asked again.
 */
export async function findPlaces({ tests, library, copies, kept, folder, signal, tell }) {
  const state = hash(library.map(({ source }) => source))
  const known = readKept(kept, state)
  const places = new Map()
  const queue = [...tests]
  const work = async (copy, number) => {
    for (let test = queue.shift(); test !== undefined && !signal.aborted; test = queue.shift()) {
      const own = hash([readFileSync(test.inMirror(copy), 'utf8')])
      const before = known[test.path]
      const place =
        before?.own === own
          ? before
          : { own, ...(await look({ test, library, copy, folder: join(folder, `cover-${number}`), signal })) }
      places.set(test.path, place)
      tell(
        `${places.size} of ${tests.length} test files: ${test.path}${place.failed ? ' FAILS, and is left out' : ''}`,
      )
    }
  }
  await Promise.all(copies.map(work))
  mkdirSync(dirname(kept), { recursive: true })
  if (!signal.aborted)
    writeFileSync(kept, JSON.stringify({ state, places: { ...known, ...Object.fromEntries(places) } }))
  return new Map([...places].map(([path, place]) => [path, { ...place, executed: new Set(place.executed) }]))
}

async function look({ test, library, copy, folder, signal }) {
  const data = join(folder, 'v8')
  const outcome = await runFile({
    file: test.inMirror(copy),
    root: copy,
    folder,
    limit: test.limit,
    signal,
    env: { NODE_V8_COVERAGE: data },
  })
  const executed = readExecuted(library, copy, data)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  return { ms: Math.round(outcome.ms), failed: outcome.failed > 0, executed }
}

/** The keys of the mutants that any process of a run has executed. */
function readExecuted(library, copy, data) {
  const executed = new Set()
  const byUrl = new Map(library.map((file) => [pathToFileURL(file.inMirror(copy)).href, file]))
  for (const name of listFolder(data)) {
    for (const { url, functions } of readScripts(join(data, name))) {
      const file = byUrl.get(url)
      if (file === undefined) continue
      const counts = countsOf(functions, file.source.length)
      for (const { key, start } of file.mutants) if (counts(start) > 0) executed.add(key)
    }
  }
  return [...executed]
}

/** Answers how often the code at an offset ran: the innermost range tells. */
function countsOf(functions) {
  const ranges = functions.flatMap((one) => one.ranges)
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  return (offset) => {
    let count = 0
    for (const range of ranges) {
      if (range.startOffset > offset) break
      if (offset < range.endOffset) count = range.count
    }
    return count
  }
}

function readScripts(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).result
  } catch {
    return [] // of a process that was killed while it wrote
  }
}

function listFolder(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function readKept(path, state) {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8'))
    return kept.state === state ? kept.places : {}
  } catch {
    return {}
  }
}

function hash(texts) {
  const sum = createHash('sha256')
  for (const text of texts) sum.update(text).update('\0')
  return sum.digest('hex')
}
