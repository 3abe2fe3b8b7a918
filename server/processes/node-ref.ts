import type { ActorRef } from '../../runtime/process/ref.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { GivenSocket } from '../../runtime/peers/give-socket.js'
import type { Address } from '../../transports/contract/sharing.js'
import type { Bell } from '../engine/engine.js'
import type { SealedOptions } from '../engine/sealed-ids.js'
import type { ListKind } from '../context/changes.js'
import type { ServerOptions } from '../holdings/options.js'
import type { SessionInfo } from '../sessions/session-actor.js'
import type { DoorRef } from './door.js'
import type { HostRef } from './host.js'
import type { HostedPlan } from './hosted-engine.js'

/** What a node is given at its start: it is copied. */
export interface NodeInput {
  readonly name: string
  /** The URL of the server's module. */
  readonly module: string
  readonly host: HostRef
  readonly door: DoorRef
  readonly transport: { readonly name: string; readonly options: object }
  readonly address: Address
  readonly engine: NodeEngine
  readonly options: Partial<ServerOptions>
}

/** The engine of a node: of the program that starts it, one that it opens itself, or what its module exports. */
export type NodeEngine =
  | ({ readonly kind: 'hosted'; readonly sealed: SealedOptions | undefined } & HostedPlan)
  | { readonly kind: 'redis'; readonly options: object }

/** A change that clients of all nodes are notified of: of a resource, or else of a list. */
export type Change =
  | { readonly uri: string; readonly list?: undefined }
  | { readonly list: ListKind; readonly uri?: undefined }

/** What a node of a server takes; `server/node.ts` is its actor. */
interface NodeCalls {
  [name: string]: (state: never, input: never, ctx: never) => unknown
  /** Lets go of sessions and connections, for at most so many ms. */
  retire: (state: never, timeout: number, ctx: never) => Deferred<void>
  /** Stops what it serves: the call is over with the node. */
  drain: (state: never, nothing: undefined, ctx: never) => Deferred<void>
  sessions: (state: never, nothing: undefined, ctx: never) => Promise<SessionInfo[]>
  changed: (state: never, change: Change, ctx: never) => Deferred<void>
}

interface NodeCasts {
  [name: string]: (state: never, input: never, ctx: never) => unknown
  connection: (state: never, given: GivenSocket, ctx: never) => unknown
  /** There is something to look for in the engine of the program. */
  bell: (state: never, bell: Bell, ctx: never) => unknown
}

export type NodeRef = ActorRef<NodeCalls, NodeCasts>
