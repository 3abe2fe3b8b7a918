import type { RequestId } from '../../protocol/wire/jsonrpc.js'

/** A long answer that has come, and is to be read. */
interface UnreadAnswer {
  readonly id: RequestId
  /** Characters. */
  readonly size: number
  readonly read: () => void
  /** What came about its request after it. */
  readonly behind: (() => void)[]
}

/** One of so many answers is the oldest, whatever its size: none waits for ever. */
const oldestEvery = 4

/** Long answers that have come, in any order: what takes long to read need not keep up what takes less. */
export class UnreadAnswers {
  readonly #all: UnreadAnswer[] = []
  #taken = 0

  get size(): number {
    return this.#all.length
  }

  add(answer: Omit<UnreadAnswer, 'behind'>): void {
    this.#all.push({ ...answer, behind: [] })
  }

  /** Does what came about a request after its answer: at once, if that is not among these. */
  behind(id: RequestId, fn: () => void): void {
    const answer = this.#all.find((one) => one.id === id)
    if (answer === undefined) fn()
    else answer.behind.push(fn)
  }

  /** Reads one: the shortest, or the oldest. */
  readNext(): void {
    this.#taken += 1
    const at = this.#taken % oldestEvery === 0 ? 0 : this.#shortest()
    for (const answer of this.#all.splice(at, 1)) readOne(answer)
  }

  readAll(): void {
    for (const answer of this.#all.splice(0)) readOne(answer)
  }

  #shortest(): number {
    let at = 0
    for (const [index, { size }] of this.#all.entries()) if (size < (this.#all[at]?.size ?? 0)) at = index
    return at
  }
}

function readOne({ read, behind }: UnreadAnswer): void {
  read()
  for (const fn of behind) fn()
}
