import { isThisMachine, networkOf } from '../../transports/base/network.js'
import type { Peer } from '../../transports/contract/contract.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'

/** Whether a peer counts for itself: all anonymous ones of this machine may be one proxy. */
export function isFarOrKnown({ principal, remoteAddress }: Peer): boolean {
  return principal !== undefined || (remoteAddress !== undefined && !isThisMachine(remoteAddress))
}

const known = 'principal '

/** Whether a caller is a principal, and not many of one address. */
export function isPrincipal(caller: string): boolean {
  return caller.startsWith(known)
}

/** Who has a share, or takes turns: a principal, else a network, else (on this machine) a session. */
export function callerOf({ principal, remoteAddress }: Peer, session: string | undefined): string {
  if (principal !== undefined) return known + keyOfPrincipal(principal)
  const isNear = remoteAddress === undefined || isThisMachine(remoteAddress)
  return isNear ? `session ${session ?? ''}` : `from ${networkOf(remoteAddress)}`
}
