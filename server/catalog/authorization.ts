import type { Peer } from '../../transports/contract/contract.js'
import type { Catalog, ResourceMatch } from './catalog.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { ServerDefinition } from '../definitions/define-server.js'

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

/** Whether a peer may hear of changes of a resource: of one that there is not, too. */
export function mayHearOf(uri: string, peer: Peer, catalog: Catalog): boolean {
  if (!catalog.guardsResources) return true
  const found = catalog.find(uri)
  return found === undefined || isAllowed(peer, guardedIn(found))
}
