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

/** The books of all calls: every one has exactly one outcome, in time, and a loss belongs to a cut. Knows no clock: times are given. */
export class Ledger {
  readonly codes = new Map<string, number>()
  /** Milliseconds from a cut to the loss that it explains. */
  readonly told: number[] = []
  calls = 0
  readonly #violations: Violations
  readonly #tellWithin: number
  readonly #open = new Map<number, Entry>()
  readonly #marks = new Map<string, number[]>()

  /** A loss is told within `tellWithin` ms after the cut, or after the server has come back and knows nothing of the call. */
  constructor(violations: Violations, tellWithin: number) {
    this.#violations = violations
    this.#tellWithin = tellWithin
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

  /** A call has an outcome. */
  settle(id: number, outcome: Outcome, at: number): void {
    const entry = this.#open.get(id)
    if (entry === undefined) {
      this.#violations.add('double outcome', `call ${id} was settled before, and again with ${outcome.code}`)
      return
    }
    this.#open.delete(id)
    this.codes.set(outcome.code, (this.codes.get(outcome.code) ?? 0) + 1)
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
      this.#violations.add('no outcome', describe(entry, at))
    }
  }

  #judge(entry: Entry, { code, answer }: Outcome, at: number): string | undefined {
    if (code === 'ok') {
      if (entry.kind === 'timeout') return 'answered without an answer'
      return answer === entry.expected ? undefined : 'wrong answer'
    }
    if (code === expectedEnds[entry.kind]) return undefined
    if (!losses.has(code)) return `unexpected ${code}`
    const since = this.#sinceMark(entry.client, at)
    if (since === undefined) return 'loss without a cut'
    this.told.push(since)
    return since > this.#tellWithin ? 'loss told late' : undefined
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
