import type { Actor } from './actor.js'
import type { ActorContext } from './context.js'
import { systemClock, type Clock } from '../time/clock.js'
import {
  contain,
  type ContainedTree,
  nextTreeId,
  type Afterlife,
  type StrayKind,
} from '../faults/containment.js'
import { Deadlines } from '../time/deadlines.js'
import { emit, isHeard } from '../faults/events.js'
import { optionError, show } from '../base/errors.js'
import { crash, type ExitReason } from '../base/exit.js'
import type { Process } from './process.js'
import { Registry } from './registry.js'
import { Scheduler } from '../time/scheduler.js'

/** What an error that belongs to nobody does to a tree. */
export type Unowned = 'report' | 'stop' | 'exit'

/** What a whole tree shares; given once, where its root is started. */
export interface TreeOptions {
  /** The time the tree lives by. Default: the clock of this machine. */
  clock?: Clock
  /**
   * Where names of this tree are kept; pass one registry to several trees to let them find each other.
   * Default: its own.
   */
  registry?: Registry
  /**
   * What an error that belongs to nobody does. `report`: it is told, the tree is marked as degraded and goes
   * on, and so does the program, whatever fails. `stop`: the tree ends. `exit`: the tree has no say. Where no
   * living tree reports and the program does not listen for such errors itself, it ends as without us: stack
   * on standard error, trees stopped in order (5 s at most), exit code 1. Default `report`, but for a main
   * module that fails; `exit` for clients.
   */
  unowned?: Unowned
}

/**
 * Everything the processes under one root share: time, names, the run queue, and who is told of stray errors.
 */
export class Tree implements ContainedTree {
  readonly id = nextTreeId()
  readonly afterlife = afterlifeOf(this.id)
  readonly clock: Clock
  readonly registry: Registry
  readonly scheduler = new Scheduler()
  readonly deadlines: Deadlines
  /**
   * Makes what an actor's handlers are given; passed in, since a context can start actors and an actor has a
   * context.
   */
  readonly contextOf: (actor: Actor) => ActorContext
  /** Undefined where nobody has said: the default. */
  readonly #unowned: Unowned | undefined
  readonly #release: () => void
  #root: Process | null = null
  #lastProcess = 0
  readonly #signals: (() => void)[] = []
  /**
   * Stray errors that belonged to nobody: the tree goes on, but something in this process of Node is broken.
   */
  strays = 0

  constructor(options: TreeOptions, contextOf: (actor: Actor) => ActorContext) {
    this.contextOf = contextOf
    this.clock = readClock(options.clock)
    this.registry = readRegistry(options.registry)
    this.#unowned = readUnowned(options.unowned)
    this.deadlines = new Deadlines(this.clock)
    this.#release = contain(this)
  }

  nextProcessId(): number {
    this.#lastProcess += 1
    return this.#lastProcess
  }

  plant(root: Process): void {
    this.#root = root
  }

  /**
   * Passes an exit on to a linked process, one after the other: a long chain of links would overflow the
   * stack.
   */
  pass(from: Process, to: Process, reason: ExitReason): void {
    const signals = this.#signals
    signals.push(() => to.signal(from, reason))
    if (signals.length > 1) return
    const failures: unknown[] = []
    for (let i = 0; i < signals.length; i++) {
      // One that fails must not keep the others from hearing of the end.
      try {
        signals[i]?.()
      } catch (error) {
        failures.push(error)
      }
    }
    signals.length = 0
    if (failures.length > 0) throw failures[0]
  }

  /** The root has ended. Containment stays for one more turn, in which the last rejections come to light. */
  fell(): void {
    this.#root = null
    this.deadlines.end()
    setImmediate(this.#release)
  }

  keepsProgram(isMain: boolean): boolean {
    return this.#unowned === 'report' || (this.#unowned === undefined && !isMain)
  }

  unowned(error: unknown, kind: StrayKind, exits: boolean): boolean {
    this.strays += 1
    const stops = this.#unowned === 'stop'
    const outcome = exits ? 'exited' : stops ? 'stopped' : 'reported'
    emit('stray', () => ({ tree: this.id, error, kind, owner: undefined, outcome }))
    if (stops) this.#root?.stopWith(crash(error))
    return isHeard('stray')
  }

  async end(error: unknown): Promise<void> {
    const root = this.#root
    if (root === null) return
    const ended = new Promise<void>((resolve) => root.ref.onExit(() => resolve()))
    root.stopWith(crash(error))
    await ended
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

function readClock(clock: Clock | undefined): Clock {
  if (clock === undefined) return systemClock
  if (
    typeof clock?.now === 'function' &&
    typeof clock.setTimeout === 'function' &&
    typeof clock.clearTimeout === 'function'
  )
    return clock
  throw optionError('clock', 'clock: expected an object with now, setTimeout and clearTimeout')
}

function readRegistry(registry: Registry | undefined): Registry {
  if (registry === undefined) return new Registry()
  if (registry instanceof Registry) return registry
  throw optionError('registry', 'registry: expected a Registry')
}

function readUnowned(unowned: unknown): Unowned | undefined {
  if (unowned === undefined || unowned === 'report' || unowned === 'stop' || unowned === 'exit')
    return unowned
  throw optionError('unowned', `unowned: expected 'report', 'stop' or 'exit', got ${show(unowned)}`)
}
