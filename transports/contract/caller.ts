import { isThisMachine, networkOf } from '../base/network.js'
import type { Peer } from './contract.js'
import { keyOfPrincipal } from './principal.js'

/** Whether a peer counts for itself: all anonymous ones of this machine may be one proxy. */
export function isFarOrKnown({ principal, remoteAddress }: Peer): boolean {
  return principal !== undefined || (remoteAddress !== undefined && !isThisMachine(remoteAddress))
}

/** Who a limit of an option is for: a principal, else a network, also of this machine; undefined: nobody. */
export function clientOf(peer: Peer): string | undefined {
  const { principal, remoteAddress } = peer
  if (principal === undefined && remoteAddress === undefined) return undefined
  return isFarOrKnown(peer) ? callerOf(peer, undefined) : `from ${networkOf(String(remoteAddress))}`
}

/** Who has a share, or takes turns: a principal, else a network, else (on this machine) a session. */
export function callerOf({ principal, remoteAddress }: Peer, session: string | undefined): string {
  if (principal !== undefined) return `principal ${keyOfPrincipal(principal)}`
  const isNear = remoteAddress === undefined || isThisMachine(remoteAddress)
  return isNear ? `session ${session ?? ''}` : `from ${networkOf(remoteAddress)}`
}
