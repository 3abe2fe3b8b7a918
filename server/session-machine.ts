import { setup, transition } from 'xstate'

/** Where a session is in its life: answered but not confirmed by the client, in use, or over. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

/** What moves a session on: the client's `notifications/initialized`, and the end. */
export type SessionEvent = { readonly type: 'initialized' } | { readonly type: 'closed' }

/** The life of a session (specification: lifecycle); a session keeps its phase, and asks the machine only when something happens. */
const machine = setup({ types: {} as { events: SessionEvent } }).createMachine({
  id: 'session',
  initial: 'initializing',
  states: {
    initializing: { on: { initialized: 'ready', closed: 'closed' } },
    ready: { on: { closed: 'closed' } },
    closed: { type: 'final' },
  },
})

/** The phase after an event; an event that does not fit changes nothing. */
export function nextPhase(phase: SessionPhase, event: SessionEvent): SessionPhase {
  const [next] = transition(machine, machine.resolveState({ value: phase }), event)
  return next.value as SessionPhase
}
