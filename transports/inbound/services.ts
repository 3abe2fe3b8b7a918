import type { Revision } from '../../protocol/dialects/dialect.js'
import type { JsonRpcRequest, Message } from '../../protocol/wire/jsonrpc.js'
import type { TransportError } from '../base/errors.js'
import type { Peer, Response, ServerPort, Sink } from '../contract/contract.js'
import type { ExchangeAnswer, ExchangeCall } from './exchange-call.js'

/** Who serves what comes in: the sessions of this node, or of all nodes, and the requests without one. */
export interface Services extends Pick<ServerPort, 'streams' | 'values' | 'handOver' | 'handedOver'> {
  /** Open requests of one pipe; more wait. Absent: no limit. */
  readonly maxOpen?: number
  /** The revisions that are spoken. Absent: all; those without sessions only if there is an `exchange`. */
  readonly revisions?: readonly Revision[]
  /**
   * Opens a session for an `initialize` request and answers it. The session is for the principal of the peer:
   * for all others every method below rejects with SESSION_NOT_FOUND. `sessionId` is undefined when the
   * answer is an error. Rejects with TransportError SESSION_LIMIT, and CLIENT_LIMIT (too many of one client).
   */
  open(request: JsonRpcRequest, peer: Peer): Promise<OpenedSession>
  /**
   * Gives a message to a session. Resolves with the answer to a request; for a notification or a response
   * with undefined, as soon as it is taken. Rejects with TransportError SESSION_NOT_FOUND when the session is
   * unknown or has ended, and, like all methods below, with REVISION_MISMATCH when the peer names another
   * revision than the session has, and with SEND_FAILED when the process of the session cannot be reached.
   */
  deliver(sessionId: string, message: Message, sink: Sink, peer: Peer): Promise<Response | undefined>
  /** Attaches a reader: see `ServerPort.subscribe`. */
  attach(sessionId: string, sink: Sink, peer?: Peer): Promise<() => void>
  /**
   * Whether a session with this id is active, here or on a node that was asked for it before; another one may
   * still be restored. Absent: unknown.
   */
  knows?(sessionId: string): boolean
  /** Resolves with the revision of a session that takes messages of this peer, without restoring it. */
  admit?(sessionId: string, peer: Peer): Promise<string>
  /** Ends a session for good. */
  close(sessionId: string, peer?: Peer): Promise<void>
  /** Answers a request of a revision without sessions; never rejects for a client's fault. Absent: none. */
  exchange?(call: ExchangeCall): Promise<ExchangeAnswer>
  endSubscriptions?(): void
  problem?(): TransportError | undefined
}

/** The id of a session, unless `initialize` was refused. */
export interface OpenedSession {
  readonly sessionId: string | undefined
  readonly response: Response
}
