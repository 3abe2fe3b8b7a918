import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog, Found } from './catalog.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { ServerDefinition } from '../definitions/define-server.js'

/** Beyond that a filter is refused as a whole. */
const maxUris = 1_000
const maxUriLength = 8_192

/** Warns of components that take scopes, on a transport where nobody has any and everybody gets them. */
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

/** What is in a resource or family, for the checks of scopes. */
export function guardedIn(found: Found): Guarded {
  return 'resource' in found ? found.resource : found.template
}

/** A filter without the resources that a peer may not know of: it hears of no change of theirs. */
export function allowedOf(filter: SubscriptionFilter, peer: Peer, catalog: Catalog): SubscriptionFilter {
  const { resourceSubscriptions: uris } = filter
  if (uris === undefined || uris.length > maxUris || !catalog.guardsResources) return filter
  const allowed = uris.filter((uri) => {
    const found = uri.length > maxUriLength ? undefined : catalog.find(uri)
    return found === undefined || isAllowed(peer, guardedIn(found))
  })
  return { ...filter, resourceSubscriptions: allowed }
}
