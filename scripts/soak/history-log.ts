import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event, Unstamped } from '../sim/history/history.js'

/** Events of one client that are kept in memory. */
const mostInMemory = 16

/** Keeps the history of each client in a file: hours of it would weigh on the heap that is being measured. */
export class HistoryLog {
  readonly #folder: string
  readonly #now: () => number
  readonly #lines = new Map<string, string[]>()

  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
    mkdirSync(folder)
  }

  /** Takes down what happened to a client, as of now. */
  add(client: string, event: Unstamped): void {
    const lines = this.#lines.get(client) ?? []
    this.#lines.set(client, lines)
    lines.push(JSON.stringify({ ...event, at: this.#now() }))
    if (lines.length >= mostInMemory) this.#flush(client, lines)
  }

  /** Writes all of it. */
  flush(): void {
    for (const [client, lines] of this.#lines) this.#flush(client, lines)
  }

  /** All that happened to a client, in order. */
  read(client: string): Event[] {
    this.flush()
    const path = join(this.#folder, client)
    return existsSync(path) ? readEvents(readFileSync(path, 'utf8')) : []
  }

  #flush(client: string, lines: string[]): void {
    if (lines.length > 0) appendFileSync(join(this.#folder, client), `${lines.join('\n')}\n`)
    lines.length = 0
  }
}

/** The events of a file, one a line; a line that a kill has cut short is none. */
export function readEvents(text: string): Event[] {
  return text.split('\n').flatMap((line) => {
    try {
      return [{ ...zero, ...(JSON.parse(line) as Event) }]
    } catch {
      return []
    }
  })
}

/** Servers write no times: clocks of several programs do not agree. */
const zero = { at: 0 }
