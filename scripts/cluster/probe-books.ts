import type { Violations } from '../soak/violations.js'
import type { ClusterFault } from './faults.js'
import type { Probe } from './probes.js'

/** Milliseconds from the death of a node until each session is served again, and the same for an orderly end. */
const servedWithin = { kill: 3_000, stop: 500 } as const
/** Milliseconds in which a node that knows that the engine is away refuses. */
const refusedWithin = 50
/** Milliseconds after which every node knows. */
const knownAfter = 2_500
/** Milliseconds after a fault in which its effects may still be heard of. */
const echoes = 3_000

/** What probes and refusals say of a run. Knows no clock: times are given, by the pace of the machine. */
export class ProbeBooks {
  readonly afterKill: number[] = []
  readonly afterStop: number[] = []
  readonly refusals: number[] = []
  readonly #violations: Violations
  /** By probe: since when a node of its cluster has gone, and how. */
  readonly #waiting = new Map<string, { readonly how: 'kill' | 'stop'; readonly since: number }>()
  readonly #names = new Set<string>()
  readonly #episodes: { readonly costs: ClusterFault['costs']; readonly from: number; to: number }[] = []
  #awaySince = Number.POSITIVE_INFINITY

  constructor(violations: Violations) {
    this.#violations = violations
  }

  begin(costs: ClusterFault['costs'], now: number): void {
    this.#episodes.push({ costs, from: now, to: Number.POSITIVE_INFINITY })
  }

  end(now: number): void {
    const last = this.#episodes.at(-1)
    if (last !== undefined) last.to = now
  }

  /** A node has gone. */
  gone(how: 'kill' | 'stop', now: number): void {
    for (const name of this.#names) this.#waiting.set(name, { how, since: now })
  }

  away(now: number): void {
    this.#awaySince = now
  }

  back(): void {
    this.#awaySince = Number.POSITIVE_INFINITY
  }

  /** A node has answered 503. */
  refused(ms: number, retryAfter: string | undefined, now: number): void {
    if (retryAfter === undefined) this.#violations.add('503 without Retry-After', `${Math.round(now)} ms`)
    if (now - ms - this.#awaySince < knownAfter) return
    this.refusals.push(ms)
    if (ms > refusedWithin)
      this.#violations.add('refused late', `${Math.round(ms)} ms, ${Math.round(now)} ms into the run`)
  }

  probed(probe: Probe): void {
    const { name, era, from, to, isServed, status, said } = probe
    this.#names.add(name)
    const waits = this.#waiting.get(name)
    if (isServed) {
      if (waits !== undefined && from >= waits.since) {
        this.#waiting.delete(name)
        const took = to - waits.since
        ;(waits.how === 'kill' ? this.afterKill : this.afterStop).push(took)
        if (took > servedWithin[waits.how])
          this.#violations.add('served late', `${name}: ${Math.round(took)} ms after a ${waits.how}`)
      }
      return
    }
    const near = this.#episodes.filter((one) => one.from <= to && from <= one.to + echoes)
    const costs = new Set(near.map((one) => one.costs))
    if (costs.has('sessions') || (costs.has('calls') && status !== 404 && !this.#isModernAway(era, from)))
      return
    this.#violations.add(
      status === 404 ? 'session not found' : 'probe failed',
      `${name}, from ${Math.round(from)} to ${Math.round(to)} ms: ${status} ${said}`,
    )
  }

  /** Requests without a session are served while the engine is away. */
  #isModernAway(era: Probe['era'], from: number): boolean {
    return era === 'modern' && from > this.#awaySince
  }
}
