import type { Batch } from '../../protocol/wire/codec.js'
import type { Revision } from '../../protocol/dialects/dialect.js'
import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import type { Envelope } from '../../protocol/stateless/envelope.js'
import type {
  JsonRpcErrorResponse,
  JsonRpcRequest,
  JsonRpcResult,
  Message,
  RequestId,
} from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Owned } from '../../runtime/process/owned.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TransportError } from '../base/errors.js'
import type { Principal } from './principal.js'
import type { SharedStreams } from './shared-streams.js'
import type { Sharing } from './sharing.js'

/** How a client reaches a server, as `stdio()` returns it; data until `connect` is called, per connection. */
export interface ClientTransport {
  /** Shown in trees, events and errors. */
  readonly name: string
  /**
   * How requests of 2026-07-28 travel. `pipe` (default): all on one connection, and a notification cancels
   * one. `http`: each has its own response, which is closed to cancel it, and headers that repeat parts of
   * it. `none`: the transport has older revisions only.
   */
  readonly modern?: 'pipe' | 'http' | 'none'
  /** Whether each connection starts a program: then attempts are further apart. Default false. */
  readonly spawns?: boolean
  /** Begins one connection at once; `events` hears whether it came about. A throw is a fatal failure. */
  connect(events: LinkEvents, scope: LinkScope): Link
}

/** One connection of a client: as long as it lives, messages can be sent. */
export interface Link {
  /** Sends one message, encoded and decoded. Never throws or waits: `events.lost` hears of a failure. */
  send(text: string, message: Message, options?: SendOptions): void
  /** Nobody waits for this answer any more: closes its response, where each request has its own. */
  abort?(id: RequestId): void
  /** The server has answered `initialize`: both speak this revision from now on. */
  negotiated?(revision: string): void
  /** Bytes that wait to be taken by the other side, for `inspect`. */
  readonly queuedBytes?: number
  /** Closes the connection within a few seconds, and tells `closed` once it is over. Idempotent. */
  close(): void
}

/** What is sent along with one message. */
export interface SendOptions {
  /** Headers for this message alone, their names in lower case; a transport without headers ignores them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Events of a connection. Every call becomes a message to the client: in order, and never re-entrant. */
export interface LinkEvents {
  /** The connection is open: messages may be sent. `detail` is for people (a process id, an address). */
  opened(detail?: Readonly<Record<string, unknown>>): void
  /** One complete message of the server, still encoded. */
  message(text: string): void
  /**
   * The request with this id will never be answered on this connection. The code says how far it got:
   * NOT_OPEN: not sent, and the connection is about to end; the next one takes the request.
   * SEND_FAILED: not sent; its caller gets the error. CONNECT_FAILED: not sent; the server is out of reach.
   * SESSION_NOT_FOUND: the server does not know the session and did not act; the connection is about to end.
   * Other codes: it may have been sent. `data.sent` of the error overrides what the code says. `data.gone` is
   * true when the server ended, and the connection may serve again once there is a server.
   */
  lost(id: RequestId, error: TransportError): void
  /** A problem that ends nothing, such as a line on standard output that is no message. */
  trouble(error: TransportError): void
  /**
   * Undefined as long as the client keeps up; otherwise resolves once it has, and the transport should not
   * read until then. Reading on fills the client's mailbox; a full one ends the connection.
   */
  room(): Promise<void> | undefined
  /** The connection is over. Told once, and nothing after it. */
  closed(end: LinkEnd): void
}

/** How a connection ended. */
export interface LinkEnd {
  /** Why; undefined when `close()` was asked for. */
  readonly error?: TransportError
  /** True when another connection cannot help (no such command, bad TLS): calls fail then. Default false. */
  readonly fatal?: boolean
}

/** What a connection may use, bound to the transport's actor. */
export interface LinkScope {
  /** Aborted when the connection is over, or the transport's actor ends. */
  readonly signal: AbortSignal
  /** Timers that die with the transport's actor. */
  readonly clock: Clock
  /** The clock, and the other sources of nondeterminism: turns, chance, ids. */
  readonly world: World
  /** Releases a resource when the connection is over, or the transport's actor ends in any way. */
  own<Resource extends Owned>(resource: Resource): Resource
  /** Attributes a callback on an emitter to the transport. */
  bind<Args extends unknown[], R>(fn: (...args: Args) => R): (...args: Args) => R | undefined
}

/** Where messages go that belong to one request before its answer (progress, logs), or to a session. */
export interface Outlet {
  /** Whether `send` always answers false: it only keeps its session. Default false. */
  readonly isDeaf?: boolean
  /** Writes one message; false when it is dropped: nobody reads any more, or the reader is too slow. */
  send(message: Message): boolean
  /** The revision of the session, told first. */
  negotiated?(revision: string): void
  /**
   * Nothing more will come: the session or its actor has ended. Told once, to attached readers only. `goesOn`: the
   * session is served on, elsewhere or by another process.
   */
  end?(goesOn?: boolean): void
  /** Ends the stream early; the client comes back (2025-11-25, SEP-1699). False where it cannot. */
  release?(): boolean
}

/** The peer behind one request; never kept with the session. */
export interface Peer {
  /** The listener it came through: `stdio`, `http`. */
  readonly transport: string
  /** Lower-case names; empty on transports without headers. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly remoteAddress: string | undefined
  /** The query of the request's address; absent on transports without addresses. */
  readonly query?: string | undefined
  /** The scheme of the request's address; absent on transports without addresses. */
  readonly scheme?: 'http' | 'https' | undefined
  /** What the middleware of a host program has found out, such as who is signed in; see `mount`. */
  readonly assigns?: Readonly<Record<string, unknown>> | undefined
  /** Who it is, from `authenticate` or the host program; undefined for an anonymous caller. */
  readonly principal?: Principal | undefined
  /** Whether it is this program, or the one that started it (stdio): no scopes are checked. Default false. */
  readonly trusted?: boolean
}

/** An answer to a request. */
export type Response = JsonRpcResult | JsonRpcErrorResponse

/** What a listener asks of a server: all it knows of sessions. */
export interface ServerPort {
  /** Open requests of one client; more are refused, so a listener should read on later. Absent: no limit. */
  readonly maxOpen?: number
  /** The revisions that are spoken. Absent: all; those without sessions only if there is an `exchange`. */
  readonly revisions?: readonly Revision[]
  /** The way to the event streams of other processes that serve the same sessions. Absent: there are none. */
  readonly streams?: SharedStreams | undefined
  /**
   * Opens a session for an `initialize` request and answers it. The session is for the principal of the peer:
   * for all others every method below rejects with SESSION_NOT_FOUND. `sessionId` is undefined when the
   * answer is an error. Rejects with TransportError SESSION_LIMIT, and CLIENT_LIMIT (too many of one client).
   */
  open(
    request: JsonRpcRequest,
    peer: Peer,
  ): Promise<{ readonly sessionId: string | undefined; readonly response: Response }>
  /**
   * Gives a message to a session. Resolves with the answer to a request; for a notification or a response
   * with undefined, as soon as it is taken. Rejects with TransportError SESSION_NOT_FOUND when the session is
   * unknown or has ended, and, like all methods below, with REVISION_MISMATCH when the peer names another
   * revision than the session has, and with SEND_FAILED when the process of the session cannot be reached.
   */
  deliver(sessionId: string, message: Message, outlet: Outlet, peer: Peer): Promise<Response | undefined>
  /**
   * Gives a batch to a session, in order, and resolves with all answers. Rejects with TransportError
   * SESSION_NOT_FOUND, and with ProtocolError INVALID_MESSAGE when the session's revision has no batches.
   * Absent: no session has.
   */
  deliverBatch?(sessionId: string, batch: Batch, outlet: Outlet, peer: Peer): Promise<readonly Response[]>
  /**
   * Attaches a reader for what belongs to no request, such as list changes; each message goes to one reader.
   * The returned function detaches it. Rejects with TransportError SESSION_NOT_FOUND.
   */
  attach(sessionId: string, outlet: Outlet, peer?: Peer): Promise<() => void>
  /**
   * Whether a session with this id is active, here or on a node that was asked for it before; another one may
   * still be restored. Absent: unknown.
   */
  knows?(sessionId: string): boolean
  /**
   * Checks whether a session takes messages of this peer, without restoring it. Rejects with TransportError
   * SESSION_NOT_FOUND and REVISION_MISMATCH; any other error says nothing of the session. Absent: only
   * `deliver` finds out.
   */
  admit?(sessionId: string, peer: Peer): Promise<void>
  /** Ends a session for good. Rejects with TransportError SESSION_NOT_FOUND. */
  close(sessionId: string, peer?: Peer): Promise<void>
  /** Answers a request of a revision without sessions; never rejects for a client's fault. Absent: none. */
  exchange?(call: ExchangeCall): Promise<ExchangeAnswer>
  /** Ends every stream of `subscriptions/listen` with its result: the server is stopping. */
  endSubscriptions?(): void
  /**
   * Why no session is served at the moment: `open` and what takes the id of a session reject with it.
   * Undefined: they are. Absent: they always are.
   */
  problem?(): TransportError | undefined
  /**
   * The server is stopping, and others go on with its sessions: lets go of each once it is idle, also while
   * requests still come. Resolves when nobody waits for anything here any more, or soon after `signal`.
   */
  readonly handOver?: ((signal: AbortSignal) => Promise<void>) | undefined
  /**
   * No connection is left. Takes nothing more from the others, which go elsewhere with it, or stop as well:
   * resolves when what was taken is answered.
   */
  readonly handedOver?: (() => Promise<void>) | undefined
}

/** One request of a revision without sessions. */
export interface ExchangeCall {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  /** Where its notifications go, before the answer. */
  readonly outlet: Outlet
  readonly peer: Peer
  /** Aborted when the client is gone or has cancelled: nothing that is sent afterwards is written. */
  readonly signal: AbortSignal
  /** Calls `fn` on abort or at once; another replaces, `undefined` removes it. Cheaper than `signal`. */
  onAbort?(fn: (() => void) | undefined): void
  /** Whether headers mirror parameters (HTTP): then `Mcp-Param-*` must agree with the body. */
  readonly mirrored: boolean
}

/** The outcome of an exchange. */
export interface ExchangeAnswer {
  /** Undefined when it was cancelled: nothing is sent. */
  readonly response: Response | undefined
  /**
   * Whether it was refused before a handler ran: then the HTTP status is that of the code. Otherwise it is
   * 200, 400 for a capability that the client lacks (-32021), or 403 for missing scopes. Once notifications
   * were sent, it is 200.
   */
  readonly refused: boolean
}

/** How clients reach a server, as `serveHttp()` returns it; data until `bind` is called. */
export interface ServerTransport {
  /** Shown in trees, events and errors. */
  readonly name: string
  /**
   * Takes what must outlive restarts of the listener, such as a port, and gives it back through `scope.own`.
   * Rejects with TransportError LISTEN_FAILED: the server does not start. `previous` is the last binding, if
   * its owner was restarted, too: take the same address.
   */
  bind(scope: LinkScope, previous?: Binding): Promise<Binding>
  /** How several processes serve at its address; absent where they cannot. */
  readonly sharing?: Sharing
}

/** A port or pipe that is taken: it outlives its listeners, of which there is one at a time. */
export interface Binding {
  /** Where clients reach it; undefined where there is no address. */
  readonly url: string | undefined
  readonly port: number | undefined
  /** Starts the actor that serves it, with `ctx.start`; called after each restart of the group. */
  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef>
  /**
   * No new connection comes: every answer ends its connection, and streams of sessions end, so that clients
   * go elsewhere. Requests are served until then. Resolves when no connection is left. Absent: nothing to do.
   */
  retire?(): Promise<void>
}

/** What a listener gets from its server. */
export interface ListenScope {
  /** The name of the listener's actor. */
  readonly name: string
  /** Milliseconds for requests in flight when the server stops. */
  readonly drainTimeout: number
  /** Whether the server stops for good: then the listener waits for requests in flight. */
  stopping(): boolean
  /** The only client is gone for good: stops the server. */
  finished(): void
}

/**
 * Why requests are not served through a port, as `/readyz` says it; undefined: they are. Anybody may ask: of a
 * problem its code is told, and `data.reason`, which names no addresses.
 */
export function notReady(server: ServerPort | undefined | null): string | undefined {
  if (server === undefined || server === null) return 'not ready'
  const problem = server.problem?.()
  if (problem === undefined) return undefined
  const { reason } = (problem.data ?? {}) as { readonly reason?: string }
  return `not ready: ${problem.code}${reason === undefined ? '' : `: ${reason}`}`
}

/** The revisions that a server speaks through its port. */
export function spokenBy({ revisions, exchange }: ServerPort): readonly Revision[] {
  return revisions ?? (exchange === undefined ? handshakeRevisions : allRevisions)
}
