import type { Handles, Memory } from './measure.js'

/** What came of a run. */
export interface SoakReport {
  readonly minutes: number
  readonly seed: number
  readonly clients: number
  readonly calls: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly cuts: Readonly<Record<string, number>>
  /** Milliseconds to ready after a loss, or after the server was back. */
  readonly recoveries: Spread
  /** Milliseconds from a cut to the loss that it explains. */
  readonly lossesTold: Spread
  /** Milliseconds from the moment that a server is back to the first answer to a call that waited for it. */
  readonly servedAgain: Spread
  /** What programs like ours got of the machine, 1 being all they want: the times above are without what it had not for us. */
  readonly pace: { readonly mean: number; readonly least: number }
  /** Milliseconds by which the event loop of the clients was late: how far the figures above are the machine's. */
  readonly eventLoopDelay: Spread
  readonly memory: { readonly start: Memory; readonly end: Memory; readonly heapSlopePerMinute: number }
  readonly handles: { readonly start: Handles; readonly end: Handles }
  readonly violations: number
  readonly violationsByKind: Readonly<Record<string, number>>
  readonly violationList: readonly string[]
}

/** How some times lie, in ms. */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** How these times lie; all 0 when there are none. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (part: number): number => Math.round(sorted[Math.ceil(part * sorted.length) - 1] ?? 0)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: at(1) }
}

/** A map of counts as an object, the largest first. */
export function countsOf(map: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...map].sort(([, a], [, b]) => b - a))
}

/** The report for people. */
export function formatReport(report: SoakReport): string {
  const {
    minutes,
    seed,
    clients,
    calls,
    outcomes,
    cuts,
    recoveries,
    lossesTold,
    servedAgain,
    pace,
    eventLoopDelay,
    memory,
    violations,
  } = report
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  const spread = ({ count, p50, p99, most }: Spread): string =>
    `${count}, p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms`
  return [
    `${clients} clients, ${minutes} min, seed ${seed}: ${calls} calls`,
    `outcomes    ${counts(outcomes)}`,
    `faults      ${counts(cuts)}`,
    `recoveries  ${spread(recoveries)}`,
    `losses told ${spread(lossesTold)} after the cut`,
    `served      ${spread(servedAgain)} after the server was back`,
    `pace        ${pace.mean.toFixed(2)} of the machine, at least ${pace.least.toFixed(2)}`,
    `event loop  late by p50 ${eventLoopDelay.p50} ms, p99 ${eventLoopDelay.p99} ms, at most ${eventLoopDelay.most} ms`,
    `heap        ${memory.start.heap} MiB, in the end ${memory.end.heap} MiB; ${memory.heapSlopePerMinute} MiB a minute`,
    `rss         ${memory.start.rss} MiB, in the end ${memory.end.rss} MiB`,
    `violations  ${violations}`,
    ...report.violationList.map((one) => `  ${one}`),
  ].join('\n')
}
