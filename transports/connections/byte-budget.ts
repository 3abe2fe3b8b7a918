import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isThisMachine, networkOf } from '../base/network.js'
import type { Peer } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { keyOfPrincipal } from '../contract/principal.js'

/** How many bytes of messages a listener may hold: see `ListenLimitOptions`. */
interface PendingLimits {
  readonly messageBytes: number
  readonly pendingBytes: number
  readonly pendingBytesPerClient: number | undefined
}

/** Up to this many bytes an account counts in all, and not for its client. */
const small = 16 * 1024
const MiB = 1024 * 1024

/** Bytes of messages that a listener holds, for all clients and for each. */
export class ByteBudget {
  readonly max: number
  readonly maxPerClient: number
  readonly #countsLoopback: boolean
  readonly #clients = new TurnoverMap<string, number>()
  #used = 0

  constructor({ messageBytes, pendingBytes, pendingBytesPerClient }: PendingLimits) {
    this.max = Math.max(messageBytes, pendingBytes)
    this.maxPerClient = Math.max(messageBytes, pendingBytesPerClient ?? Math.floor(this.max / 2))
    this.#countsLoopback = pendingBytesPerClient !== undefined
  }

  get used(): number {
    return this.#used
  }

  /** What one message, or one connection, holds. */
  account(peer: Peer): ByteAccount {
    return new ByteAccount(this, peer)
  }

  describe(): string {
    return `${(this.#used / MiB).toFixed(1)} of ${(this.max / MiB).toFixed(0)} MiB pending`
  }

  /** Takes bytes for an account that holds `before`; returns why not, with nothing taken. */
  take(bytes: number, before: number, peer: Peer): TransportError | undefined {
    if (this.#used + bytes > this.max) return full('all messages together', this.max, false)
    const key = before + bytes > small ? this.#keyOf(peer) : undefined
    if (key !== undefined) {
      const count = (this.#clients.get(key) ?? 0) + (before > small ? bytes : before + bytes)
      if (count > this.maxPerClient) return full('the messages of one client', this.maxPerClient, true)
      this.#clients.set(key, count)
    }
    this.#used += bytes
    return undefined
  }

  /** Gives back all but `left` of what an account holds. */
  give(held: number, left: number, peer: Peer): void {
    this.#used -= held - left
    if (held <= small) return
    const key = this.#keyOf(peer)
    if (key === undefined) return
    const count = (this.#clients.get(key) ?? 0) - held + (left > small ? left : 0)
    if (count > 0) this.#clients.set(key, count)
    else this.#clients.delete(key)
  }

  #keyOf({ principal, remoteAddress }: Peer): string | undefined {
    if (principal !== undefined) return keyOfPrincipal(principal)
    if (remoteAddress === undefined) return undefined
    return !this.#countsLoopback && isThisMachine(remoteAddress) ? undefined : networkOf(remoteAddress)
  }
}

/** The bytes that one message, or one connection, holds of a budget. */
export class ByteAccount {
  readonly #budget: ByteBudget
  #peer: Peer
  #held = 0

  constructor(budget: ByteBudget, peer: Peer) {
    this.#budget = budget
    this.#peer = peer
  }

  /** Takes more; returns why not. */
  add(bytes: number): TransportError | undefined {
    // the principal may be found out later: bytes are given back to whom they were taken from
    if (this.#held <= small && this.#held + bytes > small) this.#peer = fixed(this.#peer)
    const refused = this.#budget.take(bytes, this.#held, this.#peer)
    if (refused === undefined) this.#held += bytes
    return refused
  }

  /** Holds this many from now on; returns why not, with nothing changed. */
  set(bytes: number): TransportError | undefined {
    if (bytes > this.#held) return this.add(bytes - this.#held)
    this.#budget.give(this.#held, bytes, this.#peer)
    this.#held = bytes
    return undefined
  }

  release(): void {
    this.set(0)
  }
}

function fixed({ transport, headers, principal, remoteAddress }: Peer): Peer {
  return { transport, headers, principal, remoteAddress }
}

function full(whose: string, max: number, client: boolean): TransportError {
  const option = client ? 'limits.pendingBytesPerClient' : 'limits.pendingBytes'
  const problem = `${whose} may have ${max} bytes at once (${option}): try again soon`
  return new TransportError('BYTES_LIMIT', problem, { retryable: true, data: { client } })
}
