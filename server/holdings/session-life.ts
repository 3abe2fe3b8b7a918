/** `initializing`: answered, but not yet confirmed by the client. */
export type SessionPhase = 'initializing' | 'ready' | 'closed'

/** `restored`: it goes on after a crash, or in another process. */
export type SessionTransition = 'initialized' | 'restored' | 'closed'

/** The phase of one session. */
export interface SessionLife {
  readonly phase: SessionPhase
  /** An event without a transition changes nothing. */
  send(event: SessionTransition): void
}

/**
 * What `sessionMachine` says, without xstate: there are thousands of sessions, and mostly nobody inspects
 * one.
 */
const steps: Readonly<Record<SessionPhase, Partial<Record<SessionTransition, SessionPhase>>>> = {
  initializing: { initialized: 'ready', restored: 'ready', closed: 'closed' },
  ready: { closed: 'closed' },
  closed: {},
}

/** The life of a session that nobody inspects. */
export class PlainLife implements SessionLife {
  phase: SessionPhase = 'initializing'

  send(event: SessionTransition): void {
    this.phase = steps[this.phase][event] ?? this.phase
  }
}
