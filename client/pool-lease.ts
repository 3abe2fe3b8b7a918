import type { Client } from './client.js'
import type { PoolDesk } from './pool-desk.js'
import type { PoolMember } from './pool-member.js'

/** What a lease is made of. */
export interface LeaseParts {
  readonly desk: PoolDesk
  readonly member: PoolMember
  readonly client: Client
  readonly exclusive: boolean
}

/** A member that was checked out; `using lease = await pool.checkout()` gives it back at the end of the block. */
export class Lease implements Disposable {
  readonly #desk: PoolDesk
  readonly #member: PoolMember
  readonly #client: Client
  /** Whether nobody else uses the member. */
  readonly exclusive: boolean
  #released = false

  constructor({ desk, member, client, exclusive }: LeaseParts) {
    this.#desk = desk
    this.#member = member
    this.#client = client
    this.exclusive = exclusive
  }

  /** The client; it stays usable after the release, so do not keep it. A member that is started again meanwhile is another client. */
  get client(): Client {
    return this.#client
  }

  /** The name of the member. */
  get member(): string {
    return this.#member.name
  }

  /** Gives the member back; does nothing when called again. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#desk.giveBack(this.#member, this.exclusive)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
