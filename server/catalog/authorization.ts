import { McpError } from '../../protocol/wire/errors.js'
import type { SubscriptionFilter } from '../../protocol/messages/types/subscriptions.js'
import { insufficientScope } from '../../transports/auth/scopes.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog, Found } from './catalog.js'
import type { ServerDefinition } from '../definitions/define-server.js'

/** A component that takes scopes: all of them, or none where there is nothing. */
export interface Guarded {
  readonly scopes?: readonly string[] | undefined
}

/** Beyond that a filter is refused as a whole. */
const maxUris = 1_000
const maxUriLength = 8_192

/**
 * Whether a peer may know of a component, and use it. Nobody in particular has no scopes; who started this
 * program is not asked for any.
 */
export function isAllowed({ principal, trusted }: Peer, { scopes }: Guarded): boolean {
  if (scopes === undefined || scopes.length === 0) return true
  if (principal === undefined) return trusted === true
  return scopes.every((scope) => principal.scopes?.includes(scope) === true)
}

/**
 * Throws McpError 403, from which a listener makes a challenge: the scopes that it takes are in
 * `data.scopes`.
 */
export function checkAllowed(peer: Peer, component: Guarded): void {
  if (isAllowed(peer, component)) return
  const data = { scopes: component.scopes }
  throw new McpError(insufficientScope, 'Insufficient scope', { data })
}

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

/** What is in a resource or family, for the checks above. */
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
