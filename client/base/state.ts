import type { Revision } from '../../protocol/dialects/dialect.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'

/** `disconnected`: it waits to try again. `failed`: trying again is of no use. `closed`: after `close()`. */
export type Phase = 'disconnected' | 'connecting' | 'initializing' | 'ready' | 'failed' | 'closed'

/** A snapshot of a client. */
export interface ClientState {
  readonly phase: Phase
  /** Why it is not ready; undefined when nothing went wrong. */
  readonly reason: Error | undefined
  /** Attempts to connect that failed since the last stable connection. */
  readonly attempt: number
  /** While disconnected: ms from the loss to the next attempt. */
  readonly delay: number | undefined
}

/** The server of the current session. */
export interface ServerFacts {
  readonly info: Implementation
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** The revision of MCP that is spoken. */
  readonly revision: Revision
}

/** Counters of a client since it was started, over all restarts. */
export interface ClientCounts {
  /** Times it became ready. */
  sessions: number
  /** Answers to requests that were given up, or were answered before. */
  late: number
  /** Answers to requests that were never made. */
  unknown: number
  /** Texts that are no message, or no message of the revision. */
  junk: number
  /** Calls that the client made again: in a new session, after a loss, or after `Retry-After`. */
  repeated: number
  /** Problems that the transport reported and that ended nothing. */
  troubles: number
  /** Events that a state does not know: bugs of this library, or of a transport of yours. */
  unexpected: number
}

/** Undoes the call that returned it. */
export type Undo = () => void

export const firstState: ClientState = Object.freeze({
  phase: 'disconnected',
  reason: undefined,
  attempt: 0,
  delay: undefined,
})
