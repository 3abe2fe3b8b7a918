import { createActor, setup } from 'xstate'
import type { World } from '../../runtime/time/world.js'
import { apart, type MachineInspector } from '../../runtime/watch/inspector.js'
import type { SessionLife, SessionTransition } from './session-life.js'

/**
 * The life of a session of a server, as a state machine of xstate (specification: lifecycle): for
 * visualizers, and for tests that are generated from it. It has no actions.
 */
export const sessionMachine = setup({ types: {} as { events: { type: SessionTransition } } }).createMachine({
  id: 'session',
  initial: 'initializing',
  states: {
    initializing: { on: { initialized: 'ready', restored: 'ready', closed: 'closed' } },
    ready: { on: { closed: 'closed' } },
    closed: { type: 'final' },
  },
})

/** A life that is an actor of xstate, whose events the inspector hears. `id` is shown there. */
export function inspectedLife(inspector: MachineInspector, id: string, world: World): SessionLife {
  const actor = createActor(sessionMachine, { id, clock: world, inspect: apart(inspector, world) }).start()
  return {
    get phase() {
      return actor.getSnapshot().value
    },
    send: (type) => actor.send({ type }),
  }
}
