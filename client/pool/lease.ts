import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import type { Client } from '../handle/client.js'
import { callError } from '../base/errors.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

interface LeaseTerms {
  readonly exclusive: boolean
  /** Ms until the member is taken back. */
  readonly maxLease: number
}

/** A checked-out member; `using lease = await pool.checkout()` gives it back at the end of the block. */
export class Lease implements Disposable {
  readonly #desk: PoolDesk
  readonly #member: PoolMember
  readonly #client: Client
  /** Whether no other caller uses the member. */
  readonly exclusive: boolean
  #stopClock = (): void => {}
  #released = false

  constructor(desk: PoolDesk, member: PoolMember, client: Client, { exclusive, maxLease }: LeaseTerms) {
    bindMethods(this, methods)
    this.#desk = desk
    this.#member = member
    this.exclusive = exclusive
    if (maxLease === Number.POSITIVE_INFINITY) {
      this.#client = client
      return
    }
    const gate = new AbortController()
    this.#client = client.lend(gate.signal)
    const timer = desk.world.setTimeout(() => this.#expire(gate, maxLease), maxLease)
    const unwatch = desk.watch(() => {
      if (desk.over !== undefined) this.#stopClock() // no member is given to anybody any more
    })
    this.#stopClock = () => {
      desk.world.clearTimeout(timer)
      unwatch()
    }
    if (desk.over !== undefined) this.#stopClock()
  }

  /** Without `maxLease` it works after the release: do not keep it. A restarted member has another. */
  get client(): Client {
    return this.#client
  }

  /** The name of the member. */
  get member(): string {
    return this.#member.name
  }

  /** Gives the member back; does nothing when called again, or when it was taken back. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#stopClock()
    this.#desk.giveBack(this.#member, this.exclusive)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #expire(gate: AbortController, maxLease: number): void {
    if (this.#released) return
    const message = `the lease of ${this.member} has ended: it was not released within ${maxLease} ms`
    const reason = callError('LEASE_EXPIRED', message, { sent: false, retryable: false })
    // before the member is given away: the server is told that the holder's calls in flight are cancelled
    gate.abort(reason)
    this.#desk.tell('expired', this.#member, reason)
    this.release()
  }
}

const methods = methodNames(Lease)
