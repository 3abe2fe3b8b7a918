import { TurnoverMap } from '../../runtime/base/turnover.js'
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

/** Whether both ends of a connection are on this machine. */
export function isThisMachine(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address)
}

/** The addresses that count as one client: one of IPv4, a /64 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d[\d.]*)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [start = '', end] = address.toLowerCase().split('::', 2)
  const [before, after] = [start.split(':'), end === undefined ? [] : end.split(':')]
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  const all = end === undefined ? before : [...before, ...zeros, ...after]
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '') || '0')
    .join(':')
}
