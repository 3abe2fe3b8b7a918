import { Agenda, type Due } from './agenda.js'
import type { Random } from '../../soak/random.js'
import { chanceOf } from './chance.js'
import { Native } from './native.js'
import { Trace } from './trace.js'

/** Whose turn it is: what is in one lane happens in order, and lanes go ahead as chance has it. */
export class Lane {
  readonly name: string
  readonly ready: Step[] = []
  head = 0
  /** Nothing in it happens; it is kept. */
  frozen = false

  constructor(name: string) {
    this.name = name
  }

  get waiting(): number {
    return this.ready.length - this.head
  }

  shift(): Step | undefined {
    const step = this.ready[this.head++]
    if (this.head === this.ready.length) {
      this.ready.length = 0
      this.head = 0
    }
    return step
  }

  clear(): void {
    this.ready.length = 0
    this.head = 0
  }
}

export interface Step extends Due {
  readonly lane: Lane
  readonly label: string
  run: () => void
}

export interface RunLimits {
  /** Simulated ms at which to stop. */
  readonly until: number
  /** Steps after which it is taken for a loop without end. Default 5,000,000. */
  readonly steps?: number
  /** Looked at after each step. */
  readonly done?: () => boolean
}

/** ms that a step may take at most: an endless chain of turns must not keep time from going on. */
const longestStep = 0.04

/**
 * Time and order of everything that happens. One step after the other runs, each to the end of its
 * microtasks. Among lanes that have something to do chance decides; where none has, time jumps.
 */
export class Simulator {
  readonly seed: number
  readonly trace: Trace
  readonly #agenda = new Agenda<Step>()
  readonly #busy: Lane[] = []
  readonly native = new Native()
  /** What happens in no program: at stores, and by the hand that breaks things. */
  readonly elsewhere = new Lane('elsewhere')
  readonly #chance: Random
  #now = 0
  #isOver = false
  #order = 0
  steps = 0

  constructor(seed: number, trace: Trace = new Trace()) {
    this.seed = seed
    this.trace = trace
    this.#chance = chanceOf(seed, 'turns')
  }

  /** Simulated ms since the beginning. */
  get now(): number {
    return this.#now
  }

  note(who: string, what: string): void {
    this.trace.note(this.#now, who, what)
  }

  /** Does it as soon as the lane has its turn. */
  soon(lane: Lane, label: string, run: () => void): Step {
    const step = { at: this.#now, order: ++this.#order, cancelled: false, lane, label, run }
    this.#make(step)
    return step
  }

  /** Does it after `ms`, as soon as the lane has its turn. */
  after(ms: number, lane: Lane, label: string, run: () => void): Step {
    const at = this.#now + Math.max(0, ms)
    const step = { at, order: ++this.#order, cancelled: false, lane, label, run }
    if (Number.isFinite(at) && !this.#isOver) this.#agenda.add(step)
    return step
  }

  /** Runs until it is done, nothing is left to do, or a limit is reached; says which. */
  async run({ until, steps = 5_000_000, done }: RunLimits): Promise<'done' | 'idle' | 'late' | 'endless'> {
    const last = this.steps + steps
    await this.native.turn()
    for (;;) {
      if (done?.()) return 'done'
      if (this.steps >= last) return 'endless'
      const step = this.#next(until)
      if (typeof step === 'string') return step
      this.steps += 1
      this.trace.note(this.#now, step.lane.name, step.label)
      this.#now += this.#chance.next() * longestStep
      step.run()
      await this.native.turn()
    }
  }

  /** Nothing happens any more. */
  end(): void {
    this.#agenda.clear()
    for (const lane of this.#busy.splice(0)) lane.clear()
    this.#isOver = true
  }

  #next(until: number): Step | 'idle' | 'late' {
    for (;;) {
      this.#takeDue()
      const awake = this.#busy.filter((lane) => !lane.frozen)
      if (awake.length > 0) {
        const lane = this.#chance.pick(awake) as Lane
        const step = lane.shift() as Step
        if (lane.waiting === 0) this.#busy.splice(this.#busy.indexOf(lane), 1)
        if (!step.cancelled) return step
        continue
      }
      const next = this.#agenda.first()
      if (next === undefined) return 'idle'
      if (next.at > until) {
        this.#now = Math.max(this.#now, until)
        return 'late'
      }
      this.#now = Math.max(this.#now, next.at)
    }
  }

  #takeDue(): void {
    for (let next = this.#agenda.first(); next !== undefined; next = this.#agenda.first()) {
      if (!next.cancelled && next.at > this.#now) return
      this.#agenda.take()
      if (!next.cancelled) this.#make(next)
    }
  }

  #make(step: Step): void {
    if (this.#isOver) return
    if (step.lane.waiting === 0 && !this.#busy.includes(step.lane)) this.#busy.push(step.lane)
    step.lane.ready.push(step)
  }

  /** Everything that the lane still has to do is forgotten. */
  drop(lane: Lane): void {
    lane.clear()
    const at = this.#busy.indexOf(lane)
    if (at >= 0) this.#busy.splice(at, 1)
  }
}
