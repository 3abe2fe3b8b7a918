import type { Phase } from 'caduceus'
import type { Violations } from './violations.js'

interface Standing {
  phase: Phase
  /** When it was not ready any more; undefined while it is, or when its absence was told already. */
  since: number | undefined
  /** Faults that stand in its way now. */
  blocks: number
  /** When the last of them had gone. */
  free: number
}

/** Whether every client is ready again in time once nothing stands in its way. Knows no clock: times are given. */
export class Recovery {
  /** Milliseconds to ready, from the loss or from the moment at which the server was back. */
  readonly times: number[] = []
  readonly #standings = new Map<string, Standing>()
  readonly #violations: Violations
  readonly #readyWithin: number

  constructor(violations: Violations, readyWithin: number) {
    this.#violations = violations
    this.#readyWithin = readyWithin
  }

  /** Since when nothing stands in the way of a client; Infinity while something does. */
  freeSince(client: string): number {
    const { blocks, free } = this.#standings.get(client) ?? { blocks: 0, free: 0 }
    return blocks > 0 ? Number.POSITIVE_INFINITY : free
  }

  /** How many clients are ready. */
  get ready(): number {
    return [...this.#standings.values()].filter(({ phase }) => phase === 'ready').length
  }

  /** From now on this client counts: it is ready. */
  watch(client: string): void {
    this.#standings.set(client, {
      phase: 'ready',
      since: undefined,
      blocks: 0,
      free: Number.NEGATIVE_INFINITY,
    })
  }

  /** The state of a client has changed. */
  changed(client: string, phase: Phase, at: number): void {
    const standing = this.#standings.get(client)
    if (standing === undefined) return
    standing.phase = phase
    if (phase === 'failed' || phase === 'closed') this.#violations.add(phase, client)
    if (phase !== 'ready') {
      standing.since ??= at
      return
    }
    const { since, free } = standing
    if (since === undefined) return
    standing.since = undefined
    const took = at - Math.max(since, free)
    // What is back before its way was free (a server that answers while it stops) waited for nothing.
    this.times.push(Math.max(0, took))
    if (took > this.#readyWithin) this.#late(client, took)
  }

  /** Something stands in the way of these clients until `free`. */
  block(clients: Iterable<string>): void {
    for (const client of clients) this.#change(client, (standing) => (standing.blocks += 1))
  }

  free(clients: Iterable<string>, at: number): void {
    for (const client of clients)
      this.#change(client, (standing) => {
        standing.blocks -= 1
        standing.free = at
      })
  }

  /** Tells who should have been ready by now, once for each absence. */
  check(at: number): void {
    for (const [client, standing] of this.#standings) {
      const { since, free, blocks } = standing
      if (since === undefined || blocks > 0) continue
      const waited = at - Math.max(since, free)
      if (waited <= this.#readyWithin) continue
      standing.since = undefined
      this.#late(client, waited)
    }
  }

  #change(client: string, change: (standing: Standing) => void): void {
    const standing = this.#standings.get(client)
    if (standing !== undefined) change(standing)
  }

  #late(client: string, ms: number): void {
    this.#violations.add('not ready in time', `${client}: ${Math.round(ms)} ms after its server was back`)
  }
}
