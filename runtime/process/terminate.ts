import type { Actor } from './actor.js'
import type { ActorContext } from './context.js'
import { runIn } from '../faults/containment.js'
import { emit } from '../faults/events.js'
import { type ExitReason, killed } from '../base/exit.js'
import { isPromise } from '../base/promise.js'

/**
 * Runs the `terminate` of an actor and ends it with `reason` when that is done; an error in it becomes the
 * reason. Calls `limit` when it has to be waited for.
 */
export function runTerminate(actor: Actor, reason: ExitReason, limit: () => void): void {
  const { terminate } = actor.behaviour.definition
  if (terminate === undefined) return actor.end(reason)
  const run = terminate as (state: unknown, reason: ExitReason, ctx: ActorContext) => unknown
  const failed = (error: unknown): void => {
    if (actor.reason === null) actor.crashed(error, 'terminate')
  }
  try {
    const result = runIn(actor.token, () => run(actor.state, reason, actor.ctx), null, null)
    if (!isPromise(result)) return actor.end(reason)
    limit()
    result.then(() => actor.end(reason), failed)
  } catch (error) {
    failed(error)
  }
}

/**
 * Kills an actor that has not ended after its `terminateTimeout`. A supervisor is not limited but by its
 * children.
 */
export function limitEnd(actor: Actor): void {
  if (actor.kind === 'supervisor') return
  const { clock } = actor.tree
  const { terminateTimeout } = actor.behaviour
  const expire = (): void => {
    emit('notice', () => ({ ...actor.facts(), notice: 'cleanup_timeout', detail: terminateTimeout }))
    actor.end(killed)
  }
  const timer = clock.setTimeout(expire, terminateTimeout)
  actor.own.timers.add({ clear: () => clock.clearTimeout(timer) })
}
