import type { Actor } from '../process/actor.js'
import type { Process } from '../process/process.js'
import type { Row, Rows } from './row.js'
import type { Happening } from './timeline.js'

/**
 * The key of what an actor's state knows of trees elsewhere: of the peer for which it stands, or of other
 * nodes.
 */
export const elsewhere: unique symbol = Symbol('elsewhere')

/** A message to the `Reporter` of the other side. */
export type Question =
  /** Tell what is other than you told before; all of it, if you are asked for the first time. */
  | { readonly what: 'look'; readonly id: number }
  /** The last viewer has left. */
  | { readonly what: 'leave' }
  | { readonly what: 'kill' | 'restart'; readonly key: number }

/** Changes since the last report. */
export interface Report {
  /** The number of the request that it answers. */
  readonly id: number
  readonly rows: readonly Row[]
  /** The keys of rows that are not there any more. */
  readonly gone: readonly number[]
  readonly happened: readonly Happening[]
  /** Bytes. */
  readonly memory: number
  /** Utilization of its event loop, from 0 to 1. */
  readonly busy: number
  /** Milliseconds that it took to look. */
  readonly took: number
}

/** A look over there takes at most this part of the time. */
const share = 0.1
/** Happenings that are kept until those who look have read them. */
const kept = 200

interface ElsewhereOptions {
  /** Sends it to the `Reporter` of the other side; false where it cannot be sent now. */
  ask(question: Question): boolean
  /** Its name, if it is a program of its own and not a part of this one. */
  readonly node?: string
  /** Milliseconds between two looks, at least. Default 0. */
  readonly pause?: number
}

/** The trees of another thread, process or node as they were told of last. */
export class Elsewhere {
  readonly node: string | undefined
  readonly #ask: (question: Question) => boolean
  readonly #pause: number
  readonly #rows = new Map<number, Row>()
  readonly #happened: Happening[] = []
  #health: Pick<Report, 'memory' | 'busy'> | undefined
  #lastHappened = 0
  /** The last question, and whether its answer is awaited. */
  #question = 0
  #isAsked = false
  #due = 0

  constructor({ ask, node, pause = 0 }: ElsewhereOptions) {
    this.#ask = ask
    this.node = node
    this.#pause = pause
  }

  /** Rows by the keys of the other side. */
  get rows(): Rows {
    return this.#rows
  }

  /** The last ones, with ids of this one's own, and trees of the other side. */
  get happened(): readonly Happening[] {
    return this.#happened
  }

  /** Its health in a few words; undefined while nobody looks. */
  get health(): string | undefined {
    if (this.#health === undefined) return undefined
    const { memory, busy } = this.#health
    return `${Math.round(memory / 1_000_000)} MB, ${Math.round(busy * 100)} % busy`
  }

  /** Asks for what is other; the answer is there at a later look. One that does not answer is asked once. */
  look(now: number): void {
    if (this.#isAsked || now < this.#due) return
    this.#question += 1
    this.#isAsked = this.#ask({ what: 'look', id: this.#question })
  }

  take({ id, rows, gone, happened, took, ...health }: Report, now: number): void {
    for (const each of happened) {
      this.#lastHappened += 1
      this.#happened.push({ ...each, id: this.#lastHappened })
    }
    this.#happened.splice(0, this.#happened.length - kept)
    // a report may arrive after the last viewer has left
    if (!this.#isAsked || id !== this.#question) return
    this.#isAsked = false
    this.#due = now + Math.max(this.#pause, took / share)
    this.#health = health
    for (const key of gone) this.#rows.delete(key)
    for (const row of rows) this.#rows.set(row.key, row)
  }

  /** Forgets the rows: nobody looks. */
  leave(): void {
    this.#isAsked = false
    this.#health = undefined
    this.#rows.clear()
    this.#ask({ what: 'leave' })
  }

  /** Ends the process of one of its rows, at once or in order. */
  end(key: number, how: 'kill' | 'restart'): void {
    this.#ask({ what: how, key })
  }
}

/** What the process stands for: nothing, for most. */
export function elsewheresOf(process: Process): readonly Elsewhere[] {
  if (process.kind !== 'actor') return []
  const state = (process as Actor).state as { [elsewhere]?: readonly Elsewhere[] } | null | undefined
  return state?.[elsewhere] ?? []
}
