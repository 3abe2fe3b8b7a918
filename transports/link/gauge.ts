/** What went over the connections of one client, and what waits, as a snapshot. */
export interface LinkStats {
  /** Messages handed to the transport. */
  readonly sent: number
  /** Their length in characters. */
  readonly sentCharacters: number
  /** Messages of the server, readable or not. */
  readonly received: number
  /** Their length in characters. */
  readonly receivedCharacters: number
  /** Problems that ended nothing, such as a line that is no UTF-8. */
  readonly troubles: number
  /** Bytes that wait to be taken by the other side, where the transport knows. */
  readonly queuedBytes: number
}

/** Counts what goes over the connections of one client; written by its transport, read by `inspect`. */
export class LinkGauge {
  sent = 0
  sentCharacters = 0
  received = 0
  receivedCharacters = 0
  troubles = 0
  #queuedBytes = nothing

  /** A connection begins, which knows how much waits. */
  attach(queuedBytes: () => number): void {
    this.#queuedBytes = queuedBytes
  }

  /** Forgets a connection that has ended, so that it does not stay in memory. */
  detach(queuedBytes: () => number): void {
    if (this.#queuedBytes === queuedBytes) this.#queuedBytes = nothing
  }

  /** The counts now. */
  read(): LinkStats {
    const { sent, sentCharacters, received, receivedCharacters, troubles } = this
    return { sent, sentCharacters, received, receivedCharacters, troubles, queuedBytes: this.#queuedBytes() }
  }
}

function nothing(): number {
  return 0
}
