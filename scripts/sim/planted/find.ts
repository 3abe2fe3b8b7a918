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

/** Runs seeds on a library with the bug until its checker finds it: first the seed that is known to. */
export async function findBug(
  bug: Bug,
  { seeds = mostSeeds, all: goesOn = false, signal }: SearchOptions = {},
): Promise<Search> {
  const { folder, remove } = plant(bug)
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
  try {
    const { clusters = false, operations } = bug
    const how = { folder, clusters, ...(operations && { operations }), ...(signal && { signal }) }
    await runSeeds([...all].slice(0, seeds), isFound, how)
  } finally {
    remove()
  }
  return { seed, wrong, tried, shown, others }
}

/** Runs seeds, one after the other, in a process of its own until `isEnough`; `folder` has the project. */
export function runSeeds(
  seeds: readonly number[],
  isEnough: (verdict: Verdict) => boolean,
  {
    folder,
    clusters = false,
    operations = usualOperations,
    signal,
  }: {
    readonly folder: string
    readonly clusters?: boolean
    readonly operations?: number
    readonly signal?: AbortSignal
  },
): Promise<void> {
  const child = fork(`${folder}/scripts/sim/shard.js`, {
    execArgv: ['--enable-source-maps'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const stop = (): void => void child.kill('SIGKILL')
  signal?.addEventListener('abort', stop, { once: true })
  let running: number | undefined
  let late: NodeJS.Timeout | undefined
  let isBegun = false
  let isOver = false
  const end = (): void => {
    isOver = true
    stop()
  }
  child.on('message', (word: ShardWord) => {
    clearTimeout(late)
    if (word.type === 'begins') {
      running = word.seed
      late = setTimeout(stop, longestSeed)
    } else if (word.type === 'verdict') {
      running = undefined
      if (!isOver && isEnough(word.verdict)) end()
    } else if (isBegun) end()
    else {
      isBegun = true
      child.send({ seeds, operations, clusters } satisfies Chunk)
    }
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => {
      clearTimeout(late)
      signal?.removeEventListener('abort', stop)
      if (isOver) resolve()
      else reject(new Error(`the process of seed ${running} ended with ${code ?? by}`))
    })
  })
}

function isOf({ checker, kind }: Bug, wrong: Wrong): boolean {
  return wrong.checker === checker && (kind === undefined || wrong.kind === kind)
}
