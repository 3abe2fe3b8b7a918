import { createActor, setup, transition } from 'xstate'
import type { World } from '../../runtime/time/world.js'
import { apart, type MachineInspector } from '../../runtime/watch/inspector.js'

/** `initializing`: answered, but not yet confirmed by the client. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

/** `restored`: it goes on after a crash, or in another process. */
export type SessionTransition = 'initialized' | 'restored' | 'closed'

const phases: readonly SessionPhase[] = ['initializing', 'ready', 'closed']
const events: readonly SessionTransition[] = ['initialized', 'restored', 'closed']

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

/** The phase of one session, as the machine decides. */
export interface SessionLife {
  readonly phase: SessionPhase
  /** An event without a transition changes nothing. */
  send(event: SessionTransition): void
}

/** With an inspector the session has an actor of xstate, whose events it hears. `id` is shown there. */
export function beginLife(inspector: MachineInspector | undefined, id: string, world: World): SessionLife {
  return inspector === undefined ? new PlainLife() : inspectedLife(inspector, id, world)
}

/**
 * The machine is asked once for every transition: there are thousands of sessions, and its answer is
 * constant.
 */
const steps = Object.fromEntries(
  phases.map((phase) => [phase, Object.fromEntries(events.map((event) => [event, step(phase, event)]))]),
) as Record<SessionPhase, Record<SessionTransition, SessionPhase>>

class PlainLife implements SessionLife {
  phase = sessionMachine.config.initial as SessionPhase

  send(event: SessionTransition): void {
    this.phase = steps[this.phase][event]
  }
}

function inspectedLife(inspector: MachineInspector, id: string, world: World): SessionLife {
  const actor = createActor(sessionMachine, { id, clock: world, inspect: apart(inspector, world) }).start()
  return {
    get phase() {
      return actor.getSnapshot().value
    },
    send: (type) => actor.send({ type }),
  }
}

function step(phase: SessionPhase, type: SessionTransition): SessionPhase {
  const [next] = transition(sessionMachine, sessionMachine.resolveState({ value: phase }), { type })
  return next.value as SessionPhase
}
