import type { Dialect, Revision } from '../../protocol/dialects/dialect.js'
import type { FoundBy, Pinned } from '../../protocol/stateless/era.js'
import type { JsonRpcErrorResponse, JsonRpcResult, Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Owned } from '../../runtime/process/owned.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TransportError } from '../base/errors.js'
import type { Credentials, CredentialsVisit, Principal, WantedCredentials } from './principal.js'
import type { ServerPages } from './pages.js'
import type { SharedStreams } from './shared-streams.js'
import type { Sharing } from './sharing.js'
import type { Values } from './values.js'

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
  /**
   * Begins one connection; `events` hears whether it came about. A throw, or a rejection, is a fatal failure. What
   * has to be loaded first may take a promise: messages wait for it.
   */
  connect(events: LinkEvents, scope: LinkScope): Link | Promise<Link>
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
  /** The connection goes on, and what the server told nobody in particular may have been lost meanwhile. */
  missed(): void
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

/** Where what a server sends goes: the answer to one message and what comes before it, or a reader's stream. */
export interface Sink {
  /** Whether `send` always answers false: it only keeps its session. Default false. */
  readonly isDeaf?: boolean
  /** Writes one message; false when it is dropped: nobody reads any more, or the reader is too slow. */
  send(message: Message): boolean
  /** The revision of the session, told first. */
  negotiated?(revision: string): void
  /** The end, told once: of a message what became of it; of a reader, while it is attached, `over`. */
  end?(outcome: Outcome): void
  /** Ends the stream early; the client comes back (2025-11-25, SEP-1699). False where it cannot. */
  release?(): boolean
}

/** What has become of a message that came in. Each transport has a table of what it makes of them. */
export type Outcome =
  /** The answer; `sessionId` of a session that was opened. */
  | { readonly type: 'answered'; readonly response: Response; readonly sessionId?: string | undefined }
  /** All answers to a batch were gathered. */
  | { readonly type: 'answers' }
  /** There is nothing to answer: a notification, a response, or a request that was cancelled. */
  | { readonly type: 'accepted' }
  /** The client's mistake, found before a handler ran; without a response where it answers no request. */
  | {
      readonly type: 'refused'
      readonly response: Response | undefined
      readonly why: string
      readonly by: FoundBy
    }
  /** The client takes no answer of the kinds that there may be. */
  | { readonly type: 'unacceptable'; readonly why: string }
  /** It could not be served: a TransportError, whose code says why, or a fault of ours. */
  | { readonly type: 'failed'; readonly error: unknown }
  /** Nothing more comes for a reader. `goesOn`: its session does, elsewhere or in another process. */
  | { readonly type: 'over'; readonly goesOn: boolean }

/** The outcome of a reader. */
export function over(goesOn: boolean): Outcome {
  return { type: 'over', goesOn }
}

/** The sink of a message that came by itself. */
export interface MessageSink extends Sink {
  /** Whether its end was told, or the client has gone. Default false. */
  readonly isOver?: boolean
  end(outcome: Outcome): void
  /**
   * Keeps an answer to a batch, which is one message, until `end` says that all are there. Without it they are
   * told one by one.
   */
  gather?(answer: Response): void
  /** Told first: a request is to be answered. */
  expects?(request: ExpectedAnswer): void
  /** Calls `fn` when the client goes away before the end, at once if it has; undefined: nobody is to be told. */
  onGone?(fn: (() => void) | undefined): void
}

/** A request that is to be answered. */
export interface ExpectedAnswer {
  readonly id: RequestId
  /** Its session, whose client may take up a broken stream; undefined: it has none. */
  readonly sessionId: string | undefined
  /** Whether only its client ends it. */
  readonly lasts: boolean
  /** Whether the client, without a session, takes an event stream when the answer is long in coming. */
  readonly mayStream: boolean
}

/** A message that came by itself, as the body of a POST. */
export interface Inbound {
  readonly text: string
  /** Its headers say the session and the revision. */
  readonly peer: Peer
  readonly sink: MessageSink
  /** Whether the client takes JSON and event streams: revisions with sessions ask for both. */
  readonly acceptsBoth: boolean
}

/** What a connection has settled. Its transport keeps it while servers restart. */
export interface ConnectionState {
  pinned: Pinned
  sessionId: string | undefined
  /** Of the session's revision. */
  dialect: Dialect | undefined
}

/** One connection as its transport shows it to the server: a pipe, a socket. */
export interface ServedConnection {
  readonly state: ConnectionState
  readonly peer: Peer
  /** Whether the client reads too slowly: then no request is begun. */
  readonly isStalled: boolean
  /**
   * Whether it is the only one there is, standard input: requests beyond the server's limit wait, and the
   * session does not end with it.
   */
  readonly isPipe: boolean
  /** Writes an answer, however slow the client is. */
  write(answer: Message): void
  /** Writes what may be dropped; false when it was. */
  send(message: Message): boolean
  /** Its session is open, or a request came that needs none. */
  begun(): void
  /** A request has its answer: what waits may go on. */
  onProgress(): void
  /** Runs `fn` in the next turn, unless the connection, or the listener that serves it, is over by then. */
  nextTurn(fn: () => void): void
  /** The session has ended for good: so does the connection. */
  sessionEnded(): void
  /** Tells whoever runs the server of an error that nobody waits for. */
  report(error: unknown): void
}

/** The server's half of a connection, as long as one listener serves it. */
export interface ConnectionPort {
  /** Requests without an answer. */
  readonly unanswered: number
  /** False while a session is being opened: what comes has to wait. */
  readonly isReady: boolean
  /** Whether so many requests wait that nothing more should be read. */
  readonly isFull: boolean
  /** Takes one message, with the headers that came with it. */
  receive(text: string, peer: Peer): void
  /** Takes what belongs to no request through the connection, which brings a session back that died. */
  subscribe(): void
  /** The client reads again. */
  caughtUp(): void
  /** Answers what is in flight with an error: nobody else will. */
  interrupt(why: string): void
  /** The connection is closed, or served by somebody else from now on: nothing is answered here. */
  close(): void
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

/** What a listener asks of a server. What messages mean, and which session they are for, the server knows. */
export interface ServerPort {
  /** The revisions that are spoken. */
  readonly revisions: readonly Revision[]
  /** The way to the event streams of other processes that serve the same sessions. Absent: there are none. */
  readonly streams?: SharedStreams | undefined
  /** What listeners keep in the engine of the server. Absent: the engine keeps nothing for them. */
  readonly values?: Values | undefined
  /** Pages that are served beside MCP. Absent: there are none. */
  readonly pages?: ServerPages | undefined
  /** Takes a message that came by itself; its sink is told the outcome. Never throws. */
  receive(inbound: Inbound): void
  /** Serves a connection. */
  connect(connection: ServedConnection): ConnectionPort
  /**
   * Attaches a reader for what belongs to no request, such as list changes; each message goes to one reader.
   * The returned function detaches it. Rejects with TransportError SESSION_NOT_FOUND when the session is
   * unknown, has ended, or is not this peer's; REVISION_MISMATCH when the peer names another revision;
   * SEND_FAILED when its process cannot be reached. So do `admit` and `close`.
   */
  subscribe(sessionId: string, sink: Sink, peer: Peer): Promise<() => void>
  /**
   * Checks whether a session takes messages of this peer, without restoring it. A short message is only
   * checked for a session that is not known to run: what is short may be read first.
   */
  admit(sessionId: string, peer: Peer, isShort: boolean): Promise<void>
  /** Ends a session for good. */
  close(sessionId: string, peer: Peer): Promise<void>
  /** Why no session is served at the moment: what needs one is refused with it. Undefined: they are. */
  problem(): TransportError | undefined
  /** Ends every stream of `subscriptions/listen` with its result: its client is to go elsewhere. */
  endSubscriptions(): void
  /** The server is stopping: as `endSubscriptions`, and connections have no new requests served. */
  drain(): void
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
  /** The origin at which browsers reach it, such as that of `auth.resource`; absent without an address. */
  readonly site?: string | undefined
  /** Starts the actor that serves it, with `ctx.start`; called after each restart of the group. */
  start(ctx: ActorContext, server: ServerPort, scope: ListenScope): Promise<ProcessRef>
  /**
   * The token that a principal has at the identity provider where it has signed in, or, where that is not
   * enough, where the user gets another one. Rejects with TransportError UNAUTHORIZED where there is none any
   * more. Absent: nobody signs in here.
   */
  readonly credentials?:
    | ((
        principal: Principal,
        wanted: WantedCredentials | undefined,
        signal: AbortSignal,
      ) => Promise<Credentials | CredentialsVisit>)
    | undefined
  /**
   * No new connection comes: every answer ends its connection, and streams of sessions end, so that clients
   * go elsewhere. Requests are served until then; a connection without one ends within `ms`. Resolves when no
   * connection is left. Absent: nothing to do.
   */
  retire?(ms: number): Promise<void>
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
  const problem = server.problem()
  if (problem === undefined) return undefined
  const { reason } = (problem.data ?? {}) as { readonly reason?: string }
  return `not ready: ${problem.code}${reason === undefined ? '' : `: ${reason}`}`
}
