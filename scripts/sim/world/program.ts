import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import type { World } from '../../../runtime/time/world.js'
import type { Random } from '../../soak/random.js'
import { chanceOf } from './chance.js'
import { Lane, type Simulator, type Step } from './simulator.js'

/** When simulated time begins, in ms since 1970. */
export const epoch = Date.UTC(2026, 0, 1)
const letters = 'useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict'

/** A program of its own: its clock, its turns, its chance, its address, and how it ends. */
export class Program {
  readonly name: string
  readonly address: string
  /** How often a program of this name was started before, and once more. */
  readonly incarnation: number
  readonly simulator: Simulator
  readonly lane: Lane
  readonly world: World
  readonly #random: Random
  readonly #onDeath: (() => void)[] = []
  readonly #timers = new Set<Step>()
  #jumped = 0
  #born: number
  phase: 'running' | 'frozen' | 'dead' = 'running'

  constructor(simulator: Simulator, name: string, address: string, incarnation = 1) {
    this.simulator = simulator
    this.name = name
    this.address = address
    this.incarnation = incarnation
    this.lane = new Lane(`${name}.${incarnation}`)
    this.#born = simulator.now
    this.#random = chanceOf(simulator.seed, `program ${name} ${incarnation}`)
    this.world = this.#makeWorld()
  }

  /** Timers that wait, and hold the program. */
  get timers(): number {
    return this.#timers.size
  }

  /** Runs `fn` as a part of this program: what it starts belongs to it. */
  enter<T>(fn: () => T): T {
    return current.run(this, fn)
  }

  /** SIGSTOP: it does nothing, and what comes for it waits. */
  freeze(): void {
    if (this.phase !== 'running') return
    this.phase = 'frozen'
    this.lane.frozen = true
  }

  thaw(): void {
    if (this.phase !== 'frozen') return
    this.phase = 'running'
    this.lane.frozen = false
  }

  /** kill -9: none of its code runs any more. */
  die(): void {
    if (this.phase === 'dead') return
    this.phase = 'dead'
    this.lane.frozen = false
    this.simulator.drop(this.lane)
    for (const end of this.#onDeath.splice(0)) end()
  }

  /** What the system does when the program dies. */
  onDeath(end: () => void): void {
    if (this.phase === 'dead') end()
    else this.#onDeath.push(end)
  }

  /** Somebody sets the clock of its machine: dates jump, timers do not. */
  jump(ms: number): void {
    this.#jumped += ms
  }

  date(): number {
    return Math.floor(epoch + this.simulator.now + this.#jumped)
  }

  soon(label: string, fn: () => void): Step | undefined {
    if (this.phase === 'dead') return undefined
    return this.simulator.soon(this.lane, label, this.#bind(fn))
  }

  after(ms: number, label: string, fn: () => void): Step | undefined {
    if (this.phase === 'dead') return undefined
    const run = this.#bind(fn)
    const step: Step = this.simulator.after(Math.max(1, ms), this.lane, label, () => {
      this.#timers.delete(step)
      run()
    })
    this.#timers.add(step)
    return step
  }

  /** Something beyond the program works for it, also when it is frozen or dead. */
  outside(ms: number, label: string, fn: () => void): void {
    this.simulator.after(ms, this.simulator.elsewhere, `${this.name} ${label}`, fn)
  }

  cancel(step: Step | undefined): void {
    if (step === undefined || step.cancelled) return
    this.#timers.delete(step)
    step.cancelled = true
    // it stays on the agenda until its time, and what it would have done must not stay with it
    step.run = nothing
  }

  /** In the scope of who asks, as Node does it; a dead program does nothing. */
  #bind(fn: () => void): () => void {
    const scope = new AsyncResource('SimulatedStep')
    return () => {
      if (this.phase !== 'dead') scope.runInAsyncScope(fn)
    }
  }

  #unref(step: Step): () => void {
    return () => void this.#timers.delete(step)
  }

  #makeWorld(): World {
    const random = this.#random
    const pending = new Set<Step>()
    return {
      grain: 0,
      now: () => this.simulator.now - this.#born,
      setTimeout: (fn, ms) => {
        const step = this.after(ms, 'timer', () => {
          pending.delete(step as Step)
          fn()
        })
        if (step === undefined) return undefined
        pending.add(step)
        // it holds no program, as Node has it
        return Object.assign(step, { unref: this.#unref(step) })
      },
      clearTimeout: (timer) => {
        const step = timer as Step | undefined
        if (step === undefined || !pending.delete(step)) return
        this.cancel(step)
      },
      date: () => this.date(),
      cpu: () => this.simulator.now - this.#born,
      setImmediate: (fn) => this.soon('turn', fn),
      clearImmediate: (immediate) => this.cancel(immediate as Step | undefined),
      queueMicrotask: (fn) => queueMicrotask(fn),
      random: () => random.next(),
      randomBytes: (size) => Buffer.from(Array.from({ length: size }, () => random.between(0, 255))),
      id: () => Array.from({ length: 21 }, () => letters[random.between(0, 63)]).join(''),
      order: {
        next: (waiting) => random.between(0, waiting - 1),
        messages: () => random.between(1, 3),
      },
    }
  }
}

function nothing(): void {}

const current = new AsyncLocalStorage<Program>()

/** The program whose code runs now. */
export function currentProgram(): Program | undefined {
  return current.getStore()
}
