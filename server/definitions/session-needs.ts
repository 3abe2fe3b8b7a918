import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { ServerDefinition } from './define-server.js'
import { ServerError } from '../base/errors.js'
import type { SessionUse } from '../context/session-state.js'

export interface MayNeedSession {
  readonly session: boolean
  /** Of a tool. */
  readonly task?: 'forbidden' | 'optional' | 'required'
}

/** Requests that are warned of: a client may make up any number of names. */
const maxTold = 100

/** Whether a client of this revision may see and use a component. */
export function isUsable(dialect: Dialect, { session, task }: MayNeedSession): boolean {
  return (dialect.handshake || !session) && (task !== 'required' || hasTasks(dialect))
}

/** Whether clients of this revision may have tasks: by an extension in 2026-07-28. */
export function hasTasks({ handshake, lacks }: Dialect): boolean {
  return !handshake || lacks?.fields.callToolParams?.includes('task') !== true
}

/**
 * Throws McpError -32602, with NO_SESSION in `data.code`, unless the component is usable; `what` names it.
 */
export function checkUsable(dialect: Dialect, component: MayNeedSession, what: string): void {
  if (isUsable(dialect, component)) return
  if (!hasTasks(dialect) && component.task === 'required')
    throw McpError.methodNotFound(`${what} runs as a task, which revision ${dialect.revision} does not have`)
  const problem = `${what} needs a session, which revision ${dialect.revision} does not have: connect in an older one (initialize)`
  throw new McpError(errorCodes.invalidParams, problem, { data: { code: 'NO_SESSION' } })
}

export function needsSessions(definition: ServerDefinition): boolean {
  const { tools, resources, resourceTemplates, prompts, lowLevel } = definition
  const all = [tools, resources, resourceTemplates, prompts, lowLevel.methods.values()]
  return all.some((components) => [...components].some(({ session }: MayNeedSession) => session))
}

/**
 * Handlers that use session state in a revision without sessions, but are not defined with `session: true`.
 */
export class UndeclaredNeeds {
  readonly #server: string
  readonly #told = new Set<string>()

  constructor(server: string) {
    this.#server = server
  }

  /** The error for such a handler. A process warning is emitted once for each request (`what`). */
  found(what: string, revision: string, use: SessionUse = 'state'): ServerError {
    const problem = use === 'state' ? needProblem(what, revision) : initProblem(what, revision)
    if (!this.#told.has(what) && this.#told.size < maxTold) {
      this.#told.add(what)
      process.emitWarning(`server ${this.#server}: ${problem}`, { code: 'CADUCEUS_NO_SESSION' })
    }
    return new ServerError('NO_SESSION', problem)
  }
}

function initProblem(what: string, revision: string): string {
  return `${what}: ctx.assigns is made by session.init at the beginning of a session, which revision ${revision} does not have: define it with session: true, so that clients connect in an older revision, or open what it has once for the program`
}

/** The error of a handler that uses session state where there are no sessions. */
export function needProblem(what: string, revision: string): string {
  return `${what}: ctx.get, ctx.update and ctx.assign need a session, which revision ${revision} does not have: define it with session: true, so that clients connect in an older revision, or keep the value yourself under a key that comes with the arguments (for the rounds of one call: ctx.once)`
}
