import type { IncomingMessage, ServerResponse } from 'node:http'
import type { World } from '../../runtime/time/world.js'
import type { Credentials, CredentialsVisit, Principal, WantedCredentials } from '../contract/principal.js'
import type { PageVisitor } from '../contract/pages.js'
import type { Values } from '../contract/values.js'
import type { DPoPOptions } from './dpop.js'
import type { TokenVerifier } from './tokens.js'

/** What a sign-in of our own is made of, for the listener that has it. */
export interface OwnServerParts {
  readonly resource: string
  /** The authorization server that clients are sent to: the origin of the resource. */
  readonly issuer: string
  /** Scopes that a token has in any case. */
  readonly scopes: readonly string[]
  /** Further ones: what needs one of them is in no list without it, so clients are told of all. */
  readonly furtherScopes: readonly string[]
  readonly verify: TokenVerifier
  /** Undefined: tokens are bearer tokens. */
  readonly dpop: DPoPOptions | undefined
  /**
   * Begins with what the engine of a server keeps, which a restarted server has again. Rejects with BAD_OPTION
   * where it keeps nothing, or a package is missing.
   */
  open(values: Values | undefined, world: World): Promise<void>
  /** Whether a path is one of its own. */
  has(path: string): boolean
  /** Answers a request for such a path, once it is open. `address` is that of the client. */
  take(request: IncomingMessage, response: ServerResponse, address: string | undefined): void
  /** An exchange of `fetch`, as `take` needs it. */
  fetched(exchange: FetchedExchange): Promise<FetchedExchange>
  /**
   * The token of a user at the provider, or where they get one that is good for more. Rejects with TransportError
   * UNAUTHORIZED where there is none.
   */
  credentials(
    principal: Principal,
    wanted: WantedCredentials | undefined,
    signal: AbortSignal,
  ): Promise<Credentials | CredentialsVisit>
  signOut(user: SignedOut): Promise<void>
  readonly shows: NonNullable<PageVisitor['shows']>
  readonly isSignedIn: NonNullable<PageVisitor['isSignedIn']>
}

/** A `Request` as `node:http` would have it, and where its `Response` comes from. */
export interface FetchedExchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly result: Promise<Response>
}

/** Whom `ctx.principal` names. */
type SignedOut = Pick<Principal, 'issuer' | 'subject'>

/** For the option `auth`: the listener signs users in by itself. Made by `signIn()`. */
export class OwnServer {
  readonly #parts: OwnServerParts

  constructor(parts: OwnServerParts) {
    this.#parts = parts
  }

  /**
   * Signs a user out, on all nodes with the same engine: no token of theirs opens anything from now on, and
   * those of the provider are forgotten. Who may not come back is for `allow` to say. Rejects with TransportError
   * AUTHORIZATION_UNAVAILABLE before the server has started, and CLUSTER_UNAVAILABLE while the engine is away.
   */
  signOut(user: SignedOut): Promise<void> {
    return this.#parts.signOut(user)
  }

  /** What it is made of: for a listener. */
  static parts(server: OwnServer): OwnServerParts {
    return server.#parts
  }
}
