import type { Spread } from '../soak/report.js'

/** What came of a run. */
export interface ClusterReport {
  readonly minutes: number
  readonly seed: number
  readonly clients: number
  readonly calls: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Answers that the nodes gave, by status; 502 is the balancer's own where it reached no node. */
  readonly statuses: Readonly<Record<string, number>>
  /** Milliseconds from the death of a node until a session, of any node, is served. */
  readonly servedAfterKill: Spread
  /** Milliseconds from the orderly end of a node until a session is served. */
  readonly servedAfterStop: Spread
  /** Milliseconds in which it was refused while the engine was known to be away. */
  readonly refusals: Spread
  /** Milliseconds until all nodes served again once what was broken was mended. */
  readonly whole: Spread
  /** What programs like ours got of the machine, 1 being all they want: the times above are without what it had not for us. */
  readonly pace: { readonly mean: number; readonly least: number }
  /** What the engine held in the end: before the clients closed, and after. */
  readonly engine: {
    readonly full: { readonly keys: number; readonly bytes: number }
    readonly closed: { readonly keys: number; readonly bytes: number }
  }
  readonly violations: number
  readonly violationsByKind: Readonly<Record<string, number>>
  readonly violationList: readonly string[]
}

/** The report for people. */
export function formatReport(report: ClusterReport): string {
  const { minutes, seed, clients, calls, outcomes, faults, statuses, pace, engine, violations } = report
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  const spread = ({ count, p50, p99, most }: Spread): string =>
    `${count}, p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms`
  const size = ({ keys, bytes }: { keys: number; bytes: number }): string => `${keys} keys, ${bytes} bytes`
  return [
    `${clients} clients, ${minutes} min, seed ${seed}: ${calls} calls`,
    `outcomes    ${counts(outcomes)}`,
    `faults      ${counts(faults)}`,
    `statuses    ${counts(statuses)}`,
    `served      ${spread(report.servedAfterKill)} after a node was killed`,
    `            ${spread(report.servedAfterStop)} after a node was stopped`,
    `refused     ${spread(report.refusals)} while the engine was away`,
    `whole       ${spread(report.whole)} after it was mended`,
    `pace        ${pace.mean.toFixed(2)} of the machine, at least ${pace.least.toFixed(2)}`,
    `engine      ${size(engine.full)}; without clients ${size(engine.closed)}`,
    `violations  ${violations}`,
    ...report.violationList.map((line) => `  ${line}`),
  ].join('\n')
}
