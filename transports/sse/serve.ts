import { refuseOwnServer } from '../auth/authenticate.js'
import { lazy } from '../../runtime/faults/load.js'
import { readListenerAuth } from '../auth/listener-auth.js'
import { badOption, orElse, readFlag, readGroup, readMs } from '../base/read-option.js'
import type { Binding, LinkScope, ServerTransport } from '../contract/contract.js'
import {
  type ConnectionListenOptions,
  connectionTimeouts,
  type ListenSettingsWith,
  readListenOptions,
  readPath,
} from '../http/listen/options.js'

const loadRoutes = /* @__PURE__ */ lazy('../../transports/sse/routes.js', () => import('./routes.js'))

/** How a listener of the transport of 2024-11-05 is set up. */
export interface SseServeOptions extends ConnectionListenOptions {
  /** Where clients open their event stream. Default `/sse`. */
  readonly path?: string
  /** Where clients post their messages; the event stream tells them. Default `/messages`. */
  readonly messagesPath?: string
  /** Whether pages of the allowed origins are told that they may call (CORS). Default false. */
  readonly cors?: boolean
  /** Milliseconds between comments that keep event streams open. Default 15,000. */
  readonly commentInterval?: number
}

const readers = {
  timeouts: readGroup(connectionTimeouts),
  path: orElse(readPath, '/sse'),
  messagesPath: orElse(readPath, '/messages'),
  cors: orElse(readFlag, false),
  commentInterval: orElse(readMs, 15_000),
}

export type SseServeSettings = ListenSettingsWith<typeof readers>

/**
 * Serves over HTTP+SSE, the transport of 2024-11-05 that Streamable HTTP replaced, for clients that know no
 * other. One event stream is one session, which ends with it. Streams stay open while the server's group is
 * restarted. Throws TransportError BAD_OPTION; a port that cannot be taken fails the start of the server with
 * LISTEN_FAILED.
 */
export function serveSse(options: SseServeOptions = {}): ServerTransport {
  const settings = readListenOptions(options, readers, { name: 'serveSse', readAuth: readListenerAuth })
  refuseOwnServer(settings, 'serveSse')
  if (settings.path === settings.messagesPath)
    throw badOption('messagesPath', 'another path than that of the stream', settings.messagesPath)
  return Object.freeze({
    name: 'sse',
    bind: (scope: LinkScope, previous?: Binding) => bindLazily(settings, scope, previous),
  })
}

/** Imported when a server starts: a program without such a listener never loads node:http. */
async function bindLazily(
  settings: SseServeSettings,
  scope: LinkScope,
  previous?: Binding,
): Promise<Binding> {
  const { bindSse } = await loadRoutes()
  return bindSse({ ...settings, port: previous?.port ?? settings.port }, scope)
}
