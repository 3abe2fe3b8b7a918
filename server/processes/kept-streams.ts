import type { SharedStreams, StreamNews, StreamReport } from '../../transports/contract/shared-streams.js'

/** The way to the keeper of event streams, and back. */
export class KeptStreams implements SharedStreams {
  readonly #report: (told: StreamReport) => boolean
  readonly #listeners = new Set<(news: StreamNews) => void>()

  /** `report` reaches the keeper; false when there is no room for it. */
  constructor(report: (told: StreamReport) => boolean) {
    this.#report = report
  }

  /** Nobody waits for an answer to what did not leave. */
  send(told: StreamReport): void {
    if (this.#report(told) || told.type !== 'follow') return
    this.hear({ type: 'unreachable', follow: told.follow })
  }

  receive(fn: (news: StreamNews) => void): () => void {
    this.#listeners.add(fn)
    return () => void this.#listeners.delete(fn)
  }

  hear(news: StreamNews): void {
    for (const listener of this.#listeners) listener(news)
  }
}
