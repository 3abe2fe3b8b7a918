import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Verdict } from './judge.js'
import type { Chunk, ShardWord } from './shard.js'

export interface ShardsOptions {
  readonly from: number
  readonly to: number | undefined
  readonly operations: number
  readonly clusters: boolean | undefined
  readonly jobs: number
  /** No seed begins after it. */
  readonly signal: AbortSignal
  readonly tell: (verdict: Verdict) => void
}

/** Seeds that a process takes at a time. */
const chunkSize = 10
/** ms after which a seed is taken for one that never ends. */
const longestSeed = 300_000

/** Runs the seeds in processes of their own; each takes the next few when it is free. */
export async function runShards(options: ShardsOptions): Promise<void> {
  let next = options.from
  const last = options.to ?? Number.MAX_SAFE_INTEGER
  const take = (): number[] => {
    const seeds: number[] = []
    if (options.signal.aborted) return seeds
    while (seeds.length < chunkSize && next <= last) seeds.push(next++)
    return seeds
  }
  const count = Math.min(options.jobs, Math.ceil((last - next + 1) / chunkSize))
  await Promise.all(Array.from({ length: count }, () => runShard(options, take)))
}

/** One process after the other: a seed that ends its process takes only itself with it. */
async function runShard(options: ShardsOptions, take: () => number[]): Promise<void> {
  let left: readonly number[] = []
  for (;;) {
    if (left.length === 0) left = take()
    if (left.length === 0 || options.signal.aborted) return
    left = await runProcess(options, left, take)
  }
}

/** Resolves, when the process has ended, with what it has left undone. */
function runProcess(
  { operations, clusters, tell, signal }: ShardsOptions,
  first: readonly number[],
  take: () => number[],
): Promise<readonly number[]> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./shard.js', import.meta.url)), {
    execArgv: ['--enable-source-maps', ...process.execArgv],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let isFirst = true
  let left = [...first]
  let running: number | undefined
  let late: NodeJS.Timeout | undefined
  const stop = (): void => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  child.on('message', (word: ShardWord) => {
    clearTimeout(late)
    if (word.type === 'begins') {
      running = word.seed
      late = setTimeout(() => child.kill('SIGKILL'), longestSeed)
    } else if (word.type === 'verdict') {
      left = left.filter((seed) => seed !== running)
      running = undefined
      tell(word.verdict)
    } else {
      if (!isFirst) left = take()
      isFirst = false
      if (left.length === 0) child.disconnect()
      else child.send({ seeds: left, operations, clusters } satisfies Chunk)
    }
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => {
      clearTimeout(late)
      signal.removeEventListener('abort', stop)
      if (running === undefined || signal.aborted) {
        if (code !== 0 && !signal.aborted && running === undefined)
          return reject(new Error(`a process of the simulation ended with ${code ?? by}`))
        return resolve(left)
      }
      const seed = running
      const message = `the process of seed ${seed} ended with ${code ?? by}`
      tell(failed(seed, message))
      resolve(left.filter((other) => other !== seed))
    })
  })
}

function failed(seed: number, message: string): Verdict {
  const wrong = [{ checker: 'run', kind: 'its process ended', message, story: `run: ${message}` }]
  return { seed, hash: '', wrong, simulated: 0, steps: 0, operations: 0, outcomes: {}, faults: {} }
}
