import { lazy } from '../../../runtime/faults/load.js'
import { readListenerAuth } from '../../auth/listener-auth.js'
import type { Binding, LinkScope, ServerTransport } from '../../contract/contract.js'
import type { SharedConnections } from '../../contract/sharing.js'
import { connectionLimits, shareListener } from '../listen/sharing.js'
import { type HttpServeOptions, type HttpSettings, readHttpOptions } from './options.js'

const loadBind = /* @__PURE__ */ lazy('../../transports/http/server/bind.js', () => import('./bind.js'))

/**
 * Serves over Streamable HTTP (specification: transports). The port stays taken, and connections stay open,
 * while the listener is restarted: requests that come meanwhile wait up to a second. Throws TransportError
 * BAD_OPTION; a port that cannot be taken fails the start of the server with LISTEN_FAILED.
 */
export function serveHttp(options: HttpServeOptions = {}): ServerTransport {
  const settings = readHttpOptions(options, readListenerAuth)
  return Object.freeze({
    name: 'http',
    bind: (scope: LinkScope, previous?: Binding) =>
      bindLazily({ ...settings, port: previous?.port ?? settings.port }, scope),
    sharing: shareListener({
      options,
      settings,
      name: 'http',
      scheme: 'http',
      limits: connectionLimits(settings),
      bind: bindLazily,
    }),
  })
}

/** Imported when a server starts: a program without an HTTP listener never loads node:http. */
async function bindLazily(
  settings: HttpSettings,
  scope: LinkScope,
  source?: SharedConnections,
): Promise<Binding> {
  const { bindHttpSocket } = await loadBind()
  return bindHttpSocket(settings, scope, source)
}
