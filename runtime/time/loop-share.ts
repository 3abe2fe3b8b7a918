/** Turns of the event loop in a row that work leaves to connections that come. */
const most = 64

/** Connections that have come to this thread, which has one event loop for all its trees. */
const seen = { connections: 0 }

/** A connection has come to a port of this thread. */
export function noteConnection(): void {
  seen.connections += 1
}

/**
 * What work leaves of the event loop. Since libuv 1.45 a port takes one connection in a turn: if each turn were
 * full of work, many who come at once would wait for as many turns, and those beyond the queue of the system
 * would not get in at all. So work waits while they come, for a few turns that take no time.
 */
export class LoopShare {
  #seen = seen.connections
  #left = most

  /** Whether work may go on in this turn of the event loop; else it asks again in the next. */
  mayWork(): boolean {
    const isQuiet = this.#seen === seen.connections
    this.#seen = seen.connections
    if (!isQuiet && this.#left > 0) {
      this.#left -= 1
      return false
    }
    this.#left = most
    return true
  }
}
