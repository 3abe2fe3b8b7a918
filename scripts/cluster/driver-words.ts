import type { Place } from './plan.js'

/** What a driver is given. */
export interface DriverOrder {
  /** Where it writes the histories of its clients. */
  readonly folder: string
  readonly url: string
  readonly places: readonly Place[]
  readonly seed: number
  /** When the run began, by the clock of the machine. */
  readonly begun: number
  /** Milliseconds between two calls of one client, on the average. */
  readonly callEvery: number
}

/** What it is told: to make calls, that nothing breaks any more, to end. */
export type DriverCommand = 'begin' | 'finish' | 'close'

/** What it tells; `wrong` is what only clients can know, in words. */
export type DriverNews =
  | { readonly type: 'ready' }
  | { readonly type: 'calls'; readonly calls: number; readonly codes: Readonly<Record<string, number>> }
  | { readonly type: 'finished'; readonly wrong: readonly string[] }
