import { type EventChannels, eventChannels } from '../../runtime/faults/events.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import { optionError } from './errors.js'
import type { Phase } from './state.js'

/** Something that a client put up with: at most 100 for each client in 10 s, the next with `heldBack`. */
export interface WarningEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /**
   * `bad_tool`: a tool was left out of a list, since the rules for its headers are broken. `bad_schema`: an
   * output schema cannot be used, and results are not checked against it. `too_many_questions`: the server
   * asked more than the client answers at once. `unexpected_event`: something happened to the connection that
   * cannot happen in its state, which is a bug of this library or of a transport of yours; nothing came of
   * it. `connect_failed`: the server is not there; told of the first attempt since the client was ready, of
   * the 10th, the 100th and so on, and where trying again is of no use.
   */
  readonly type: 'bad_tool' | 'bad_schema' | 'too_many_questions' | 'unexpected_event' | 'connect_failed'
  /** Of its line in the log. */
  readonly level: 'warn'
  /** The name of the tool, at most 100 characters. */
  readonly tool?: string
  /** What is wrong with it, in a sentence. */
  readonly reason: string
  /** How many were held back before it. */
  readonly heldBack?: number
}

/**
 * A log message of the server that no handler of `notifications/message` hears: of each level at most 100 for
 * each client in 10 s.
 */
export interface LogEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /** How severe the server says it is. */
  readonly type: LoggingLevel
  /** Of its line in the log: `notice` is info there, and what is worse than `error` is error. */
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** What the server calls its logger, at most 100 characters. */
  readonly logger?: string
  /** The text, or JSON, of what it says, at most 500 characters. */
  readonly data: string
  /** How many of this level were held back before it. */
  readonly heldBack?: number
}

/** The state of a client has changed. */
export interface StateEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /** `error` where a connection was lost, or none can be made. */
  readonly type: 'changed' | 'error'
  readonly phase: Phase
  readonly attempt: number
  /** Milliseconds to the next attempt, in `disconnected`. */
  readonly delay?: number
  /** The code of the error that is the reason; its message may hold what is secret. */
  readonly code?: string | number
}

/**
 * A call of a user began, or ended with a result (`stop`) or an error. `start` is told in the asynchronous
 * context of the caller, so that a span that is begun then finds its parent.
 */
export interface CallEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  readonly type: 'start' | 'stop' | 'error'
  /** Of the call, in all of its rounds and attempts; unique among those of one handle. */
  readonly call: number
  /** At most 100 characters. */
  readonly method: string
  /** Milliseconds from its start; absent in `start`. */
  readonly duration?: number
  /** Of the error: that of a ClientError, or of JSON-RPC. */
  readonly code?: string | number
}

/**
 * What clients tell: published on `node:diagnostics_channel` as `caduceus.client.NAME`. No event but `log`
 * has params, results or headers in it.
 */
export interface ClientEvents {
  warning: WarningEvent
  log: LogEvent
  state: StateEvent
  request: CallEvent
}

const channels = eventChannels<ClientEvents>(
  'caduceus.client',
  ['warning', 'log', 'state', 'request'],
  optionError,
)

/** Whether anybody listens to events of that name. */
export const { isHeard } = channels

/** The code of an error of ours or of a server; undefined for any other. */
export function codeOf(error: unknown): { readonly code?: string | number } {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' || typeof code === 'number' ? { code } : {}
}

/** Tells subscribers of an event; the payload is made only when somebody listens. */
export const emitClient = channels.emit

/**
 * Hears every event of that name, of all clients in this process of Node, until the returned function is
 * called. Throws BAD_OPTION.
 */
export const subscribeClient: EventChannels<ClientEvents>['subscribe'] = channels.subscribe
