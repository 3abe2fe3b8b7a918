import { fork } from 'node:child_process'
import type { Verdict, Wrong } from '../judge.js'
import type { Chunk, ShardWord } from '../shard.js'
import type { Bug } from './bugs.js'
import { plant } from './plant.js'

/** Calls of each seed, unless a bug needs more. */
export const usualOperations = 40
/** Seeds after which a bug counts as one that nobody finds. */
export const mostSeeds = 40
/** ms after which a seed is taken for one that never ends. */
const longestSeed = 300_000

/** What came of a search. */
export interface Search {
  /** The seed that showed the bug; undefined if none did. */
  readonly seed: number | undefined
  /** What its checker said. */
  readonly wrong: Wrong | undefined
  /** Seeds that were run, and those among them that showed it. */
  readonly tried: number
  readonly shown: readonly number[]
  /** What anybody else said, as `checker: kind`. */
  readonly others: ReadonlySet<string>
}

export interface SearchOptions {
  /** How many at most. Default: the known one and 40 others. */
  readonly seeds?: number
  /** Whether to go on after the first that shows it. */
  readonly all?: boolean
  readonly signal?: AbortSignal
}

/**
 * Runs seeds on a library with the bug until its checker finds it: first the seed that is known to. `runner` has
 * the bug among others; default: one that has no other.
 */
export async function findBug(bug: Bug, options: SearchOptions = {}, runner?: Runner): Promise<Search> {
  if (runner !== undefined) return search(bug, options, runner)
  const own = startRunner([bug])
  try {
    return await search(bug, options, own)
  } finally {
    own.end()
  }
}

async function search(
  bug: Bug,
  { seeds = mostSeeds, all: goesOn = false, signal }: SearchOptions,
  runner: Runner,
): Promise<Search> {
  const others = new Set<string>()
  let [seed, wrong]: [number?, Wrong?] = []
  let tried = 0
  const shown: number[] = []
  const isFound = (verdict: Verdict): boolean => {
    tried += 1
    if (verdict.wrong.some((one) => isOf(bug, one))) shown.push(verdict.seed)
    for (const one of verdict.wrong) {
      if (wrong === undefined && isOf(bug, one)) [seed, wrong] = [verdict.seed, one]
      else others.add(`${one.checker}: ${one.kind}`)
    }
    return wrong !== undefined && !goesOn
  }
  const first = bug.seed === undefined || goesOn ? [] : [bug.seed]
  const all = new Set([...first, ...Array.from({ length: seeds }, (_, index) => index + 1)])
  const { clusters = false, operations = usualOperations, name } = bug
  for (const each of [...all].slice(0, seeds))
    if (isFound(await runner.run(each, { clusters, operations, bug: name }, signal))) break
  return { seed, wrong, tried, shown, others }
}

/** A process that runs seeds on a copy of the library in which bugs are planted. */
export interface Runner {
  /** One after the other. With `bug`, the planted bug of that name acts. Rejects if the process ends. */
  run(seed: number, how: Omit<Chunk, 'seeds'>, signal?: AbortSignal): Promise<Verdict>
  end(): void
}

export function startRunner(bugs: readonly Bug[]): Runner {
  const { folder, remove } = plant(bugs)
  const child = fork(`${folder}/scripts/sim/shard.js`, {
    // the library in which the bugs are is no bundle
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const stop = (): void => void child.kill('SIGKILL')
  let waits: { verdict(verdict: Verdict): void; ends(why: string): void } | undefined
  let whyOver: string | undefined
  const over = (why: string): void => {
    whyOver ??= why
    waits?.ends(whyOver)
  }
  child.on('message', (word: ShardWord) => {
    if (word.type === 'verdict') waits?.verdict(word.verdict)
  })
  child.once('error', (error) => over(`failed: ${error.message}`))
  child.once('exit', (code, by) => over(`ended with ${code ?? by}`))
  return {
    run(seed, how, signal) {
      signal?.addEventListener('abort', stop, { once: true })
      const late = setTimeout(stop, longestSeed)
      const verdict = new Promise<Verdict>((resolve, reject) => {
        const ends = (why: string): void => reject(new Error(`the process of seed ${seed} ${why}`))
        waits = { verdict: resolve, ends }
        if (whyOver !== undefined) ends(whyOver)
        else child.send({ ...how, seeds: [seed] } satisfies Chunk)
      })
      return verdict.finally(() => {
        clearTimeout(late)
        signal?.removeEventListener('abort', stop)
        waits = undefined
      })
    },
    end() {
      stop()
      remove()
    },
  }
}

function isOf({ checker, kind }: Bug, wrong: Wrong): boolean {
  return wrong.checker === checker && (kind === undefined || wrong.kind === kind)
}
