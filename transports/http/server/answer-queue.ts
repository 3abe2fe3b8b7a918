import { guard, outside, type OwnerToken } from '../../../runtime/faults/containment.js'
import { handlersSlice, Rota, type RotaWorld } from '../../../runtime/tasks/rota.js'
import type { World } from '../../../runtime/time/world.js'
import { anybody } from '../../base/network.js'
import { callerOf } from '../../contract/caller.js'
import type { Peer } from '../../contract/contract.js'

/** Who sent a request. */
interface Asking {
  readonly peer: Peer
  readonly sessionId: string | undefined
}

/** A request that is to be answered. */
export interface DueAnswer extends Asking {
  readonly token: OwnerToken
}

/** A message of so many characters takes no time to read. */
const short = 4_096
/** One of so many takes long: what is done with it does not share a turn with its coming. */
const long = 256 * 1024

interface Written {
  readonly token: OwnerToken
  readonly write: () => void
}

/**
 * The messages and answers of a listener: they are read and made as they come, but behind a long one in a later
 * turn of the event loop; the answers of one turn are written together.
 */
export class AnswerQueue {
  #writes: Written[] = []
  readonly #reads: Rota
  /** Of their own: an answer that is short does not wait behind work. */
  readonly #answers: Rota
  readonly #world: Pick<World, 'setImmediate'>

  constructor(world: RotaWorld) {
    this.#world = world
    this.#reads = new Rota(world, anybody, handlersSlice)
    this.#answers = new Rota(world, anybody)
  }

  /**
   * Reads a message of so many characters, at once or when it is the turn of its caller; rejects with what `read`
   * throws. A short one is read at once: it may say that another is not waited for, and handlers have turns of
   * their own.
   */
  async read(asking: Asking, characters: number, read: () => void): Promise<void> {
    if (characters <= short || (characters <= long && this.#reads.isFree))
      return this.#reads.run(() => callerOfAsking(asking), read)
    await this.#reads.next(callerOfAsking(asking))
    read()
  }

  /** Makes an answer, or a part of one, at once or when it is the turn of its caller. */
  make(exchange: DueAnswer, make: () => void): void {
    if (this.#answers.isFree) return this.#answers.run(() => callerOfAsking(exchange), make)
    this.#answers.wait(callerOfAsking(exchange), () => void guard(exchange.token, make))
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
    this.#reads.flush()
    this.#answers.flush()
    this.#writeAll()
  }

  #writeAll(): void {
    const all = this.#writes
    this.#writes = []
    for (const { token, write } of all) guard(token, write)
  }
}

function callerOfAsking({ peer, sessionId }: Asking): string {
  return callerOf(peer, sessionId)
}
