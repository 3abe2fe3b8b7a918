import type { Principal } from '../contract/principal.js'

/** What a token is checked for. */
export interface TokenUse {
  /** The server that the token has to be issued for (RFC 8707). */
  readonly resource: string
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal
}

/**
 * Finds out whose a bearer token is: what `jwt()` and `introspection()` return, or a function of your own,
 * which has to see to it that the token is genuine, in time, and issued for `resource`. Undefined is answered
 * 401, and so is TransportError UNAUTHORIZED, whose message the client is shown; whatever else is thrown
 * costs the request (500).
 */
export interface TokenVerifier {
  (token: string, use: TokenUse): Principal | undefined | Promise<Principal | undefined>
  /** Loads what it needs; awaited before a listener accepts. */
  readonly prepare?: () => Promise<unknown>
}
