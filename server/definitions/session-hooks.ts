import type { ExitReason } from '../../runtime/base/exit.js'
import type { OpenSessionFacts, ToolContext } from '../context/context.js'
import { type DefinitionReaders, definitionReaders } from './definition.js'
import { isObject } from '../../protocol/wire/json.js'

/** The context of `init`. It has no effect after `init` has ended. */
export interface SessionContext
  extends Pick<ToolContext, 'signal' | 'get' | 'update' | 'assign' | 'assigns'> {
  readonly session: OpenSessionFacts
}

/** What `terminate` gets of a session that has ended. */
export interface EndedSession<Assigns = Readonly<Record<string, unknown>>> {
  readonly session: OpenSessionFacts
  /** Aborted at the timeout of the hook. */
  readonly signal: AbortSignal
  /** The session's assigns (`ctx.assign`), to close them. */
  readonly assigns: Assigns
}

/** How a session begins. */
export interface SessionStart<InitArg = unknown> {
  /** Whether it is an earlier session that is restored. */
  readonly restored: boolean
  /** The `initArg` that the server was started with. */
  readonly initArg: InitArg
}

/** Code that runs at the beginning and the end of a session, for resources such as connections and files. */
export interface SessionHooks<
  Context extends { readonly assigns: unknown } = SessionContext,
  InitArg = unknown,
> {
  /**
   * Runs before the first message of a session: after `initialize`, and, with `restored`, each time the
   * session is restored. A throw refuses the session for good: the client gets an `McpError` as it is, the text of a
   * `ToolError` as -32603, and -32603 without the message for any other error. It does not try again, unless the error
   * says so (429, 503, `retryable: true` in its data). `terminate` does not run then.
   */
  init?(ctx: Context, how: SessionStart<InitArg>): unknown
  /**
   * Runs once for every successful `init`: after DELETE or the idle timeout (`normal`), a crash (`crash`,
   * `killed`), a restart of the group or the end of the server (`shutdown`, `killed`). What it throws is only
   * reported.
   */
  terminate?(ctx: EndedSession<Context['assigns']>, reason: ExitReason): unknown
  /** Milliseconds for each. Default 5000; `terminate` has at most 1000, unless the reason is `normal`. */
  readonly timeout?: number
}

const fields = new Set(['init', 'terminate', 'timeout'])

/** Reads the hooks of a server's definition. Throws BAD_DEFINITION. */
export function readHooks({ about, bad }: DefinitionReaders, hooks: unknown): SessionHooks | undefined {
  if (hooks === undefined) return undefined
  if (!isObject(hooks)) throw bad('session', 'an object with init, terminate or both', hooks)
  const read = definitionReaders(`${about}: session`)
  read.checkFields(hooks, fields)
  for (const field of ['init', 'terminate'])
    if (hooks[field] !== undefined && typeof hooks[field] !== 'function')
      throw bad(`session.${field}`, 'a function', hooks[field])
  read.readTimeout(hooks.timeout)
  return Object.freeze({ ...hooks }) as SessionHooks
}
