import { guard, outside, type OwnerToken } from '../../../runtime/faults/containment.js'
import { Rota } from '../../../runtime/tasks/rota.js'
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

interface Written {
  readonly token: OwnerToken
  readonly write: () => void
}

/**
 * The answers of a listener: they are made as they come, but behind a long one in a later turn of the event loop;
 * those of one turn are written together.
 */
export class AnswerQueue {
  #writes: Written[] = []
  readonly #rota: Rota
  readonly #world: Pick<World, 'setImmediate'>

  constructor(world: Pick<World, 'setImmediate' | 'now'>) {
    this.#world = world
    this.#rota = new Rota(world)
  }

  /** Makes an answer, at once or when it is the turn of its caller. */
  make(exchange: DueAnswer, outcome: Outcome): void {
    if (this.#rota.isFree) return this.#rota.run(() => exchange.settle(outcome))
    const caller = callerOf(exchange.peer, exchange.sessionId)
    this.#rota.wait(caller, () => void guard(exchange.token, () => exchange.settle(outcome)))
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
    this.#rota.flush()
    this.#writeAll()
  }

  #writeAll(): void {
    const all = this.#writes
    this.#writes = []
    for (const { token, write } of all) guard(token, write)
  }
}
