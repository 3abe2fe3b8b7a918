import { badOption } from '../base/check.js'
import { crash, type ExitReason } from '../base/exit.js'
import {
  type Afterlife,
  contain,
  type ContainedTree,
  nextTreeId,
  type StrayKind,
} from '../faults/containment.js'
import { emit, isHeard } from '../faults/events.js'
import type { LogOptions } from '../faults/log.js'
import type { Clock } from '../time/clock.js'
import { Deadlines } from '../time/deadlines.js'
import { Scheduler, ShuffledScheduler } from '../time/scheduler.js'
import { readWorld, type World } from '../time/world.js'

export type Unowned = 'report' | 'stop' | 'exit'

export class Tree implements ContainedTree {
  readonly id = nextTreeId()
  readonly afterlife = afterlifeOf(this.id)
  readonly world: World
  readonly scheduler: Scheduler
  readonly deadlines: Deadlines
  readonly #unowned: Unowned | undefined
  readonly #release: () => void
  /** The process at the top; null before it starts and after it ends. Not by its type: that rests on this. */
  root: object | null = null
  #stopRoot: ((reason: ExitReason) => Promise<unknown>) | null = null
  #lastProcess = 0
  readonly #signals: (() => void)[] = []
  /** Stray errors without an owner. */
  strays = 0
  /** Options of its log; its peers have the same. */
  readonly logging: LogOptions

  constructor(clock: Clock | undefined, unowned: Unowned | undefined, logging: LogOptions = {}) {
    this.logging = logging
    this.world = readWorld(clock)
    this.#unowned = readUnowned(unowned)
    const { order } = this.world
    this.scheduler =
      order === undefined ? new Scheduler(this.world) : new ShuffledScheduler(this.world, order)
    this.deadlines = new Deadlines(this.world)
    this.#release = contain(this)
  }

  /** The clock of its world. */
  get clock(): Clock {
    return this.world
  }

  nextProcessId(): number {
    this.#lastProcess += 1
    return this.#lastProcess
  }

  /** Called when the root starts; `stop` ends it and resolves then. */
  setRoot(root: object, stop: (reason: ExitReason) => Promise<unknown>): void {
    this.root = root
    this.#stopRoot = stop
  }

  /** Queues exit signals: sent at once, a long chain of links would overflow the stack. */
  pass(send: () => void): void {
    const signals = this.#signals
    signals.push(send)
    if (signals.length > 1) return
    const failures: unknown[] = []
    for (let i = 0; i < signals.length; i++) {
      // A signal that throws must not keep the others from being sent.
      try {
        signals[i]?.()
      } catch (error) {
        failures.push(error)
      }
    }
    signals.length = 0
    if (failures.length > 0) throw failures[0]
  }

  /** Called when the root has ended. Containment stays for one more turn: the last rejections appear in it. */
  close(): void {
    this.root = null
    this.#stopRoot = null
    this.deadlines.end()
    this.world.setImmediate(this.#release)
  }

  keepsProgram(isMain: boolean): boolean {
    return this.#unowned === 'report' || (this.#unowned === undefined && !isMain)
  }

  unowned(error: unknown, kind: StrayKind, exits: boolean): boolean {
    this.strays += 1
    const stops = this.#unowned === 'stop'
    const outcome = exits ? 'exited' : stops ? 'stopped' : 'reported'
    emit('stray', () => ({ tree: this.id, error, kind, owner: undefined, outcome }))
    if (stops) void this.end(error)
    return isHeard('stray')
  }

  async end(error: unknown): Promise<void> {
    await this.#stopRoot?.(crash(error))
  }
}

function afterlifeOf(tree: number): Afterlife {
  return {
    tree,
    refused: 0,
    late(error, kind, owner) {
      emit('stray', () => ({ tree, error, kind, owner, outcome: 'reported' }))
    },
  }
}

function readUnowned(unowned: unknown): Unowned | undefined {
  if (unowned === undefined || unowned === 'report' || unowned === 'stop' || unowned === 'exit')
    return unowned
  throw badOption('unowned', "'report', 'stop' or 'exit'", unowned)
}
