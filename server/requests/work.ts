import type { Dialect } from '../../protocol/dialects/dialect.js'
import { McpError } from '../../protocol/wire/errors.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { Issue } from '../../protocol/schema/issues.js'
import type { CacheHints } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog } from '../catalog/catalog.js'
import type { Relayed } from '../definitions/relayed.js'
import type { ToolContext } from '../context/context.js'
import type { ToldCrash } from '../base/exposed-error.js'
import type { SessionWishes } from './session-wishes.js'

export interface Work {
  readonly name: string
  /** Milliseconds; undefined: the server's own limit. */
  readonly timeout: number | undefined
  /** How long the result may be kept; undefined: as the server says. */
  readonly cache?: CacheHints | undefined
  /** It only waits for something else: it takes no place among the requests of its session at work. */
  readonly waits?: boolean
  /** Changes the session's wishes: done at once, and saved before the answer. */
  readonly change?: WishesChange
  run(ctx: ToolContext): object | Promise<object>
  timedOut(ms: number): object | McpError
  /** The result for a crash that is its own; absent, or without one, the answer is error -32603. */
  crashed?(told: ToldCrash): object | undefined
}

export interface RouteScope {
  readonly dialect: Dialect
  readonly catalog: Catalog
  readonly peer: Peer
  /** The id of the session, if there is one. */
  readonly session?: string
  /** What the client has declared: in its session, or with this request. */
  readonly capabilities: ClientCapabilities
  /** Absent where no tool runs as a task, and inside of one. */
  readonly tasks?: TaskRoutes | undefined
}

/** What is different where there are tasks. */
export interface TaskRoutes {
  /** Undefined for what has nothing to do with tasks. Throws McpError. */
  plan(request: JsonRpcRequest, scope: RouteScope): Work | undefined
}

/** Answers what takes it back, if the session may have no room for it. */
type WishesChange = (wishes: SessionWishes) => (() => void) | undefined

export function keep(name: string, change: WishesChange): Work {
  return {
    name,
    timeout: undefined,
    change,
    run: () => ({}),
    timedOut: (ms) => noAnswerIn(ms, 'saving the session'),
  }
}

export function noAnswerIn(ms: number, what: string): McpError {
  return McpError.internal(`${what} took longer than ${ms} ms and was stopped`)
}

/** The error for a call of a server behind this one that was stopped here. */
export function noAnswerFrom({ server = 'the server' }: Relayed, ms: number): McpError {
  const data = { code: 'TIMEOUT', retryable: true, sent: true }
  return McpError.internal(`${server} did not answer within ${ms} ms`, data)
}

/** The error for params or arguments that do not fit their schema, all problems at once. */
export function notValid(what: string, whole: string, issues: readonly Issue[]): McpError {
  const problems = issues.map(({ path, message }) => `${path === '' ? whole : path}: ${message}`)
  return McpError.invalidParams(`The ${what} are not valid: ${problems.join('; ')}`, { issues })
}
