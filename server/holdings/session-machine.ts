import { setup, transition } from 'xstate'

/** `initializing`: answered, but not yet confirmed by the client. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

type SessionEvent = 'initialized' | 'closed'

const phases: readonly SessionPhase[] = ['initializing', 'ready', 'closed']
const events: readonly SessionEvent[] = ['initialized', 'closed']

/** The life of a session (specification: lifecycle). */
const machine = setup({ types: {} as { events: { type: SessionEvent } } }).createMachine({
  id: 'session',
  initial: 'initializing',
  states: {
    initializing: { on: { initialized: 'ready', closed: 'closed' } },
    ready: { on: { closed: 'closed' } },
    closed: { type: 'final' },
  },
})

/**
 * The machine is asked once for every transition: there are thousands of sessions, and its answer is
 * constant.
 */
const steps = Object.fromEntries(
  phases.map((phase) => [phase, Object.fromEntries(events.map((event) => [event, step(phase, event)]))]),
) as Record<SessionPhase, Record<SessionEvent, SessionPhase>>

/** The phase after an event. An event without a transition changes nothing. */
export function nextPhase(phase: SessionPhase, event: SessionEvent): SessionPhase {
  return steps[phase][event]
}

function step(phase: SessionPhase, type: SessionEvent): SessionPhase {
  const [next] = transition(machine, machine.resolveState({ value: phase }), { type })
  return next.value as SessionPhase
}
