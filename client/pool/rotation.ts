import type { PoolMember } from './member.js'
import type { PoolStrategy } from './options.js'

/** Members that may be given calls, in turn. */
export class Rotation {
  readonly #choose: () => PoolMember | undefined
  readonly #random: () => number
  readonly #members: PoolMember[] = []
  #next = 0

  constructor(strategy: PoolStrategy, random: () => number) {
    const choices = {
      round_robin: () => this.#members[this.#next],
      least_busy: () => this.leastBusy(),
      random: () => this.#members[Math.min(this.size - 1, Math.floor(this.#random() * this.size))],
    } as const satisfies Record<PoolStrategy, () => PoolMember | undefined>
    this.#choose = choices[strategy]
    this.#random = random
  }

  get size(): number {
    return this.#members.length
  }

  /** A new one gets its turn last. */
  update(member: PoolMember): void {
    const index = this.#members.indexOf(member)
    if (member.free && index < 0) {
      this.#members.splice(this.#next, 0, member)
      this.#next = (this.#next + 1) % this.#members.length
    }
    if (!member.free && index >= 0) this.#remove(index)
  }

  /** Picks one of `avoid` only if no other is free. */
  pick(avoid?: ReadonlySet<PoolMember>): PoolMember | undefined {
    const chosen = this.#freshest(this.#choose)
    if (chosen === undefined || avoid?.has(chosen) !== true) return chosen
    return this.#freshest(() => this.#firstBut(avoid)) ?? chosen
  }

  /** Among equals, the one whose turn it is. */
  pickLeastBusy(): PoolMember | undefined {
    return this.#freshest(() => this.leastBusy())
  }

  leastBusy(): PoolMember | undefined {
    const members = this.#members
    let best = members[this.#next]
    for (let i = 1; i < members.length; i++) {
      const other = members[(this.#next + i) % members.length]
      if (best === undefined || (other !== undefined && other.pending < best.pending)) best = other
    }
    return best
  }

  #firstBut(avoid: ReadonlySet<PoolMember>): PoolMember | undefined {
    const inTurn = [...this.#members.slice(this.#next), ...this.#members.slice(0, this.#next)]
    return inTurn.find((member) => !avoid.has(member))
  }

  /** News of a lost connection may still be on its way: the chosen member is looked at again. */
  #freshest(choose: () => PoolMember | undefined): PoolMember | undefined {
    for (let member = choose(); member !== undefined; member = choose()) {
      this.update(member)
      if (!member.free) continue
      this.#next = (this.#members.indexOf(member) + 1) % this.#members.length
      return member
    }
    return undefined
  }

  #remove(index: number): void {
    this.#members.splice(index, 1)
    if (index < this.#next) this.#next -= 1
    if (this.#next >= this.#members.length) this.#next = 0
  }
}
