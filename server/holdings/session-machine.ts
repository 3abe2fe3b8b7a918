import { setup, transition } from 'xstate'

/** Where a session is in its life: answered but not confirmed by the client, in use, or over. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

/** What moves a session on: the client's `notifications/initialized`, and the end. */
export type SessionEvent = 'initialized' | 'closed'

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
 * Asked once for every step: of sessions there are thousands, and what the machine answers depends on nothing
 * else.
 */
const steps = Object.fromEntries(
  phases.map((phase) => [phase, Object.fromEntries(events.map((event) => [event, step(phase, event)]))]),
) as Record<SessionPhase, Record<SessionEvent, SessionPhase>>

/** The phase after an event; an event that does not fit changes nothing. */
export function nextPhase(phase: SessionPhase, event: SessionEvent): SessionPhase {
  return steps[phase][event]
}

function step(phase: SessionPhase, type: SessionEvent): SessionPhase {
  const [next] = transition(machine, machine.resolveState({ value: phase }), { type })
  return next.value as SessionPhase
}
