import type { ExitReason } from '../../runtime/base/exit.js'
import type { OpenSessionFacts, ToolContext } from '../context/context.js'
import { badDefinition, checkFields, checkFunction, checkTimeout } from './definition.js'
import { isObject } from '../../protocol/wire/json.js'

/** What `init` may do: good until it has ended. */
export interface SessionContext
  extends Pick<ToolContext, 'signal' | 'get' | 'update' | 'assign' | 'assigns'> {
  readonly session: OpenSessionFacts
}

/** What is left of a session that has ended. */
export interface EndedSession<Assigns = Readonly<Record<string, unknown>>> {
  readonly session: OpenSessionFacts
  /** Aborted when the time of the hook is over. */
  readonly signal: AbortSignal
  /** What `ctx.assign` has given the session, to be closed. */
  readonly assigns: Assigns
}

/** Why and with what a session begins. */
export interface SessionStart<InitArg = unknown> {
  /** Whether it was there before and is brought back. */
  readonly restored: boolean
  /** The `initArg` that the server was started with. */
  readonly initArg: InitArg
}

/**
 * What an author does at both ends of a session, for what lives outside its state: connections, files,
 * subscriptions.
 */
export interface SessionHooks<
  Context extends { readonly assigns: unknown } = SessionContext,
  InitArg = unknown,
> {
  /**
   * Runs before the session takes its first message: after `initialize`, and with `restored` each time it is
   * brought back. A throw refuses the session: `McpError` is told to the client, anything else is -32603
   * without its message. Then `terminate` does not run.
   */
  init?(ctx: Context, how: SessionStart<InitArg>): unknown
  /**
   * Runs once for every `init` that was well: after DELETE or too long without use (`normal`), a crash
   * (`crash`, `killed`), a restart of the group or the end of the server (`shutdown`, `killed`). What it
   * throws is reported, and changes nothing.
   */
  terminate?(ctx: EndedSession<Context['assigns']>, reason: ExitReason): unknown
  /**
   * Milliseconds that each has. Default 5000; after any other end than `normal`, `terminate` has 1000 of them
   * at most.
   */
  readonly timeout?: number
}

const fields = new Set(['init', 'terminate', 'timeout'])

/** Checks the hooks of a server's definition; throws BAD_DEFINITION. */
export function readHooks(about: string, hooks: unknown): SessionHooks | undefined {
  if (hooks === undefined) return undefined
  if (!isObject(hooks)) throw badDefinition(about, 'session', 'an object with init, terminate or both', hooks)
  checkFields(`${about}: session`, hooks, fields)
  for (const field of ['init', 'terminate'])
    if (hooks[field] !== undefined) checkFunction(about, `session.${field}`, hooks[field])
  checkTimeout(`${about}: session`, hooks.timeout)
  return Object.freeze({ ...hooks }) as SessionHooks
}
