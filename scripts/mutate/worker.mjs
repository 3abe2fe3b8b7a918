// A copy of the project with every mutant of a room in it, and the process that runs tests there.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSharedProcess } from '../house/run-file.mjs'
import { repository } from '../house/sources.mjs'
import { mirror, outputPath } from '../house/transpile.mjs'

const here = 'scripts/mutate'
const notCopied = new Set(['node_modules', 'dist', '.git', 'coverage', 'site'])
/** Orders that one process takes: the test files that it has loaded stay. */
const ordersPerProcess = 150

/** Copies the project, with its mirror, to `folder`; `switched` has the text of each transpiled file that gets mutants. */
export function makeCopy(folder, switched) {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(repository)) {
    if (!notCopied.has(name)) cpSync(join(repository, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  prepareCopy(folder, switched)
}

/** Puts the switches into a copy that is transpiled. */
export function prepareCopy(folder, switched) {
  for (const [path, code] of switched) writeFileSync(join(folder, mirror, outputPath(path)), code)
  writeFileSync(join(folder, mirror, here, 'switch.json'), '{"on":0}')
}

/** Runs orders in a copy, one at a time. A process that may keep something of what it ran is not used again. */
export function startWorker({ copy, folder, signal }) {
  const host = join(copy, mirror, here, 'host.mjs')
  const shared = startSharedProcess({ host, root: copy, env: {}, keeps: true, flags: [] })
  const state = { orders: 0 }
  const renew = async () => {
    state.orders = 0
    await shared.stop()
  }
  const ask = async ({ path, limit, ...order }) => {
    if (state.orders >= ordersPerProcess) await renew()
    state.orders += 1
    const file = { path: join(copy, mirror, outputPath(path)), ...order }
    const outcome = await shared.run({ file, folder, limit, signal })
    if (outcome.problems.length > 0) await renew()
    return outcome
  }
  /** Runs all tests of a file and answers which numbers they come by. */
  const look = async ({ path, limit }) => {
    const outcome = await ask({ path, limit, looks: true })
    return { outcome, ...readReach(join(folder, 'reach.json')) }
  }
  return { ask, look, renew, isNew: () => state.orders === 0, end: () => shared.stop() }
}

function readReach(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return { loading: [], tests: {} } // the file has ended its process
  }
}
