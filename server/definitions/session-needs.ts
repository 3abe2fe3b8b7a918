import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { ServerDefinition } from './define-server.js'
import { ServerError } from '../base/errors.js'

/** A component that may need a session. */
export interface MayNeedSession {
  readonly session: boolean
}

/** Names that are told of: a client may make up any number of them. */
const maxTold = 100

/** Whether a peer of this revision can be shown a component, and use it. */
export function isUsable({ handshake }: Dialect, { session }: MayNeedSession): boolean {
  return handshake || !session
}

/**
 * Throws McpError -32602 with `data.code` NO_SESSION for what needs a session in a revision that has none;
 * `what` names it.
 */
export function checkUsable(dialect: Dialect, component: MayNeedSession, what: string): void {
  if (isUsable(dialect, component)) return
  const problem = `${what} needs a session, which revision ${dialect.revision} does not have: connect in an older one (initialize)`
  throw new McpError(errorCodes.invalidParams, problem, { data: { code: 'NO_SESSION' } })
}

/** Whether something that a server is defined with needs a session. */
export function needsSessions(definition: ServerDefinition): boolean {
  const { tools, resources, resourceTemplates, prompts, lowLevel } = definition
  const all = [tools, resources, resourceTemplates, prompts, lowLevel.methods.values()]
  return all.some((components) => [...components].some(({ session }: MayNeedSession) => session))
}

/**
 * What is told of code that keeps session state where there are no sessions, although it has not said so:
 * `what` is its request.
 */
export class UndeclaredNeeds {
  readonly #server: string
  readonly #told = new Set<string>()

  constructor(server: string) {
    this.#server = server
  }

  /** The error for the code; whoever runs the server is warned once of each request. */
  found(what: string, revision: string): ServerError {
    const problem = `${what}: ctx.get, ctx.update and ctx.assign need a session, which revision ${revision} does not have: define it with session: true, so that clients connect in an older revision, or keep the value yourself under a key that comes with the arguments (for the rounds of one call: ctx.once)`
    if (!this.#told.has(what) && this.#told.size < maxTold) {
      this.#told.add(what)
      process.emitWarning(`server ${this.#server}: ${problem}`, { code: 'CADUCEUS_NO_SESSION' })
    }
    return new ServerError('NO_SESSION', problem)
  }
}
