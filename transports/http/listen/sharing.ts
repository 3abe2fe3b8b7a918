import { lazy } from '../../../runtime/faults/load.js'
import { plainOptions } from '../../base/plain-options.js'
import { badOption } from '../../base/read-option.js'
import { usualPerClient } from '../../connections/client-counts.js'
import type { Binding, LinkScope } from '../../contract/contract.js'
import type { SharedConnections, Sharing } from '../../contract/sharing.js'
import type { ListenSettings } from './options.js'

const loadPort = /* @__PURE__ */ lazy(
  '../../transports/http/listen/shared-port.js',
  () => import('./shared-port.js'),
)

/** What the listeners of several processes have in common. */
interface SharingPlan<Settings> {
  /** As they were given. */
  readonly options: object
  readonly settings: Settings
  /** The name of the transport, and the scheme of its addresses. */
  readonly name: string
  readonly scheme: 'http' | 'ws'
  readonly limits: ConnectionLimits
  /** Serves what comes from `source`. */
  bind(settings: Settings, scope: LinkScope, source: SharedConnections): Promise<Binding>
}

/** How many connections there may be at once in all processes, and how many of one client. */
export interface ConnectionLimits {
  readonly all: number
  /** What an option says of one client, and what is usual; absent where all come from a proxy. */
  readonly client: readonly [max: number | undefined, usual?: number] | undefined
}

/** How several processes serve at the address of a listener of HTTP or WebSockets. */
export function shareListener<Settings extends ListenSettings & { readonly path: string }>(
  plan: SharingPlan<Settings>,
): Sharing {
  const { options, settings, name, bind } = plan
  return Object.freeze({
    port: settings.port,
    options: () => plainOptions(options),
    async listen(scope, take, previous) {
      refuseServer(settings)
      const { listenForAll } = await loadPort()
      const port = previous?.port ?? settings.port
      return listenForAll({ ...plan, settings: { ...settings, port } }, scope, take)
    },
    serve(source) {
      refuseServer(settings)
      return Object.freeze({
        name,
        bind: (scope: LinkScope) => bind(settings, scope, source),
      })
    },
  } satisfies Sharing)
}

/** Clients behind a proxy all come from one address. */
export function connectionLimits(settings: ListenSettings): ConnectionLimits {
  const { limits, trustProxy } = settings
  const client = [limits.connectionsPerClient] as const
  return { all: limits.connections, client: trustProxy === 0 ? client : undefined }
}

/** Connections beyond the limit that are accepted, to be refused with a status. */
const spareConnections = 100

/** The same, where connections are sessions: each stream may have one more, to post on. */
export function sessionConnectionLimits(settings: ListenSettings): ConnectionLimits {
  const { all, client } = connectionLimits(settings)
  const twice = (max: number): number => 2 * max + spareConnections
  return { all: twice(all), client: client && [client[0] && twice(client[0]), twice(usualPerClient)] }
}

/** Another process cannot have it. */
function refuseServer({ server }: ListenSettings): void {
  if (server !== undefined)
    throw badOption('server', 'nothing, where several processes serve at one address', server)
}
