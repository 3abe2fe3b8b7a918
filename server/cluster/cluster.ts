import type { Peer } from '../../transports/contract/contract.js'
import type { ListKind } from '../context/changes.js'
import type { TransportError } from '../../transports/base/errors.js'
import type { SharedStreams } from '../../transports/contract/shared-streams.js'
import type { Values } from '../../transports/contract/values.js'
import type { SessionStore } from '../engine/session-store.js'
import type { SharedTaskStore } from '../engine/shared-task-store.js'
import type { Secrets } from '../base/sealing.js'
import type { PortMessage } from './message.js'

/**
 * What the nodes share that serve the same sessions; each node is a process of Node. A session runs on one
 * node, its owner. Messages for it are taken by any node, and passed on to the owner.
 */
export interface Cluster {
  /** This node, as the others call it. */
  readonly node: string
  /** The records of the sessions of all nodes. A node saves those that it has claimed. */
  readonly sessions: SessionStore
  /** The tasks of all nodes. */
  readonly tasks: SharedTaskStore
  /**
   * What all nodes seal cursors and the state of calls with, unless the server was given keys: the first seals,
   * all open. Absent: each has a secret of its own.
   */
  readonly secrets?: Secrets
  /** Why this node may serve no sessions at the moment; undefined: it may. */
  readonly problem: TransportError | undefined
  /** The way to the event streams of other nodes. */
  readonly streams: SharedStreams
  /** What listeners keep, for all nodes. */
  readonly values: Values
  /**
   * Makes this node the owner of a session, unless another one is, or this one is retiring. Resolves with the
   * node that the session is for. Rejects with TransportError SESSION_LIMIT and CLIENT_LIMIT, which count the
   * sessions of all nodes, and SEND_FAILED when the others are out of reach.
   */
  claim(sessionId: string, peer: Peer | undefined): Promise<string>
  /**
   * The session does not run here any more. A claim that is made here afterwards comes after it. Nothing
   * happens if it is another node's.
   */
  release(sessionId: string): void
  /**
   * Sends to another node, in order. False when there is no room at the moment. What is accepted arrives once, or
   * that node is reported as gone; an `ask` may also come back as `undelivered`, and a `message` be lost.
   */
  send(node: string, message: PortMessage): boolean
  /** Tells the other nodes of a change. */
  publish(news: ClusterNews): void
  /** This node is about to end: it claims nothing any more, unless it is the only one. */
  retire(): void
  /** Makes `listener` the one that gets messages and news, until the returned function is called. */
  listen(listener: ClusterListener): () => void
}

/** News to all nodes: a change that their clients are told of. */
export type ClusterNews =
  | { readonly type: 'list'; readonly list: ListKind }
  | { readonly type: 'resource'; readonly uri: string }
  /** News was missed: each list and each resource may have changed. */
  | { readonly type: 'anything' }

/** Gets the messages and news of other nodes. */
export interface ClusterListener {
  receive(from: string, message: PortMessage): void
  /** A node has ended: nothing comes from it any more, and nothing reaches it. */
  gone(node: string): void
  hear(news: ClusterNews): void
  /** Sessions that run here are other nodes' by now: they end here, and change nothing any more. */
  lost(sessionIds: readonly string[]): void
  /** Resolves when what other nodes have asked until now is answered. */
  settled(): Promise<void>
  /** Lets go of the sessions, each once it is idle, so that other nodes go on with them. */
  retire(signal: AbortSignal): Promise<void>
}

/** Steers, inside the library alone: the session is for another node, and the port passes the message on. */
export class OwnedElsewhere extends Error {
  readonly owner: string

  constructor(owner: string) {
    super(`the session is for ${owner}`)
    this.owner = owner
  }
}
