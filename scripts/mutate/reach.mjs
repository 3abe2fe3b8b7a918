// Which tests execute which mutants: found by one run without any, and kept beside the coverage reports.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readHeader } from '../house/tiers.mjs'
import { floors, listFiles, repository } from '../house/sources.mjs'

/** These run packages, builds or other projects, never the mirror. */
const otherTests = /^test\/(?:packaging|scripts|types|conformance)\//
const near = new Set(['time', 'redis', 'seeds'])

/**
 * The test files of a room in two lists: those `near` it, of both tiers, and the `far` ones, of the fast tier alone, on floors from
 * which the room can be seen, whose text has the last part of the room's name. With `parts`, only those whose
 * path has one of them.
 */
export function listTests(room, parts) {
  const last = room.split('/').at(-1)
  const name = new RegExp(last, 'i')
  const all = listFiles(repository, 'test')
    .filter((path) => path.endsWith('.test.ts') && !otherTests.test(path))
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .map((path) => ({ path, text: readFileSync(join(repository, path), 'utf8') }))
    .map(({ path, text }) => ({ path, isNamed: name.test(text), ...readHeader(text) }))
  const below = floors.slice(0, floors.indexOf(room.split('/')[0])).map((floor) => `test/${floor}/`)
  const isNear = ({ path }) =>
    path.startsWith(`test/${room}/`) ||
    path.startsWith(`test/${room}.`) ||
    path.startsWith(`test/flows/${last}`)
  const isFar = ({ path, tier, isNamed }) =>
    tier === 'fast' && isNamed && !below.some((folder) => path.startsWith(folder))
  return {
    near: all.filter((test) => isNear(test) && (test.needs ?? []).every((need) => near.has(need))),
    far: all.filter((test) => !isNear(test) && isFar(test)),
  }
}

/** What is known of unchanged test files from an earlier run, and keeps what becomes known. */
export function openKept(path, texts) {
  const state = hash(texts)
  const before = read(path)
  const files = before?.state === state ? before.files : {}
  return {
    find: (test) => (files[test.path]?.own === ownHash(test) ? files[test.path] : undefined),
    add: (test, reach) => {
      files[test.path] = { own: ownHash(test), ...reach }
    },
    save: () => {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, JSON.stringify({ state, files }))
    },
  }
}

/**
 * Runs a test file without a mutant and answers `{ loading, tests }`: the numbers that loading it comes by, and for each test its
 * milliseconds and numbers. Tests that fail are left out, and named in `failed`.
 */
export async function lookAt(worker, { path, limit }) {
  let seen = await worker.look({ path, limit })
  if (seen.outcome.failed > 0) {
    await worker.renew()
    seen = await worker.look({ path, limit })
  }
  const { outcome, loading, tests } = seen
  const good = Object.entries(tests).filter(([, { ok }]) => ok && outcome.problems.length === 0)
  const failed = Object.keys(tests).filter((name) => !good.some(([one]) => one === name))
  if (outcome.failed > 0 && failed.length === 0) failed.push('the file')
  const facts = good.map(([name, { ms, numbers }]) => [name, { ms: Math.round(ms), numbers }])
  return { loading, tests: Object.fromEntries(facts), failed }
}

function ownHash({ path }) {
  return hash([readFileSync(join(repository, path), 'utf8')])
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function hash(texts) {
  const sum = createHash('sha256')
  for (const text of texts) sum.update(text).update('\0')
  return sum.digest('hex')
}
