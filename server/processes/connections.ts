import type { Address, Connection, ConnectionSource } from '../../transports/contract/sharing.js'
import type { SharedStreams, StreamNews, StreamReport } from '../../transports/contract/shared-streams.js'

/** The connections that a node is given: the listener takes them, those first that came without one. */
export class Connections implements ConnectionSource {
  readonly address: Address
  readonly #waiting = new Set<Connection>()
  #take: ((socket: Connection) => void) | undefined
  readonly streams?: NodeStreams

  /** `report` reaches the keeper of event streams, if there is one; false when there is no room for it. */
  constructor(address: Address, report: ((told: StreamReport) => boolean) | undefined) {
    this.address = address
    if (report !== undefined) this.streams = new NodeStreams(report)
  }

  /** The door gives no more than a few that are not taken. */
  give(socket: Connection): void {
    if (this.#take !== undefined) return this.#take(socket)
    this.#waiting.add(socket)
    socket.once('close', () => this.#waiting.delete(socket))
  }

  take(fn: (socket: Connection) => void): () => void {
    this.#take = fn
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const socket of waiting) fn(socket)
    return () => {
      if (this.#take === fn) this.#take = undefined
    }
  }
}

/** The way to the keeper of event streams, and back. */
class NodeStreams implements SharedStreams {
  readonly #report: (told: StreamReport) => boolean
  readonly #listeners = new Set<(news: StreamNews) => void>()

  constructor(report: (told: StreamReport) => boolean) {
    this.#report = report
  }

  /** Nobody waits for an answer to what did not leave. */
  send(told: StreamReport): void {
    if (this.#report(told) || told.type !== 'follow') return
    this.hear({ type: 'unfollowed', follow: told.follow, why: 'the streams cannot be reached now' })
  }

  receive(fn: (news: StreamNews) => void): () => void {
    this.#listeners.add(fn)
    return () => void this.#listeners.delete(fn)
  }

  hear(news: StreamNews): void {
    for (const listener of this.#listeners) listener(news)
  }
}
