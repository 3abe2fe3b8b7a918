import type { Address, AcceptedSocket, SharedConnections } from '../../transports/contract/sharing.js'

/** The connections that a node is given: the listener takes them, those first that came without one. */
export class Connections implements SharedConnections {
  readonly address: Address
  readonly #waiting = new Set<AcceptedSocket>()
  #take: ((socket: AcceptedSocket) => void) | undefined

  constructor(address: Address) {
    this.address = address
  }

  /** The door gives no more than a few that are not taken. */
  give(socket: AcceptedSocket): void {
    if (this.#take !== undefined) return this.#take(socket)
    this.#waiting.add(socket)
    socket.once('close', () => this.#waiting.delete(socket))
  }

  take(fn: (socket: AcceptedSocket) => void): () => void {
    this.#take = fn
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const socket of waiting) fn(socket)
    return () => {
      if (this.#take === fn) this.#take = undefined
    }
  }
}
