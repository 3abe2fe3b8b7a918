/** What has become of a call: refused is one that says that it may be made again; of one its user has left. */
export type Fate = 'served' | 'refused' | 'failed' | 'left'

/** One call: when it was sent and how long its answer took, in ms. */
export interface Told {
  readonly at: number
  readonly ms: number
  readonly fate: Fate
}

/** A stretch in which calls are sent at a rate, however many are answered. */
export interface Flood {
  readonly calls: readonly Told[]
  /** Sent, and never answered. */
  readonly unanswered: number
  /** How late the load itself was, for the latest 1 %, in ms. */
  readonly late: number
  /** From the last call that was sent to the last answer. */
  readonly drained: number
}

export interface Summary {
  /** Calls a second that were served within the time that their users have. */
  readonly goodput: number
  readonly served: number
  /** Of the slowest 1 % of all that were served, also those too late. */
  readonly servedP99: number
  readonly refused: number
  readonly refusedP99: number
  readonly failed: number
  readonly left: number
}

/** What `ms` of calls come to, whose users wait for `patience` ms. */
export function summaryOf(calls: readonly Told[], ms: number, patience: number): Summary {
  const of = (fate: Fate): number[] => calls.filter((call) => call.fate === fate).map((call) => call.ms)
  const [served, refused] = [of('served'), of('refused')]
  return {
    goodput: served.filter((each) => each <= patience).length / (ms / 1_000),
    served: served.length,
    servedP99: quantile(served, 0.99),
    refused: refused.length,
    refusedP99: quantile(refused, 0.99),
    failed: of('failed').length,
    left: of('left').length,
  }
}

export function quantile(all: readonly number[], part: number): number {
  const sorted = [...all].sort((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
}

/** How much more the last third of the samples is than the first, by their middles. */
export function growthOf(samples: readonly number[]): number {
  const third = Math.max(1, Math.floor(samples.length / 3))
  return quantile(samples.slice(-third), 0.5) / quantile(samples.slice(0, third), 0.5)
}

/** What is aimed at, as the table says it; a figure that is not there is no miss. */
export const aims: Readonly<Record<string, (figure: number) => boolean>> = {
  'goodput, of the peak': (share) => share >= 0.8,
  'refusals, p99 in ms': (ms) => ms < 20,
  'memory, last third of first': (growth) => growth <= 1.1,
  'p99 of those served, of quiet': (ratio) => ratio <= 5,
  'p99 of echo beside echo at full speed': (ratio) => ratio <= 2,
  'p99 of work beside work at full speed': (ratio) => ratio <= 2,
  'sessions of one address, of all': (share) => share < 1,
}

export function isMissed(aim: string, figure: number): boolean {
  return !Number.isNaN(figure) && aims[aim]?.(figure) === false
}
