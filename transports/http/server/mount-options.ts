import { readFields } from '../../base/read-option.js'
import type { ListenerKind } from '../listen/options.js'
import {
  httpFields,
  type HttpLimitOptions,
  httpLimits,
  type HttpServeOptions,
  type HttpSettings,
  type HttpTimeoutOptions,
  httpTimeouts,
  readHttpOptions,
} from './options.js'

/** Options of a port and of its connections, which belong to the web server around. */
const foreign = ['port', 'host', 'path', 'tls', 'server', 'health', 'metrics'] as const
const foreignLimits = ['connections', 'connectionsPerClient'] as const
const foreignTimeouts = ['headers', 'keepAlive', 'body'] as const

/** How a mounted server is set up: as a Streamable HTTP listener without a port of its own. */
export interface MountOptions
  extends Omit<HttpServeOptions, (typeof foreign)[number] | 'limits' | 'timeouts'> {
  readonly limits?: Omit<HttpLimitOptions, (typeof foreignLimits)[number]>
  readonly timeouts?: Omit<HttpTimeoutOptions, (typeof foreignTimeouts)[number]>
}

const fields = without(httpFields, foreign)
const limitFields = without(Object.keys(httpLimits), foreignLimits)
const timeoutFields = without(Object.keys(httpTimeouts), foreignTimeouts)

function without(names: readonly string[], others: readonly string[]): readonly string[] {
  return names.filter((name) => !others.includes(name))
}

/** Reads the options of a listener without a port of its own; `path` where it has one. Throws BAD_OPTION. */
export function readMountOptions(
  options: MountOptions,
  readAuth: ListenerKind['readAuth'],
  path?: string,
): HttpSettings {
  const { limits = {}, timeouts = {} } = readFields(options, 'options', fields)
  readFields(limits, 'limits', limitFields, 'limits.')
  readFields(timeouts, 'timeouts', timeoutFields, 'timeouts.')
  return readHttpOptions(path === undefined ? options : { ...options, path }, readAuth)
}
