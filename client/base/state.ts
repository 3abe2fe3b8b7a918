import type { Revision } from '../../protocol/dialects/dialect.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'

/**
 * Where a client is: on its way (`disconnected` is the wait before the next attempt), `ready`, or at one of
 * its two ends: `failed` when trying again is of no use, `closed` after `close()`.
 */
export type Phase = 'disconnected' | 'connecting' | 'initializing' | 'ready' | 'failed' | 'closed'

/** What a client is doing, as a snapshot. */
export interface ClientState {
  readonly phase: Phase
  /** Why it is not ready; undefined when nothing went wrong. */
  readonly reason: Error | undefined
  /** Attempts to connect that failed since the last stable connection. */
  readonly attempt: number
  /** While disconnected: ms from the loss to the next attempt. */
  readonly delay: number | undefined
}

/** Who the server of the current session is. */
export interface ServerFacts {
  readonly info: Implementation
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** The revision of MCP that is spoken. */
  readonly revision: Revision
}

/** What a client has seen since it was started, over all restarts. */
export interface ClientCounts {
  /** Times it became ready. */
  sessions: number
  /** Answers to requests that were given up. */
  late: number
  /** Answers to requests that were never made. */
  unknown: number
  /** What was no message, or no message that this revision has. */
  junk: number
  /**
   * Requests made again by themselves: in a new session, after a loss that their caller allowed for, or after
   * the time that a busy server named.
   */
  repeated: number
  /** Things a transport reported that ended nothing. */
  troubles: number
  /**
   * Things that happened to a connection in a state that does not know them: bugs of this library, or of a
   * transport of yours.
   */
  unexpected: number
}

/** Stops what was begun by the call that answered it. */
export type Undo = () => void

/** The state of a client that has not begun. */
export const firstState: ClientState = Object.freeze({
  phase: 'disconnected',
  reason: undefined,
  attempt: 0,
  delay: undefined,
})
