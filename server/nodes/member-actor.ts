import { defineActor } from '../../runtime/process/behaviour.js'
import { elsewhere } from '../../runtime/watch/elsewhere.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import { processOf } from '../../runtime/process/ref.js'
import { emitServer, type NodeEvent } from '../base/events.js'
import type { EngineCluster, MemberJob } from './engine-cluster.js'

/** Milliseconds between two reads of inbox and news without a bell, as one may be lost. */
const lookAfter = 2_000
/** Milliseconds between two renewals of what all nodes share, at most: well within its expiry. */
const keepAfter = 12 * 3_600_000
/** Beats in a lease. */
const beats = 8
/** Milliseconds until damaged texts, or sessions that are not saved, are reported again. */
const damagedPause = 60_000
const unsavedPause = 10_000

/**
 * Beats, and reads the inbox and the news. Its handlers do not wait for these: a slow inbox delays no beat.
 */
export const memberActor = defineActor({
  name: 'member',
  trapExit: true,
  async init({ cluster, told }: MemberState, ctx) {
    const { self } = ctx
    ctx.own(cluster.join((ring) => void self.send(ring)))
    await cluster.begin()
    tellChanges(cluster, told, ctx)
    for (const timer of ['beat', 'look', 'keep'] as const) ctx.sendAfter(after(timer, cluster), timer)
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
    message: ({ cluster }, ring) => void work[ring as MemberJob](cluster),
    timer({ cluster, told }, payload, ctx) {
      const timer = payload as MemberTimer
      ctx.sendAfter(after(timer, cluster), timer)
      tellChanges(cluster, told, ctx)
      void work[timer](cluster)
    },
  },
  async terminate({ cluster }, { type }) {
    if (type === 'shutdown') await cluster.leave()
  },
})

/** What was reported last; it outlives crashes of the actor. */
interface ReportedState {
  problem: string | undefined
  strangers: readonly string[]
  /** Why what nodes keep is not safe with the engine. */
  risks: readonly string[]
  readonly damaged: Counted
  readonly unsaved: Counted
}

/** What may happen very often: reported at once, and then at intervals. */
interface Counted {
  count: number
  at: number
}

interface MemberState {
  readonly cluster: EngineCluster
  readonly told: ReportedState
}

/** A node of which nothing was reported yet. */
export function untold(cluster: EngineCluster): MemberState {
  const never = (): Counted => ({ count: 0, at: Number.NEGATIVE_INFINITY })
  return {
    cluster,
    told: { problem: undefined, strangers: [], risks: [], damaged: never(), unsaved: never() },
  }
}

const unsigned =
  'nothing is signed, as the cluster has no keys: who may write to the engine may be any client, and run code here'

function tellChanges({ view, settings }: EngineCluster, told: ReportedState, ctx: ActorContext): void {
  const { node, engine, problem, strangers, risk, refused, unsaved } = view
  const tree = processOf(ctx.self).tree.id
  const tell = (type: NodeEvent['type'], problem?: string): void =>
    emitServer('node', () => ({
      tree,
      node,
      engine,
      type,
      level: 'warn',
      ...(problem !== undefined && { problem }),
    }))
  const isDue = (last: Counted, count: number, pause: number): boolean => {
    const now = ctx.world.now()
    if (count <= last.count || now - last.at < pause) return false
    Object.assign(last, { count, at: now })
    return true
  }
  if (problem !== told.problem) {
    if (problem === undefined) tell('serving')
    else tell('refusing', `sessions are refused: ${problem}`)
  }
  for (const stranger of strangers)
    if (!told.strangers.includes(stranger)) {
      const why = 'has other keys, or another edition of this library: sessions that it runs are refused here'
      tell('stranger', `node ${stranger} ${why}`)
    }
  const risks = [
    settings.keys === undefined && settings.isPrivate !== true ? unsigned : undefined,
    risk,
  ].filter((each) => each !== undefined)
  for (const each of risks) if (!told.risks.includes(each)) tell('unsafe', `${engine}: ${each}`)
  const kinds = [...refused].map(([kind, count]) => `${kind} ${count}`)
  const damaged = [...refused.values()].reduce((sum, count) => sum + count, 0)
  if (isDue(told.damaged, damaged, damagedPause))
    tell('damaged', `texts in ${engine} are not what a node of this cluster has written: ${kinds.join(', ')}`)
  if (isDue(told.unsaved, unsaved.count, unsavedPause))
    tell('unsaved', `sessions are not saved (${unsaved.count} times until now): ${unsaved.problem}`)
  Object.assign(told, { problem, strangers, risks: [...new Set([...told.risks, ...risks])] })
}

type MemberTimer = 'beat' | 'look' | 'keep'

const work = {
  beat: (cluster: EngineCluster) => cluster.beat(),
  inbox: (cluster: EngineCluster) => cluster.look(),
  news: (cluster: EngineCluster) => cluster.read(),
  look: (cluster: EngineCluster) => Promise.all([cluster.look(), cluster.read()]),
  keep: (cluster: EngineCluster) => cluster.keep(),
} satisfies Record<MemberJob | MemberTimer, (cluster: EngineCluster) => Promise<unknown>>

function after(timer: MemberTimer, { settings, ttl }: EngineCluster): number {
  if (timer === 'beat') return settings.lease / beats
  return timer === 'look' ? lookAfter : Math.min(ttl / 4, keepAfter)
}

function aboutMember({ view }: EngineCluster): string {
  const { nodes, sessions, lease, problem } = view
  return `${nodes.length} nodes, ${sessions} sessions, lease ${Math.round(lease)} ms${problem === undefined ? '' : `: ${problem}`}`
}
