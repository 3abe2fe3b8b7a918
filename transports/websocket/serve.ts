import { refuseOwnServer } from '../auth/authenticate.js'
import { lazy } from '../../runtime/faults/load.js'
import { readListenerAuth } from '../auth/listener-auth.js'
import { orElse, readGroup, readMs } from '../base/read-option.js'
import type { Binding, LinkScope, ServerTransport } from '../contract/contract.js'
import type { SharedConnections } from '../contract/sharing.js'
import {
  type ConnectionListenOptions,
  connectionTimeouts,
  type ListenSettingsWith,
  readListenOptions,
  readPath,
} from '../http/listen/options.js'
import { sessionConnectionLimits, shareListener } from '../http/listen/sharing.js'

const loadUpgrade = /* @__PURE__ */ lazy(
  '../../transports/websocket/upgrade.js',
  () => import('./upgrade.js'),
)

/** How a WebSocket listener is set up. */
export interface WebSocketServeOptions extends ConnectionListenOptions {
  /** The one path that is served. Default `/mcp`. */
  readonly path?: string
  /** Milliseconds between pings; no answer by the next means a dead client. Default 30,000. */
  readonly pingInterval?: number
}

const readers = {
  timeouts: readGroup(connectionTimeouts),
  path: orElse(readPath, '/mcp'),
  pingInterval: orElse(readMs, 30_000),
}

export type WebSocketServeSettings = ListenSettingsWith<typeof readers>

/**
 * Serves over WebSockets, which no revision of MCP specifies: subprotocol `mcp`, one message a text frame,
 * one socket a session, which ends with its socket. Sockets stay open while the server's group is restarted.
 * Throws TransportError BAD_OPTION; a port that cannot be taken fails the start with LISTEN_FAILED.
 *
 * Close codes: 1001 the server ends, 1002 a frame that breaks RFC 6455, 1003 a binary frame, 1007 a text that
 * is not UTF-8, 1008 too many fragments, 1009 a message beyond the limit, 1013 a reader that is too slow.
 */
export function serveWebSocket(options: WebSocketServeOptions = {}): ServerTransport {
  const settings = readListenOptions(options, readers, { name: 'serveWebSocket', readAuth: readListenerAuth })
  refuseOwnServer(settings, 'serveWebSocket')
  return Object.freeze({
    name: 'websocket',
    bind: (scope: LinkScope, previous?: Binding) =>
      bindLazily({ ...settings, port: previous?.port ?? settings.port }, scope),
    sharing: shareListener({
      options,
      settings,
      name: 'websocket',
      scheme: 'ws',
      limits: sessionConnectionLimits(settings),
      bind: bindLazily,
    }),
  })
}

/** Imported when a server starts: a program without such a listener never loads node:http and ws. */
async function bindLazily(
  settings: WebSocketServeSettings,
  scope: LinkScope,
  source?: SharedConnections,
): Promise<Binding> {
  const { bindWebSockets } = await loadUpgrade()
  return bindWebSockets(settings, scope, source)
}
