import type { Violations } from './violations.js'

/** A call as it is made. */
export interface Entry {
  readonly id: number
  readonly client: string
  readonly kind: CallKind
  /** What the answer has to be. */
  readonly expected: string
  readonly at: number
  /** When it has to be settled at the latest. */
  readonly deadline: number
}

/** `abort` is given up by its caller, `timeout` is never answered; the others have to succeed. */
export type CallKind =
  | 'echo'
  | 'append'
  | 'again'
  | 'read'
  | 'recall'
  | 'list'
  | 'steps'
  | 'ask'
  | 'touch'
  | 'abort'
  | 'timeout'

/** What came of a call: `ok`, or the code of its error. */
export interface Outcome {
  readonly code: string
  readonly answer?: string
  readonly message?: string
}

/** Codes that say: the answer was lost on the way, or the server that worked on it has gone. */
const losses = new Set(['CONNECTION_LOST', 'SESSION_NOT_FOUND', 'REQUEST_FAILED', 'MCP'])
const expectedEnds: Partial<Record<CallKind, string>> = { abort: 'CANCELLED', timeout: 'TIMEOUT' }
/** Cuts of one client that are remembered: the last ones explain what is lost now. */
const marksKept = 16

/** What is in time, in ms. */
export interface Limits {
  /** From a cut, or from the return of a server that knows nothing of the call, to the loss that it explains. */
  readonly tellWithin: number
  /** From the return of a server to the first answer to a call that waited for it. */
  readonly servedWithin: number
  /** From the return of a server to a client that is ready: until then, a call may run out of time. */
  readonly readyWithin: number
  /** Since when nothing stands in the way of a client; Infinity while something does. */
  free(client: string): number
}

/** The books of all calls: every one has exactly one outcome, in time, and a loss belongs to a cut. Knows no clock: times are given. */
export class Ledger {
  readonly codes = new Map<string, number>()
  /** Milliseconds from a cut to the loss that it explains. */
  readonly told: number[] = []
  /** Milliseconds from the moment that a way was free again to the first answer to a call that waited for it. */
  readonly served: number[] = []
  calls = 0
  readonly #violations: Violations
  readonly #limits: Limits
  readonly #open = new Map<number, Entry>()
  /** Those that had no outcome in time: one that comes after all is their first. */
  readonly #overdue = new Set<number>()
  /** Clients whose way is free again, since when, until the first that waited is served. */
  readonly #back = new Map<string, number>()
  readonly #marks = new Map<string, number[]>()

  constructor(violations: Violations, limits: Limits) {
    this.#violations = violations
    this.#limits = limits
  }

  /** Calls that have no outcome yet. */
  get open(): number {
    return this.#open.size
  }

  /** A call is made. */
  begin(entry: Entry): void {
    this.calls += 1
    this.#open.set(entry.id, entry)
  }

  /** The way of these clients to their server was cut, or their server is another one now: calls in flight may be lost. */
  mark(clients: Iterable<string>, at: number): void {
    for (const client of clients) {
      const marks = this.#marks.get(client) ?? []
      marks.push(at)
      if (marks.length > marksKept) marks.shift()
      this.#marks.set(client, marks)
    }
  }

  /** A server that these clients could not reach is back. */
  back(clients: Iterable<string>, at: number): void {
    for (const client of clients) this.#back.set(client, at)
  }

  /** A call has an outcome. */
  settle(id: number, outcome: Outcome, at: number): void {
    const entry = this.#open.get(id)
    if (entry === undefined) {
      if (this.#overdue.delete(id)) return
      this.#violations.add('double outcome', `call ${id} was settled before, and again with ${outcome.code}`)
      return
    }
    this.#open.delete(id)
    this.codes.set(outcome.code, (this.codes.get(outcome.code) ?? 0) + 1)
    if (outcome.code === 'ok') this.#noteServed(entry, at)
    const wrong = this.#judge(entry, outcome, at)
    if (wrong !== undefined) this.#violations.add(wrong, `${describe(entry, at)}: ${showOutcome(outcome)}`)
    else if (at > entry.deadline)
      this.#violations.add('late', `${describe(entry, at)}: ${showOutcome(outcome)}`)
  }

  /** Takes out what should have had an outcome by now: each is a violation. */
  overdue(at: number): void {
    for (const entry of this.#open.values()) {
      if (at <= entry.deadline) continue
      this.#open.delete(entry.id)
      this.#overdue.add(entry.id)
      this.#violations.add('no outcome', describe(entry, at))
    }
  }

  #noteServed({ client, kind, at: begun }: Entry, at: number): void {
    const back = this.#back.get(client)
    if (back === undefined) return
    this.#back.delete(client)
    if (begun >= back) return
    const took = at - back
    this.served.push(took)
    if (took > this.#limits.servedWithin)
      this.#violations.add(
        'served late',
        `${client}, ${kind}: ${Math.round(took)} ms after its server was back`,
      )
  }

  #judge(entry: Entry, { code, answer }: Outcome, at: number): string | undefined {
    if (code === 'ok') {
      if (entry.kind === 'timeout') return 'answered without an answer'
      return answer === entry.expected ? undefined : 'wrong answer'
    }
    if (code === expectedEnds[entry.kind]) return undefined
    if (code === 'TIMEOUT' && at - this.#limits.free(entry.client) < this.#limits.readyWithin)
      return undefined
    if (!losses.has(code)) return `unexpected ${code}`
    const since = this.#sinceMark(entry.client, at)
    if (since === undefined) return 'loss without a cut'
    this.told.push(since)
    return since > this.#limits.tellWithin ? 'loss told late' : undefined
  }

  /** Milliseconds since the last cut that this client had. */
  #sinceMark(client: string, at: number): number | undefined {
    const last = this.#marks.get(client)?.findLast((mark) => mark <= at)
    return last === undefined ? undefined : at - last
  }
}

function describe({ id, client, kind, at }: Entry, now: number): string {
  return `${client}, ${kind} ${id}, begun ${Math.round(at)} ms into the run, ${Math.round(now - at)} ms ago`
}

/** An outcome in words. */
export function showOutcome({ code, answer, message }: Outcome): string {
  return [code, answer, message].filter((part) => part !== undefined).join(' ')
}
