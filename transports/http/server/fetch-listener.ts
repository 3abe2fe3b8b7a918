import { outside } from '../../../runtime/faults/containment.js'
import { systemWorld } from '../../../runtime/time/world.js'
import { answerMetadata } from '../../auth/metadata.js'
import { readVerifiedAuth } from '../../auth/options.js'
import type { FetchedExchange } from '../../auth/own-server.js'
import { pathOf } from '../../base/target.js'
import type { Binding, LinkScope, ServerTransport } from '../../contract/contract.js'
import { addressBehind } from '../listen/peer.js'
import type { MountedRequest } from './mount.js'
import { type MountOptions, readMountOptions } from './mount-options.js'
import { exchangeOf, withKnown } from './mounted.js'
import type { HttpSettings } from './options.js'
import { HttpSocket } from './port.js'

/** A listener that only `fetch` reaches, at the paths that it would serve on a port of its own. */
export interface FetchListener extends ServerTransport {
  /** Whether users sign in here. */
  readonly signsIn: boolean
  /**
   * Answers one request, with what the host knows of it; calls `over` at the end of the response. Never
   * rejects.
   */
  fetch(request: Request, known: Omit<MountedRequest, 'body'>, over?: () => void): Promise<Response>
}

/**
 * Serves Streamable HTTP where nothing listens: no socket, no thread. All of it is imported at once, as such
 * a host starts with every isolate. Throws TransportError BAD_OPTION.
 */
export function fetchListener(options: MountOptions & { readonly path?: string }): FetchListener {
  const { path, ...rest } = options
  const settings = readMountOptions(rest, readVerifiedAuth, path)
  let socket: HttpSocket | undefined

  async function bind(scope: LinkScope): Promise<Binding> {
    await settings.auth?.prepare()
    const own = new HttpSocket(settings, scope)
    socket = own
    scope.own(() => {
      if (socket === own) socket = undefined
      return own.close()
    })
    return own
  }

  return Object.freeze({
    name: 'fetch',
    signsIn: settings.auth?.own !== undefined,
    bind,
    async fetch(request: Request, known: Omit<MountedRequest, 'body'>, over?: () => void) {
      const world = socket?.world ?? systemWorld
      const { auth, path: served, timeouts } = settings
      const exchange = exchangeOf(request, world)
      if (over !== undefined) exchange.outgoing.once('close', over)
      // no server around it ends what comes too slowly
      if (request.body !== null) {
        const { incoming, outgoing } = exchange
        const timer = world.setTimeout(() => incoming.destroy(), timeouts.body)
        for (const end of [incoming, outgoing]) end.once('close', () => world.clearTimeout(timer))
      }
      if (auth?.own?.has(pathOf(exchange.incoming.url)) === true) {
        const { incoming, outgoing } = await auth.own.fetched(exchange)
        auth.own.take(incoming, outgoing, addressBehind(incoming, settings.trustProxy))
      } else if (!answerBeside(exchange, settings)) {
        const { incoming, outgoing } = exchange
        const here = socket
        if (here === undefined) outgoing.writeHead(503, { 'retry-after': '1', 'content-length': '0' }).end()
        else outside(() => here.take(withKnown(incoming, served, known), outgoing))
      }
      return exchange.result
    },
  })
}

/** Answers what is not for the one path of MCP. */
function answerBeside({ incoming, outgoing }: FetchedExchange, { auth, path }: HttpSettings): boolean {
  if (answerMetadata(incoming, outgoing, { auth, path, isShared: false })) return true
  if (pathOf(incoming.url) === path) return false
  outgoing.writeHead(404, { 'content-length': '0' }).end()
  return true
}
