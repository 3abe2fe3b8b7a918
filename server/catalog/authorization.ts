import type { Peer } from '../../transports/contract/contract.js'
import { type Catalog, componentIn, type Hearers } from './catalog.js'
import { isAllowed } from '../context/scopes.js'
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

/**
 * Who may be told that a resource has changed; undefined: whoever has subscribed. What is at an address may be
 * another one's by now, or have come after the subscription.
 */
export function hearersOf(uri: string, catalog: Catalog): Hearers {
  return catalog.guardsResources ? catalog.remembered(uri, hearersIn) : undefined
}

function hearersIn(uri: string, catalog: Catalog): Hearers {
  const found = catalog.find(uri)
  // of what no server behind this one offers nobody hears, whoever tells of it
  if (found === undefined) return catalog.isExtended ? () => false : undefined
  const { scopes = [], permits } = componentIn(found)
  return scopes.length === 0 && permits === undefined
    ? undefined
    : (peer) => isAllowed(peer, { scopes, permits })
}

/**
 * Has a peer hear of changes of a resource, until `undo` is called; it may hear of one that there is not, too.
 * Undefined for one that it may not see. `undo` is undefined where no server behind this one has to know.
 */
export function hearingOf(
  uri: string,
  peer: Peer,
  catalog: Catalog,
  asker: string,
): { readonly undo: (() => void) | undefined } | undefined {
  const found = catalog.guardsResources ? catalog.find(uri) : undefined
  if (found !== undefined && !isAllowed(peer, componentIn(found))) return undefined
  return { undo: found && catalog.wantFound(found, peer, asker) }
}
