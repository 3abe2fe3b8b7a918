import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { ledgerActor } from './ledger.js'

interface DrainInput {
  readonly holdings: Holdings
  /** Whether the server stops for good: a restart cuts what runs. */
  readonly stopping: () => boolean
}

/**
 * Ends before the handlers do: steps of tasks that will go on have what is left of `timeouts.drain`, so that the
 * next run finds them done.
 */
export const drainActor = defineActor({
  name: 'drain',
  trapExit: true,
  init: (input: DrainInput, { world, registry }: ActorContext) => ({ ...input, world, registry }),
  async terminate({ holdings, stopping, world, registry }) {
    const { timeouts, names } = holdings.settings
    const ledger = registry.whereis(names.ledger) as RefOf<typeof ledgerActor> | undefined
    if (!stopping() || holdings.taskStore?.durable !== true || ledger === undefined) return
    // where it has died, nobody knows of them
    const { tasks, releasedAt = world.now() } = await ledger
      .call('atWork')
      .catch(() => ({ tasks: [], releasedAt: undefined }))
    const rest = Promise.allSettled(tasks.map((task) => task.call('rest', undefined, forever)))
    const limits = {
      clock: world,
      ms: Math.max(0, releasedAt + timeouts.drain - world.now()),
      late: () => {},
    }
    await waitWithin<void>(limits, (resolve) => void rest.then(() => resolve()))
  },
})
