/** Where a session is in its life: answered but not confirmed by the client, in use, or over. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

/** What moves a session on: the client's `notifications/initialized`, and the end. */
export type SessionEvent = 'initialized' | 'closed'

/** The life of a session (specification: lifecycle). */
const steps: Readonly<Record<SessionPhase, Readonly<Record<SessionEvent, SessionPhase>>>> = {
  initializing: { initialized: 'ready', closed: 'closed' },
  ready: { initialized: 'ready', closed: 'closed' },
  closed: { initialized: 'closed', closed: 'closed' },
}

/** The phase after an event; an event that does not fit changes nothing. */
export function nextPhase(phase: SessionPhase, event: SessionEvent): SessionPhase {
  return steps[phase][event]
}
