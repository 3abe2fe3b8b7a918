import { lazy } from '../../runtime/faults/load.js'
import { badOption, orElse, readFields, readFlag, readMs } from '../base/read-option.js'
import type { Binding, LinkScope, ServerTransport } from '../contract/contract.js'
import {
  listenFields,
  type ListenOptions,
  type ListenSettings,
  readListenOptions,
} from '../http/listen/options.js'
import { readPath } from '../http/listen/readers.js'

const loadRoutes = lazy('../../transports/sse/routes.js', () => import('./routes.js'))

/** How a listener of the transport of 2024-11-05 is set up. */
export interface SseServeOptions extends ListenOptions {
  /** Where clients open their event stream. Default `/sse`. */
  readonly path?: string
  /** Where clients post their messages; the event stream tells them. Default `/messages`. */
  readonly messagesPath?: string
  /**
   * Whether pages of the allowed origins are told that they may call (CORS), with preflight. Default false.
   */
  readonly cors?: boolean
  /** Milliseconds between comments that keep event streams open. Default 15,000. */
  readonly commentInterval?: number
}

/** Checked options with every default filled in. */
export type SseServeSettings = ListenSettings & Readonly<Required<Omit<SseServeOptions, keyof ListenOptions>>>

/**
 * Serves over HTTP+SSE, the transport of 2024-11-05 that Streamable HTTP replaced, for clients that know no
 * other. One event stream is one session, which ends with it. Streams stay open while the server's group is
 * restarted. Throws TransportError BAD_OPTION; a port that cannot be taken fails the start of the server with
 * LISTEN_FAILED.
 */
export function serveSse(options: SseServeOptions = {}): ServerTransport {
  const given = readFields(options, 'options', [
    ...listenFields,
    'path',
    'messagesPath',
    'cors',
    'commentInterval',
  ])
  const settings: SseServeSettings = Object.freeze({
    ...readListenOptions(given),
    path: orElse(readPath, '/sse')(given.path, 'path'),
    messagesPath: orElse(readPath, '/messages')(given.messagesPath, 'messagesPath'),
    cors: orElse(readFlag, false)(given.cors, 'cors'),
    commentInterval: orElse(readMs, 15_000)(given.commentInterval, 'commentInterval'),
  })
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
