import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog, ResourceMatch } from './catalog.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { ServerDefinition } from '../definitions/define-server.js'

/** Uris in a filter, and characters of a uri. A filter beyond that is refused as a whole. */
const maxUris = 1_000
const maxUriLength = 8_192

/** Warns of components with scopes on standard input, where the caller is trusted without any. */
export function warnOfScopes(definition: ServerDefinition): void {
  const { info, tools, resources, resourceTemplates, prompts } = definition
  const all = [...tools, ...resources, ...resourceTemplates, ...prompts]
  const guarded = all.filter(({ scopes = [] }) => scopes.length > 0).map(({ name }) => name)
  if (guarded.length === 0) return
  const names = `${guarded.slice(0, 5).join(', ')}${guarded.length > 5 ? ' and more' : ''}`
  process.emitWarning(
    `server ${info.name}: scopes are not asked for on standard input, so these are for whoever started the program: ${names}`,
    { code: 'CADUCEUS_SCOPES' },
  )
}

/** The component behind a uri, for checks of scopes. */
export function guardedIn(found: ResourceMatch): Guarded {
  return 'resource' in found ? found.resource : found.template
}

/** A filter without the resources that the peer may not see: it hears of none of their changes. */
export function allowedOf(filter: SubscriptionFilter, peer: Peer, catalog: Catalog): SubscriptionFilter {
  const { resourceSubscriptions: uris } = filter
  if (uris === undefined || uris.length > maxUris || !catalog.guardsResources) return filter
  const allowed = uris.filter((uri) => {
    const found = uri.length > maxUriLength ? undefined : catalog.find(uri)
    return found === undefined || isAllowed(peer, guardedIn(found))
  })
  return { ...filter, resourceSubscriptions: allowed }
}
