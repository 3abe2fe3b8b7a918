import type { Row } from '../../runtime/watch/row.js'
import type { Happening } from '../../runtime/watch/timeline.js'

/** All that a viewer shows: sent first, and again to one that could not keep up. */
export interface Picture {
  readonly program: {
    readonly name: string
    readonly pid: number
    /** The version of Node. */
    readonly node: string
    /** Whether it may be acted on. */
    readonly actions: boolean
  }
  /** Milliseconds since 1970. */
  readonly at: number
  readonly rows: readonly Row[]
  readonly happened: readonly Happening[]
  readonly traced: readonly Traced[]
  readonly health: Health
}

/** The difference to the picture or the changes before. */
export interface Changes {
  readonly at: number
  readonly rows: readonly Row[]
  /** The keys of rows that are not there any more. */
  readonly gone: readonly number[]
  readonly happened: readonly Happening[]
  readonly traced: readonly Traced[]
  readonly health: Health
}

/** How the program does since the last look. */
export interface Health {
  /** Bytes. */
  readonly rss: number
  readonly heapUsed: number
  /** Milliseconds that the event loop was late to look. */
  readonly late: number
  /** Utilization of the event loop, from 0 to 1. */
  readonly busy: number
  /** Milliseconds since the program started. */
  readonly uptime: number
}

/** A message of the process that is traced: its name, and nothing that is in it. */
export interface Traced {
  readonly key: number
  readonly at: number
  readonly what: 'in' | 'out'
  readonly kind: string
  readonly name: string
}
