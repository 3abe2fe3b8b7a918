import type { Lacks } from './lacks.js'
import type { Method, NotificationMethod, NotificationTo, RequestTo, Side } from '../messages/methods.js'

/** The revisions of MCP that we speak. */
export type Revision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28'

/**
 * What one revision allows, as data; a method that is absent does not exist in it, even if a handler does.
 */
export interface Dialect {
  readonly revision: Revision
  /** Whether `initialize` opens a session; without it every request carries an envelope and stands alone. */
  readonly handshake: boolean
  /** Whether messages may come as an array. */
  readonly batches: boolean
  /** Whether HTTP clients name the revision in `MCP-Protocol-Version` on every request after `initialize`. */
  readonly versionHeader: boolean
  /**
   * Whether an event stream may begin with an event of an id and no data, and end before its answer
   * (specification: SEP-1699).
   */
  readonly primedStreams: boolean
  /** The requests that each side may receive. */
  readonly requests: { readonly [S in Side]: readonly Method[] }
  /** The notifications that each side may receive. */
  readonly notifications: { readonly [S in Side]: readonly NotificationMethod[] }
  /** Requests that need no capability here, although the table names one. */
  readonly ungated: readonly Method[]
  /** The error codes that are not the same in every revision. */
  readonly errors: DialectErrors
  /**
   * What it does not have of the types of this library; undefined: it has everything, and messages are sent
   * as they are.
   */
  readonly lacks?: Lacks
}

/** The error codes that are not the same in every revision. */
export interface DialectErrors {
  /** `resources/read` of a resource that does not exist. */
  readonly resourceNotFound: number
  /**
   * The user has to visit a page first; where the revision does not know this, the code of a plain refusal.
   */
  readonly urlElicitationRequired: number
}

/** Whether `receiver` may be asked `method` in this revision; if not, the answer is -32601. */
export function acceptsRequest<S extends Side>(
  dialect: Dialect,
  receiver: S,
  method: string,
): method is RequestTo<S> {
  return dialect.requests[receiver].includes(method as Method)
}

/** Whether `receiver` may be told `method` in this revision; if not, it is ignored. */
export function acceptsNotification<S extends Side>(
  dialect: Dialect,
  receiver: S,
  method: string,
): method is NotificationTo<S> {
  return dialect.notifications[receiver].includes(method as NotificationMethod)
}
