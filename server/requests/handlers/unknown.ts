import { McpError } from '../../../protocol/wire/errors.js'
import { show } from '../../../runtime/base/errors.js'
import { didYouMean } from '../../../runtime/base/near.js'
import type { Peer } from '../../../transports/contract/contract.js'
import { type Guarded, isAllowed } from '../../context/scopes.js'

/** Names that are compared: a caller who guesses costs no more than one who knows. */
const compared = 100

/** -32602 for a name that there is not, with the one probably meant, of those that this caller may use. */
export function unknown(
  kind: 'tool' | 'prompt',
  name: string,
  known: { all(): Iterable<NamedDefinition> },
  peer: Peer,
): McpError {
  return McpError.invalidParams(`Unknown ${kind}: ${show(name)}${didYouMean(name, near(known, peer))}`)
}

type NamedDefinition = Guarded & { readonly name: string }

function* near(known: { all(): Iterable<NamedDefinition> }, peer: Peer): Generator<string> {
  let left = compared
  for (const component of known.all()) {
    if (!isAllowed(peer, component)) continue
    yield component.name
    left -= 1
    if (left === 0) return
  }
}
