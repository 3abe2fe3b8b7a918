import type { Method, NotificationMethod, Side } from './methods.js'

/** The revisions of MCP that we speak. */
export type Revision = '2025-11-25'

/** What one revision allows, as data; a method that is absent does not exist in it, even if a handler does. */
export interface Dialect {
  readonly revision: Revision
  /** Whether messages may come as an array. */
  readonly batches: boolean
  /** Whether HTTP clients name the revision in `MCP-Protocol-Version` on every request after `initialize`. */
  readonly versionHeader: boolean
  /** The requests that each side may receive. */
  readonly requests: { readonly [S in Side]: readonly Method[] }
  /** The notifications that each side may receive. */
  readonly notifications: { readonly [S in Side]: readonly NotificationMethod[] }
}

/** Whether `receiver` may be asked `method` in this revision; if not, the answer is -32601. */
export function acceptsRequest(dialect: Dialect, receiver: Side, method: string): method is Method {
  return dialect.requests[receiver].includes(method as Method)
}

/** Whether `receiver` may be told `method` in this revision; if not, it is ignored. */
export function acceptsNotification(
  dialect: Dialect,
  receiver: Side,
  method: string,
): method is NotificationMethod {
  return dialect.notifications[receiver].includes(method as NotificationMethod)
}
