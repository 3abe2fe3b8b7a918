import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorRef } from '../../runtime/process/ref.js'
import type { News } from '../cluster/cluster.js'
import type { Envelope } from '../cluster/envelope.js'
import type { GivenSocket } from '../../runtime/peers/give-socket.js'
import type { StreamNews } from '../../transports/contract/shared-streams.js'
import type { DoorRef } from './door.js'
import type { HubRef } from './hub.js'
import type { Address } from '../../transports/contract/sharing.js'
import type { ServerOptions } from '../holdings/options.js'
import type { SessionInfo } from '../sessions/session-actor.js'

/** What a node is given at its start: it is copied. */
export interface NodeInput {
  readonly name: string
  /** The URL of the server's module. */
  readonly module: string
  readonly hub: HubRef
  readonly door: DoorRef
  readonly transport: { readonly name: string; readonly options: object }
  readonly address: Address
  /** Whether the event streams of all processes are kept together. */
  readonly streams: boolean
  /** What cursors and `requestState` are sealed with. */
  readonly secrets: readonly string[]
  readonly options: Partial<ServerOptions>
}

/** What a node of a server takes; `server/node.ts` is its actor. */
export interface NodeCalls {
  [name: string]: (state: never, input: never, ctx: never) => unknown
  /** Lets go of sessions and connections, for at most so many ms. */
  retire: (state: never, timeout: number, ctx: never) => Deferred<void>
  /** Stops what it serves to clients; what the others ask is served until it is stopped. */
  drain: (state: never, nothing: undefined, ctx: never) => Deferred<void>
  settled: (state: never, nothing: undefined, ctx: never) => Deferred<void>
  sessions: (state: never, nothing: undefined, ctx: never) => Promise<SessionInfo[]>
}

export interface NodeCasts {
  [name: string]: (state: never, input: never, ctx: never) => unknown
  connection: (state: never, given: GivenSocket, ctx: never) => unknown
  streams: (state: never, news: StreamNews, ctx: never) => unknown
  envelope: (state: never, input: { from: string; envelope: Envelope }, ctx: never) => unknown
  hear: (state: never, news: News, ctx: never) => unknown
  /** Nothing reaches this node any more: asked for `knows`, the hub says when it is `gone`. */
  ended: (state: never, node: string, ctx: never) => unknown
  gone: (state: never, node: string, ctx: never) => unknown
}

export type NodeRef = ActorRef<NodeCalls, NodeCasts>
