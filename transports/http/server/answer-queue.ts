import { guard, outside, type OwnerToken } from '../../../runtime/faults/containment.js'
import type { World } from '../../../runtime/time/world.js'
import { callerOf } from '../../contract/caller.js'
import type { Outcome, Peer } from '../../contract/contract.js'

/** A request whose outcome is to become an answer. */
export interface DueAnswer {
  readonly token: OwnerToken
  readonly peer: Peer
  readonly sessionId: string | undefined
  settle(outcome: Outcome): void
}

interface Waiting {
  readonly exchange: DueAnswer
  readonly outcome: Outcome
}

interface Written {
  readonly token: OwnerToken
  readonly write: () => void
}

/** Milliseconds after which an answer counts as long: it is the last one of its turn. */
const long = 5

/** The answers of a listener: short ones are made as they come, and those of one turn written together. */
export class AnswerQueue {
  #writes: Written[] = []
  /** What waits behind a long answer, by caller: the next one is first. */
  readonly #waiting = new Map<string, Waiting[]>()
  #isSpent = false
  readonly #world: Pick<World, 'setImmediate' | 'now'>

  constructor(world: Pick<World, 'setImmediate' | 'now'>) {
    this.#world = world
  }

  /** Makes an answer: at once, or where one took long in this turn, in a later one; callers take turns. */
  make(exchange: DueAnswer, outcome: Outcome): void {
    if (!this.#isSpent) return this.#make(exchange, outcome)
    const caller = callerOf(exchange.peer, exchange.sessionId)
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, [{ exchange, outcome }])
    else own.push({ exchange, outcome })
  }

  /**
   * Runs `write` at the end of this turn, in order; the owner of `token` answers for its errors. Waking a client
   * for each costs the server more than its work.
   */
  add(token: OwnerToken, write: () => void): void {
    if (this.#writes.push({ token, write }) === 1)
      outside(() => this.#world.setImmediate(() => this.#writeAll()))
  }

  /** Makes and writes all that waits. */
  flush(): void {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    for (const { exchange, outcome } of all) guard(exchange.token, () => exchange.settle(outcome))
    this.#writeAll()
  }

  #make(exchange: DueAnswer, outcome: Outcome): void {
    const began = this.#world.now()
    try {
      exchange.settle(outcome)
    } finally {
      if (this.#world.now() - began > long) this.#endTurn()
    }
  }

  #endTurn(): void {
    this.#isSpent = true
    outside(() => this.#world.setImmediate(() => this.#nextTurn()))
  }

  #nextTurn(): void {
    this.#isSpent = false
    const began = this.#world.now()
    for (const [caller, own] of this.#waiting) {
      this.#waiting.delete(caller)
      const next = own.shift()
      // behind the others
      if (own.length > 0) this.#waiting.set(caller, own)
      if (next !== undefined) guard(next.exchange.token, () => this.#make(next.exchange, next.outcome))
      if (!this.#isSpent && this.#world.now() - began > long) this.#endTurn()
      if (this.#isSpent) return
    }
  }

  #writeAll(): void {
    const all = this.#writes
    this.#writes = []
    for (const { token, write } of all) guard(token, write)
  }
}
