import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { lastingWorld } from '../../../runtime/process/context.js'
import { type Denial, denialOf, identify } from '../../auth/authenticate.js'
import { isWatched, TokenWatch } from '../../auth/token-watch.js'
import { contained } from '../../base/contained.js'
import { ClientCounts } from '../../connections/client-counts.js'
import type { LinkScope, Peer } from '../../contract/contract.js'
import { isKeptOut, noteRefused, originHere, unidentifiedNotes } from '../../contract/events.js'
import { keyOfPrincipal } from '../../contract/principal.js'
import type { SharedConnections } from '../../contract/sharing.js'
import type { StandingToken } from '../../contract/standing.js'
import { createGuard, guardedHeaders } from './guard.js'
import { type NodeServer, type ServerPlan, takeServer, type UpgradeListener } from './node-server.js'
import type { ListenSettings } from './options.js'
import { addressBehind, withoutToken } from './peer.js'
import { sessionConnectionLimits } from './sharing.js'

/** What to serve on a port whose connections are sessions. */
export interface GatePlan extends Pick<ServerPlan, 'paths' | 'problem'> {
  /** The transport that its peers use. */
  readonly transport: string
  readonly onRequest: RequestListener
  readonly onUpgrade?: UpgradeListener
}

interface RefusedPeer {
  readonly denial: Omit<Denial, 'status' | 'problem'> & { readonly status: number }
}

/** A port, and who is let in there. */
export interface Gate {
  readonly server: NodeServer
  /** Says why a request is kept out, or undefined when it may pass. */
  check(request: IncomingMessage): string | undefined
  /**
   * Where a request comes from and who sends it, or why it is refused (told to subscribers); never rejects.
   */
  identify(request: IncomingMessage): Promise<Peer | RefusedPeer>
  /** The token that let in what outlives its request; undefined where none was asked for. */
  watch(request: IncomingMessage, peer: Peer): StandingToken | undefined
  /** Counts a connection of this client until `leave`; false when that is one too many. */
  enter(peer: Peer, connection: object): boolean
  leave(connection: object): void
  /** Tells subscribers that a request was kept out. */
  noteRefused(request: IncomingMessage, status: number, problem?: string): void
}

/** Takes a port like `takeServer`, for connections that are counted by their clients. */
export async function openGate(
  settings: ListenSettings,
  scope: LinkScope,
  plan: GatePlan,
  source?: SharedConnections,
): Promise<Gate> {
  const { limits, timeouts, trustProxy } = settings
  const { transport, paths, problem, onRequest, onUpgrade } = plan
  const origin = originHere(transport)
  // keys that are fetched are for all, also when this listener ends
  const world = lastingWorld(scope.world)
  const clients = new ClientCounts<object>(limits.connectionsPerClient)
  const { all, client } = sessionConnectionLimits(settings)
  const report = scope.bind((error: unknown) => {
    throw error
  })
  const taken: ServerPlan = {
    paths,
    problem,
    onRequest: scope.bind(contained(onRequest, report)),
    ...(onUpgrade !== undefined && { onUpgrade: scope.bind(onUpgrade) }),
    requestTimeout: Math.max(30_000, timeouts.headers),
    maxConnections: all,
    // whoever has the port counts them for all processes
    clients: source === undefined && client ? new ClientCounts<Socket>(...client) : undefined,
    watchesGiven: true,
    origin,
    tells: false,
  }
  const server = await takeServer(settings, scope, taken, source)
  const guard = createGuard({ ...settings, host: server.host })
  const peerOf = (request: IncomingMessage): Peer => {
    const remoteAddress = addressBehind(request, trustProxy)
    return Object.freeze({ transport, headers: request.headers, remoteAddress })
  }
  const unidentified = unidentifiedNotes(origin, world)
  return {
    server,
    check: (request) => guard(guardedHeaders(request)),
    async identify(request) {
      const peer = peerOf(request)
      if (settings.authenticate === undefined) return peer
      try {
        const principal = await identify({ peer, request }, settings, world)
        const headers = settings.auth === undefined ? peer.headers : withoutToken(request.headers)
        return Object.freeze({ ...peer, headers, principal })
      } catch (error) {
        const denial = denialOf(error)
        if (denial === undefined) {
          report(error)
          return { denial: { status: 500, message: 'Internal error', headers: {} } }
        }
        const { status, problem } = denial
        // nobody waits for what was given up
        if (status === 503 && !request.socket.destroyed) unidentified(problem)
        if (isKeptOut(status)) noteRefused(origin, peer.remoteAddress, { status, problem })
        return { denial }
      }
    },
    watch(request, peer) {
      const { principal } = peer
      if (!isWatched(settings) || principal === undefined) return undefined
      return new TokenWatch({ request, peer, principal, settings, world, report })
    },
    enter({ remoteAddress, principal }, connection) {
      const isOne = clients.enterFrom(remoteAddress, connection)
      return isOne && (principal === undefined || clients.enter(keyOfPrincipal(principal), connection))
    },
    leave: (connection) => clients.leave(connection),
    noteRefused: (request, status, problem) =>
      noteRefused(origin, peerOf(request).remoteAddress, {
        status,
        ...(problem !== undefined && { problem }),
      }),
  }
}

/** Calls `fn` every `ms` milliseconds as long as the scope lasts. */
export function every(ms: number, { clock }: LinkScope, fn: () => void): void {
  clock.setTimeout(function again() {
    fn()
    clock.setTimeout(again, ms)
  }, ms)
}
