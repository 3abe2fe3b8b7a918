// A process of its own: runs the seeds that it is sent, one after the other, and sends what came of each.
import { judge, type Verdict } from './judge.js'
import { drawPlan } from './plan/draw.js'
import { switchTo } from './planted/switch.js'

export interface Chunk {
  readonly seeds: readonly number[]
  readonly operations: number
  readonly clusters?: boolean | undefined
  /** The planted bug that acts, by its name. Default: none. */
  readonly bug?: string | undefined
}

export type ShardWord =
  | { readonly type: 'begins'; readonly seed: number }
  | { readonly type: 'verdict'; readonly verdict: Verdict; readonly heap: number }
  | { readonly type: 'free' }

const send = (word: ShardWord): void => void process.send?.(word)

process.on('message', (chunk: Chunk) => {
  void run(chunk)
})
process.on('disconnect', () => process.exit())
send({ type: 'free' })

async function run({ seeds, operations, clusters, bug }: Chunk): Promise<void> {
  switchTo(bug)
  for (const seed of seeds) {
    send({ type: 'begins', seed })
    const verdict = await judge(drawPlan(seed, operations, clusters))
    send({ type: 'verdict', verdict, heap: process.memoryUsage().heapUsed })
  }
  send({ type: 'free' })
}
