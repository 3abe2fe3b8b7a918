import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import type { CacheHints } from '../../protocol/messages/base.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog } from '../catalog/catalog.js'
import type { ToolContext } from '../context/context.js'
import type { SessionWishes } from './session-wishes.js'

/** Work of an author's code, to be run as a task. */
export interface Work {
  /** Shown in trees and reports. */
  readonly name: string
  /** Milliseconds; undefined: the server's own limit. */
  readonly timeout: number | undefined
  /** How long the result may be kept; undefined: as the server says. */
  readonly cache?: CacheHints | undefined
  /** What the session keeps from now on; done at once, and saved before the answer. */
  readonly change?: (wishes: SessionWishes) => void
  run(ctx: ToolContext): object | Promise<object>
  /** The result when the time was up, or the error. */
  timedOut(ms: number): object | McpError
}

/** What handlers may look at besides the params: nothing of a connection. */
export interface RouteScope {
  readonly dialect: Dialect
  readonly catalog: Catalog
  /** Who asks, for scopes. */
  readonly peer: Peer
}

/** Work that only changes what the session keeps. */
export function keep(name: string, change: (wishes: SessionWishes) => void): Work {
  return {
    name,
    timeout: undefined,
    change,
    run: () => ({}),
    timedOut: (ms) => noAnswerIn(ms, 'saving the session'),
  }
}

/** The error when the time of a request was up and there is no result that could say so. */
export function noAnswerIn(ms: number, what: string): McpError {
  return new McpError(errorCodes.internalError, `${what} took longer than ${ms} ms and was stopped`)
}
