import { defineActor } from '../../runtime/process/behaviour.js'
import { elsewhere } from '../../runtime/watch/elsewhere.js'
import { describe } from '../../runtime/watch/inspect.js'
import { processOf } from '../../runtime/process/ref.js'
import { emitServer, type NodeEvent } from '../base/events.js'
import type { EngineCluster, Ring } from './engine-cluster.js'

/** Milliseconds between two looks into the inbox, and at the news, as a bell may be lost. */
const lookAfter = 2_000
/** Milliseconds between two looks after what all nodes share, at most: well within its expiry. */
const keepAfter = 12 * 3_600_000
/** Beats in a lease. */
const beats = 8

/**
 * Beats, and takes what has come. What it waits for, it does not wait for in its handlers: an inbox that is
 * slow delays no beat.
 */
export const memberActor = defineActor({
  name: 'member',
  trapExit: true,
  async init(cluster: EngineCluster, ctx) {
    const { self } = ctx
    ctx.own(cluster.join((ring) => void self.send(ring)))
    await cluster.begin()
    for (const timer of ['beat', 'look', 'keep'] as const) ctx.sendAfter(after(timer, cluster), timer)
    const told: Told = { problem: undefined, strangers: [] }
    return {
      cluster,
      told,
      [describe]: () => aboutMember(cluster),
      get [elsewhere]() {
        return cluster.others
      },
    }
  },
  info: {
    message: ({ cluster }, ring) => void work[ring as Ring](cluster),
    timer({ cluster, told }, payload, ctx) {
      const timer = payload as Timer
      ctx.sendAfter(after(timer, cluster), timer)
      tellChanges(cluster, told, processOf(ctx.self).tree.id)
      void work[timer](cluster)
    },
  },
  async terminate({ cluster }, { type }) {
    if (type === 'shutdown') await cluster.leave()
  },
})

/** What was told last. */
interface Told {
  problem: string | undefined
  strangers: readonly string[]
}

function tellChanges({ view }: EngineCluster, told: Told, tree: number): void {
  const { node, engine, problem, strangers } = view
  const tell = (event: Pick<NodeEvent, 'type' | 'level' | 'problem'>): void =>
    emitServer('node', () => ({ tree, node, engine, ...event }))
  if (problem !== told.problem) {
    if (problem === undefined) tell({ type: 'serving', level: 'warn' })
    else tell({ type: 'refusing', level: 'warn', problem: `sessions are refused: ${problem}` })
  }
  for (const stranger of strangers)
    if (!told.strangers.includes(stranger)) {
      const why = 'has other keys, or another edition of this library: sessions that it runs are refused here'
      tell({ type: 'stranger', level: 'warn', problem: `node ${stranger} ${why}` })
    }
  told.problem = problem
  told.strangers = strangers
}

type Timer = 'beat' | 'look' | 'keep'

const work = {
  beat: (cluster: EngineCluster) => cluster.beat(),
  inbox: (cluster: EngineCluster) => cluster.look(),
  news: (cluster: EngineCluster) => cluster.read(),
  look: (cluster: EngineCluster) => Promise.all([cluster.look(), cluster.read()]),
  keep: (cluster: EngineCluster) => cluster.keep(),
} satisfies Record<Ring | Timer, (cluster: EngineCluster) => Promise<unknown>>

function after(timer: Timer, { settings, ttl }: EngineCluster): number {
  if (timer === 'beat') return settings.lease / beats
  return timer === 'look' ? lookAfter : Math.min(ttl / 4, keepAfter)
}

function aboutMember({ view }: EngineCluster): string {
  const { nodes, sessions, lease, problem } = view
  return `${nodes.length} nodes, ${sessions} sessions, lease ${Math.round(lease)} ms${problem === undefined ? '' : `: ${problem}`}`
}
