import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isThisMachine, networkOf } from '../base/network.js'
import type { Peer } from '../contract/contract.js'
import { keyOfPrincipal } from '../contract/principal.js'

/** What one client may have at once, unless an option says otherwise. */
export const usualPerClient = 1_000

/** How much each client has at the moment, and how much it may have. */
export class ClientCounts<Holder> {
  readonly max: number
  /** Addresses of this machine count only where an option sets the limit. */
  readonly #countsLoopback: boolean
  readonly #counts = new TurnoverMap<string, number>()
  readonly #keys = new TurnoverMap<Holder, string[]>()

  /** `max` is what an option says; undefined for `usual`. */
  constructor(max: number | undefined, usual = usualPerClient) {
    this.max = max ?? usual
    this.#countsLoopback = max !== undefined
  }

  /** Counts what comes from an address until `leave`; false: one too many. No address, no limit. */
  enterFrom(address: string | undefined, holder: Holder): boolean {
    if (address === undefined || (!this.#countsLoopback && isThisMachine(address))) return true
    return this.enter(networkOf(address), holder)
  }

  /** Counts by principal, or else by address, like `enterFrom`. */
  enterAs({ principal, remoteAddress }: Peer, holder: Holder): boolean {
    if (principal === undefined) return this.enterFrom(remoteAddress, holder)
    return this.enter(keyOfPrincipal(principal), holder)
  }

  enter(key: string, holder: Holder): boolean {
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    const keys = this.#keys.get(holder)
    if (keys === undefined) this.#keys.set(holder, [key])
    else keys.push(key)
    return count <= this.max
  }

  /** Counts it no more; calling it again does nothing. */
  leave(holder: Holder): void {
    const keys = this.#keys.get(holder)
    if (keys === undefined) return
    this.#keys.delete(holder)
    for (const key of keys) {
      const left = (this.#counts.get(key) ?? 1) - 1
      if (left === 0) this.#counts.delete(key)
      else this.#counts.set(key, left)
    }
  }
}
