// All mutants of one room against the tests that execute them.
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { repository } from '../house/sources.mjs'
import { listTests, lookAt, openKept } from './reach.mjs'
import { longest, nextTests, rounds } from './rounds.mjs'
import { limitsOf, tryMutant } from './trial.mjs'
import { startWorker } from './worker.mjs'

/** How often a test may fail without a mutant before it says nothing any more. */
const mostUnsure = 3

/**
 * Tries the mutants of a room until each is decided, or the time is over. Answers a list of mutants with their `outcome`: killed (with
 * `by`), survived (all tests of its rounds pass), unreached (no test executes it), or undecided: the time was
 * over before.
 */
export async function tryRoom({ room, files, mutants, copies, folder, minutes, tests: parts, signal, tell }) {
  const end = performance.now() + minutes * 60_000
  const isOver = () => signal.aborted || performance.now() > end
  const workers = copies.map((copy, number) =>
    startWorker({ copy, folder: join(folder, `run-${number}`), signal }),
  )
  const known = startKnowledge({ room, files, mutants, parts, tell })
  try {
    await known.look('near', workers, isOver)
    for (const budget of rounds.near) await playRound({ budget })
    await known.look('far', workers, isOver)
    for (const [index, budget] of rounds.far.entries())
      await playRound({ budget, isLast: index === rounds.far.length - 1 })
  } finally {
    await Promise.all(workers.map((worker) => worker.end()))
  }
  return mutants.map((mutant) => ({ ...mutant, ...known.outcomeOf(mutant) }))

  async function playRound({ budget, isLast = false }) {
    const queue = known.alive().sort((a, b) => a.number - b.number)
    tell(
      `${queue.length} of ${mutants.length} left, ${Math.max(0, Math.round((end - performance.now()) / 1_000))} s`,
    )
    await inTurn(workers, queue, isOver, (worker, mutant) =>
      known.play({ worker, mutant, budget, isLast, signal, isOver }),
    )
  }
}

function startKnowledge({ room, files, mutants, parts, tell }) {
  const kept = openKept(
    join(repository, 'coverage', 'mutate', `${room.replaceAll('/', '-')}.reach.json`),
    files.map(({ source }) => source),
  )
  const lists = listTests(room, parts)
  const looked = { near: false, far: false }
  const withNumber = new Map(mutants.map((mutant) => [mutant.number, mutant]))
  const byNumber = new Map(mutants.map(({ number }) => [number, []]))
  const byPath = new Map()
  const loading = new Set()
  const byFile = new Map()
  const kills = new Map()
  const unsure = new Map()
  const states = new Map(
    mutants.map(({ number }) => [number, { tried: new Set(), isThrough: false, killed: undefined }]),
  )

  const add = ({ path }, reach) => {
    byFile.set(path, limitsOf(reach.tests))
    for (const number of reach.loading) loading.add(number)
    for (const [index, [name, { ms, numbers }]] of Object.entries(reach.tests).entries()) {
      if (ms > longest) continue
      const test = { key: `${path} ${name}`, path, name, ms, index }
      for (const number of numbers) {
        const mutant = withNumber.get(number)
        if (mutant === undefined) continue
        byNumber.get(number).push(test)
        const ofPath = byPath.get(mutant.path) ?? new Map()
        byPath.set(mutant.path, ofPath.set(test.key, test))
      }
    }
  }

  /** What is computed while a module is loaded concerns each test that uses the module. */
  const reachingOf = (mutant) => {
    const own = byNumber.get(mutant.number)
    const isLoaded = mutant.isTop || (own.length === 0 && loading.has(mutant.number))
    const reaching = isLoaded ? [...(byPath.get(mutant.path)?.values() ?? [])] : own
    return { isLoaded, reaching: reaching.filter(({ key }) => (unsure.get(key) ?? 0) < mostUnsure) }
  }

  const look = async (which, workers, isOver) => {
    const list = lists[which]
    let done = 0
    await inTurn(workers, [...list], isOver, async (worker, test) => {
      const before = kept.find(test)
      const reach = before ?? (await lookAt(worker, test))
      if (isOver()) return
      done += 1
      if (before === undefined && reach.failed.length === 0) kept.add(test, reach)
      for (const name of reach.failed) tell(`left out, fails without a mutant: ${test.path} ${name}`)
      add(test, reach)
    })
    looked[which] = done === list.length
    kept.save()
    tell(`${done} of ${list.length} test files that are ${which} are looked at`)
  }

  const play = async ({ worker, mutant, budget, isLast, signal, isOver }) => {
    const state = states.get(mutant.number)
    const { isLoaded, reaching } = reachingOf(mutant)
    const files = nextTests({ reaching, tried: state.tried, kills, budget })
    for (const [path, tests] of files) {
      if (isOver()) return
      const names = tests.map(({ name }) => name)
      const limits = byFile.get(path)
      const result = await tryMutant({ worker, mutant: { ...mutant, isLoaded }, path, names, limits, signal })
      if (signal.aborted) return
      for (const name of result.unsure)
        unsure.set(`${path} ${name}`, (unsure.get(`${path} ${name}`) ?? 0) + 1)
      for (const { key } of tests) state.tried.add(key)
      if (!result.killed) continue
      const key = `${path} ${result.by}`
      kills.set(key, (kills.get(key) ?? 0) + 1)
      state.killed = key
      return
    }
    state.isThrough = isLast
  }

  const isDone = (mutant) => {
    const { tried, isThrough } = states.get(mutant.number)
    return isThrough || reachingOf(mutant).reaching.every(({ key }) => tried.has(key))
  }
  const alive = () =>
    mutants.filter((mutant) => states.get(mutant.number).killed === undefined && !isDone(mutant))
  const outcomeOf = (mutant) => {
    const { killed, tried } = states.get(mutant.number)
    const { reaching } = reachingOf(mutant)
    const counts = { tried: tried.size, of: reaching.length }
    if (killed !== undefined) return { outcome: 'killed', by: killed, ...counts }
    if (!looked.near || !looked.far || !isDone(mutant)) return { outcome: 'undecided', ...counts }
    return { outcome: reaching.length === 0 ? 'unreached' : 'survived', ...counts }
  }
  return { look, play, alive, outcomeOf }
}

async function inTurn(workers, queue, isOver, work) {
  await Promise.all(
    workers.map(async (worker) => {
      for (let next = queue.shift(); next !== undefined && !isOver(); next = queue.shift())
        await work(worker, next)
    }),
  )
}
