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
import type { ActorContext } from '../../runtime/process/context.js'
import type { Owned } from '../../runtime/process/owned.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TransportError } from '../base/errors.js'
import type { Principal } from './principal.js'

/**
 * How a client reaches a server: what `stdio()`, `http()` and the like return, and what you write for a
 * transport of your own. A transport is data until its `connect` is called; it may be called again for every
 * new connection.
 */
export interface ClientTransport {
  /** Shown in trees, events and errors. */
  readonly name: string
  /**
   * How requests of 2026-07-28 travel. `pipe` (default): all on one connection, and a notification cancels
   * one. `http`: each has a response of its own, which is closed to cancel it, and headers that repeat parts
   * of it. `none`: the transport belongs to older revisions.
   */
  readonly modern?: 'pipe' | 'http' | 'none'
  /**
   * Whether each connection starts a program, which keeps the machine busy: attempts are further apart.
   * Default false.
   */
  readonly spawns?: boolean
  /**
   * Begins one connection and returns it at once; whether it came about is told through `events`. A throw
   * counts as a fatal failure to connect: throw for what trying again cannot mend.
   */
  connect(events: LinkEvents, scope: LinkScope): Link
}

/** One connection of a client: as long as it lives, messages can be sent. */
export interface Link {
  /**
   * Hands over one encoded message; `message` is the same in parts. A request whose sending fails is told
   * through `events.lost`, so this neither throws nor waits.
   */
  send(text: string, message: Message, options?: SendOptions): void
  /**
   * Nobody waits for the answer to this request any more: closes the response it would come on, where each
   * request has its own.
   */
  abort?(id: RequestId): void
  /** The server has answered `initialize`: the revision that both will speak from here on. */
  negotiated?(revision: string): void
  /** Bytes that wait to be taken by the other side, for people who look. */
  readonly queuedBytes?: number
  /**
   * Ends the connection in an orderly way within a few seconds, and tells `closed` once it is over. Calling
   * it again does nothing.
   */
  close(): void
}

/** What goes along with one message. */
export interface SendOptions {
  /** Headers for this message alone, their names in lower case; a transport without headers ignores them. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * What a connection tells; every call is a message to the client, so the order is kept and nothing is called
 * back into.
 */
export interface LinkEvents {
  /** The connection is up: messages may be sent. `detail` is for people (a process id, an address). */
  opened(detail?: Readonly<Record<string, unknown>>): void
  /** One complete message of the server, still encoded. */
  message(text: string): void
  /**
   * The request with this id will never be answered on this connection; other requests are not concerned.
   * `data.gone` of the error is true where it was lost with a server that ended, and the connection may be of
   * use once there is one again. NOT_OPEN: it did not leave, and the connection is about to end, so the next
   * one takes it; SEND_FAILED: nor did it, and its caller is told; CONNECT_FAILED: nor did it, and the server
   * cannot be reached now. `data.sent` of the error says so where the code does not: false, it never left;
   * true, it may have. SESSION_NOT_FOUND: the server refused it, and did not act on it, since it does not
   * know the session; the connection is about to end.
   */
  lost(id: RequestId, error: TransportError): void
  /** Something went wrong that ends nothing, such as a line on standard output that is no message. */
  trouble(error: TransportError): void
  /**
   * Undefined as long as the client keeps up; otherwise resolves once it has: a transport that can stops
   * reading until then. Whoever goes on fills the client's mailbox, and a full one ends the connection.
   */
  room(): Promise<void> | undefined
  /** The connection is over, told once. Nothing may be told after it. */
  closed(end: LinkEnd): void
}

/** How a connection ended. */
export interface LinkEnd {
  /** Why; undefined when `close()` was asked for. */
  readonly error?: TransportError
  /**
   * True when connecting again cannot help (command not found, bad TLS): the client fails its callers at
   * once. Default false.
   */
  readonly fatal?: boolean
}

/** What a connection may use: bound to the transport's actor, and gone with it. */
export interface LinkScope {
  /** Aborted when the connection is over, or the transport's actor ends. */
  readonly signal: AbortSignal
  /** Timers that die with the transport's actor. */
  readonly clock: Clock
  /** Releases a resource when the connection is over, or the transport's actor ends, whatever way. */
  own<Resource extends Owned>(resource: Resource): Resource
  /** Keeps a callback on an emitter attributed to the transport. */
  bind<Args extends unknown[], R>(fn: (...args: Args) => R): (...args: Args) => R | undefined
}

/**
 * Where messages go that belong to one request before its answer (progress, logs), or to a session at large.
 */
export interface Outlet {
  /**
   * Hands over one message; false when nobody reads any more or the reader is too slow, and the message is
   * dropped.
   */
  send(message: Message): boolean
  /** The revision of the session, before anything else is told. */
  negotiated?(revision: string): void
  /**
   * Nothing will come any more: the session has ended, or its actor has. Told once, to attached readers only.
   */
  end?(): void
  /**
   * Ends the connection early while the request goes on: the client comes back for the rest (2025-11-25,
   * SEP-1699). False where that is not possible, and then nothing happens.
   */
  release?(): boolean
}

/** What is known of the peer behind one request; never kept with the session. */
export interface Peer {
  /** Which listener it came through: `stdio`, `http`. */
  readonly transport: string
  /** Lower-case names; empty on transports without headers. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly remoteAddress: string | undefined
  /** What stands behind the `?` of the address that was asked for; absent on transports without addresses. */
  readonly query?: string | undefined
  /** How the client has called; absent on transports without addresses. */
  readonly scheme?: 'http' | 'https' | undefined
  /** What the middleware of a host program knows of the request, such as who is signed in; see `mount`. */
  readonly assigns?: Readonly<Record<string, unknown>> | undefined
  /** Who it is, as `authenticate` or the host program has found out; undefined for nobody in particular. */
  readonly principal?: Principal | undefined
  /**
   * Whether it is the very program, or who started it, as on standard input: then scopes are not asked for.
   * Default false.
   */
  readonly trusted?: boolean
}

/** An answer to a request. */
export type Response = JsonRpcResult | JsonRpcErrorResponse

/**
 * What a listener asks of a server. It reaches up through this contract, and never knows what a session is
 * made of.
 */
export interface ServerPort {
  /**
   * Requests of one client that are taken at once, and beyond which they are refused: a listener that can
   * read on later does so. Absent: any number.
   */
  readonly maxOpen?: number
  /**
   * The revisions that are spoken; all others are refused. Absent: all of them, as far as there is an
   * `exchange` for those without sessions.
   */
  readonly revisions?: readonly Revision[]
  /**
   * Opens a session for an `initialize` request and answers it; it is for the principal of the peer alone: to
   * all others, here and below, it is SESSION_NOT_FOUND. `sessionId` is undefined when the answer is an
   * error. Rejects with TransportError SESSION_LIMIT when there are too many, and with CLIENT_LIMIT when this
   * client has.
   */
  open(
    request: JsonRpcRequest,
    peer: Peer,
  ): Promise<{ readonly sessionId: string | undefined; readonly response: Response }>
  /**
   * Gives a message to a session. Resolves with the answer to a request, once it is there, and with undefined
   * for a notification or a response, as soon as it is taken. Rejects with TransportError SESSION_NOT_FOUND
   * when the session is unknown or has ended, and like all that follow with REVISION_MISMATCH where the peer
   * speaks of another revision than the session's.
   */
  deliver(sessionId: string, message: Message, outlet: Outlet, peer: Peer): Promise<Response | undefined>
  /**
   * Gives a batch to a session, in its order, and resolves with all the answers, once they are there. Rejects
   * with TransportError SESSION_NOT_FOUND, and with ProtocolError INVALID_MESSAGE where the session's
   * revision has no batches; absent: nobody has.
   */
  deliverBatch?(sessionId: string, batch: Batch, outlet: Outlet, peer: Peer): Promise<readonly Response[]>
  /**
   * Attaches a reader for what belongs to no request, such as list changes; each message goes to one reader
   * only. The returned function takes it off. Rejects with TransportError SESSION_NOT_FOUND.
   */
  attach(sessionId: string, outlet: Outlet, peer?: Peer): Promise<() => void>
  /**
   * Whether a session with this id is at work here; one that is not may still be brought back. Absent: nobody
   * knows.
   */
  knows?(sessionId: string): boolean
  /**
   * Finds out whether a session may be given messages of this peer, without bringing it back. Rejects with
   * TransportError SESSION_NOT_FOUND and REVISION_MISMATCH; what else it rejects with says nothing of the
   * session. Absent: only `deliver` finds out.
   */
  admit?(sessionId: string, peer: Peer): Promise<void>
  /** Ends a session for good. Rejects with TransportError SESSION_NOT_FOUND. */
  close(sessionId: string, peer?: Peer): Promise<void>
  /**
   * Answers one request of a revision without sessions. Never rejects for what the client did wrong: that is
   * the response. Absent: the server has none of these revisions, and listeners serve handshakes only.
   */
  exchange?(call: ExchangeCall): Promise<ExchangeAnswer>
  /** Ends every stream of `subscriptions/listen` with its result: the server is being stopped. */
  endSubscriptions?(): void
}

/** One request of a revision without sessions, and all there is to know of it. */
export interface ExchangeCall {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  /** Where its notifications go, before the answer. */
  readonly outlet: Outlet
  readonly peer: Peer
  /** Aborted as soon as the client is gone or has cancelled: nothing that is sent afterwards is written. */
  readonly signal: AbortSignal
  /**
   * Calls `fn` as a listener of `signal` would be, at once if it is aborted already; another `fn` takes its
   * place, `undefined` takes it back. Costs less than a signal, which need not be made then. Absent: listen
   * to `signal`.
   */
  onAbort?(fn: (() => void) | undefined): void
  /** Whether parameters are mirrored in headers (HTTP): then `Mcp-Param-*` has to say what the body says. */
  readonly mirrored: boolean
}

/** What became of an exchange. */
export interface ExchangeAnswer {
  /** Undefined when it was cancelled: nobody is to be told. */
  readonly response: Response | undefined
  /**
   * Whether it was refused before any handler ran: then the HTTP status is that of the code. Otherwise it is
   * 200, and 400 for a capability that the client lacks (-32021), unless notifications have gone out before.
   */
  readonly refused: boolean
}

/**
 * How clients reach a server: what `serveHttp()`, `serveStdio()` and the like return, and what you write for
 * a listener of your own. It is data until its `bind` is called.
 */
export interface ServerTransport {
  /** Shown in trees, events and errors. */
  readonly name: string
  /**
   * Takes what must outlive restarts of the listener, such as a port; what is taken is given back through
   * `scope.own`. Rejects with TransportError LISTEN_FAILED, which fails the start of the server. `previous`
   * is what it answered before, if even its owner had to be started again: the same address is wanted.
   */
  bind(scope: LinkScope, previous?: Binding): Promise<Binding>
}

/** A port or pipe that is taken: listeners come and go on it, one at a time. */
export interface Binding {
  /** Where clients reach it, for people and programs; undefined where there is no address. */
  readonly url: string | undefined
  readonly port: number | undefined
  /** Starts the actor that serves it, with `ctx.start`; called again after each restart of the group. */
  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef>
}

/** What a listener is told by its server. */
export interface ListenScope {
  /** The name to start the listener under. */
  readonly name: string
  /** Milliseconds that requests in flight are given when the server is stopped for good. */
  readonly drainTimeout: number
  /**
   * Whether the server is being stopped for good, and not only started again: then requests in flight are
   * worth waiting for.
   */
  stopping(): boolean
  /** The only client is gone for good: ends the server in an orderly way. */
  finished(): void
}

/** The revisions that a server speaks through its port. */
export function spokenBy({ revisions, exchange }: ServerPort): readonly Revision[] {
  return revisions ?? (exchange === undefined ? handshakeRevisions : allRevisions)
}
