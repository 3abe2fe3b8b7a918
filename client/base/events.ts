import { type EventChannels, eventChannels } from '../../runtime/faults/events.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import { optionError } from './errors.js'
import type { Phase } from './state.js'

/** Something odd that stopped nothing: at most 100 for each client in 10 s, the next with `heldBack`. */
export interface WarningEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /**
   * - `bad_tool`: a listed tool breaks the rules for `x-mcp-header` and is left out.
   * - `bad_schema`: an output schema is unusable; results are not checked.
   * - `too_many_questions`: the server asks more at once than the client answers.
   * - `unexpected_event`: ignored; a bug of this library or of a transport of yours.
   * - `connect_failed`: the first, 10th, 100th failed attempt and so on, and a final one.
   * - `waiting`: a call, or `ready()`, has waited 2 s for a server that is slow to come up; once an outage.
   * - `forgotten`: on a terminal, idle for 10 s, and nothing else seems to keep the program alive; once.
   */
  readonly type:
    | 'bad_tool'
    | 'bad_schema'
    | 'too_many_questions'
    | 'unexpected_event'
    | 'connect_failed'
    | 'waiting'
    | 'forgotten'
  /** Of its line in the log. */
  readonly level: 'warn'
  /** The name of the tool, at most 100 characters. */
  readonly tool?: string
  /** What is wrong, in a sentence. */
  readonly reason: string
  /** Events that were held back before this one. */
  readonly heldBack?: number
}

/** A server's log message without a handler: per level at most 100 for each client in 10 s. */
export interface LogEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /** The level that the server gave it. */
  readonly type: LoggingLevel
  /** Of its line in the log: `notice` is `info` there, and levels above `error` are `error`. */
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** The logger that the server named, at most 100 characters. */
  readonly logger?: string
  /** Its text, or JSON, at most 500 characters. */
  readonly data: string
  /** Messages of this level that were held back before this one. */
  readonly heldBack?: number
}

/** The state of a client has changed. */
export interface StateEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /** `error`: a connection was lost, or cannot be made. */
  readonly type: 'changed' | 'error'
  readonly phase: Phase
  readonly attempt: number
  /** Milliseconds to the next attempt, in `disconnected`. */
  readonly delay?: number
  /** The code of the error that is the reason; its message is left out, since it may hold secrets. */
  readonly code?: string | number
}

/**
 * A call began, or ended with a result (`stop`) or an error. `start` is told in the caller's async context:
 * spans begun there find their parent.
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
  /** Of the error: that of a ClientError, or of JSON-RPC; absent for a tool that failed. */
  readonly code?: string | number
  /** Whether it is the result of a tool that failed (`isError`): an `error`. */
  readonly isError?: boolean
}

/**
 * A call begins, told in its caller's async context. Whoever hears may set `around`, which is then given the
 * call to run, and fields of `meta`, which go into `params._meta`: for spans. Not logged.
 */
export interface AroundEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /** At most 100 characters. */
  readonly method: string
  /** The tool, prompt or resource that is asked for, at most 200 characters. */
  readonly target?: string
  /** The name of its transport: `http mcp.example.com/mcp`, `stdio node`. */
  readonly transport: string
  /** The revision of MCP that was spoken last; undefined before the first connection. */
  readonly revision?: string
  /** Goes into `params._meta`, over what the caller gave. */
  readonly meta: Record<string, unknown>
  /** Runs the call, and returns the promise that it returns. */
  around?: <Result>(run: () => Promise<Result>) => Promise<Result>
}

/** Events on `node:diagnostics_channel` as `caduceus.client.NAME`. Only `log` has content of messages. */
export interface ClientEvents {
  warning: WarningEvent
  log: LogEvent
  state: StateEvent
  request: CallEvent
  call: AroundEvent
}

const channels = eventChannels<ClientEvents>(
  'caduceus.client',
  ['warning', 'log', 'state', 'request', 'call'],
  optionError,
)

export const { isHeard } = channels

/** Of an error of ours or of a server; `{}` for any other. */
export function codeOf(error: unknown): { readonly code?: string | number } {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' || typeof code === 'number' ? { code } : {}
}

/** The payload is made only when somebody listens. */
export const emitClient = channels.emit

/** Hears an event of all clients in this process until the returned function is called. Throws BAD_OPTION. */
export const subscribeClient: EventChannels<ClientEvents>['subscribe'] = channels.subscribe
