import type { Actor } from '../process/actor.js'
import { type Behaviour, behaviourOf } from '../process/behaviour.js'
import { type ChildOverrides, type ChildSpec, childSpec } from '../supervision/child-spec.js'
import { currentOwner } from '../faults/containment.js'
import type { WorkFacts } from '../faults/events.js'
import { type ActorContext, ProcessContext } from '../process/context.js'
import { RuntimeError, show, optionError } from '../base/errors.js'
import { kill, shutdown } from '../base/exit.js'
import { badOption, checkCount, checkFields, checkFunction, checkName } from '../base/check.js'
import { handled } from '../base/promise.js'
import { checkMs } from '../time/clock.js'
import { type ActorRef, ProcessRef, processOf } from '../process/ref.js'
import { readTaskSupervisorOptions, type TaskSupervisorOptions } from '../supervision/options.js'
import { Task, type TaskContext, type TaskEnd } from './task.js'

/** How a task is named and linked, and how long it may take. */
export interface TaskOptions {
  /** Shown in trees and reports. Default `task`. */
  name?: string
  /** A process that crashes with the task, unless it traps exits; the task ends with it, also normally. */
  link?: ProcessRef
  /** Milliseconds until the task is killed. Default: no limit. */
  timeout?: number
  /** Reports a throw of the function as a crash. Default true. */
  report?: boolean
  /** What it works for, such as a request: the watchdog tells its id. Nobody changes it. */
  serves?: { readonly id: string | number }
  /** Facts for the report of its crash, such as its client; called only then. */
  about?: () => WorkFacts
}

/** A task that runs: its process, and its result. */
export interface TaskRef<T> {
  readonly ref: ProcessRef
  /**
   * The function's value. Rejects with what it threw, or EXITED when the task was ended (`data.reason`). A
   * rejection that nobody awaits is never fatal.
   */
  readonly result: Promise<T>
  /** Ends the task: its signal aborts, what it owns is released, and its later effects are refused. */
  cancel(): void
}

class TaskSupervisorState {
  running = 0
  readonly maxChildren: number

  constructor(maxChildren: number) {
    this.maxChildren = maxChildren
  }
}

/** Makes the promise of its result on demand: many tasks are started for their effect. */
class StartedTask<T> implements TaskRef<T> {
  readonly ref: ProcessRef
  readonly #task: Task
  #end: TaskEnd | null = null
  #result: Promise<T> | null = null
  #settle: ((end: TaskEnd) => void) | null = null

  constructor(task: Task) {
    this.ref = task.ref
    this.#task = task
  }

  get result(): Promise<T> {
    this.#result ??= handled(
      new Promise((resolve, reject) => {
        this.#settle = (end) => (end.type === 'value' ? resolve(end.value as T) : reject(end.error))
      }),
    )
    if (this.#end !== null) this.settle(this.#end)
    return this.#result
  }

  settle(end: TaskEnd): void {
    this.#end = end
    this.#settle?.(end)
  }

  cancel(): void {
    this.#task.signal(null, shutdown)
  }
}

/** Runs functions as supervised processes, never restarted (Elixir: Task.Supervisor). */
export class TaskSupervisor {
  readonly ref: ActorRef
  readonly #maxChildren: number
  readonly #actor: Actor

  /** `maxChildren` may lower the limit for this handle. Throws BAD_OPTION. */
  constructor(ref: ActorRef, maxChildren = Number.POSITIVE_INFINITY) {
    checkCount(maxChildren, 'maxChildren')
    this.ref = ref
    this.#actor = processOf(ref) as Actor
    const { state } = this.#actor
    const own = state instanceof TaskSupervisorState ? state.maxChildren : Number.POSITIVE_INFINITY
    this.#maxChildren = Math.min(maxChildren, own)
  }

  get running(): number {
    return (this.#actor.state as TaskSupervisorState | undefined)?.running ?? 0
  }

  /**
   * Runs `fn` at once as a task. Throws MAX_CHILDREN, BAD_OPTION, NOPROC when the supervisor has ended,
   * ACTOR_DEAD when the caller is a dead incarnation.
   */
  start<T>(fn: (ctx: TaskContext) => T | Promise<T>, options: TaskOptions = {}): TaskRef<T> {
    checkFields(options, taskFields)
    const {
      name = 'task',
      timeout = Number.POSITIVE_INFINITY,
      report = true,
      link: linked,
      serves,
      about,
    } = options
    checkTask(fn, { name, timeout, report, link: linked, serves, about })
    this.#admit()
    const supervisor = this.#actor
    const { clock } = supervisor.tree
    const state = supervisor.state as TaskSupervisorState
    state.running += 1
    const task = new Task(supervisor.tree, supervisor, { name, report, serves, about })
    if (linked !== undefined) task.share(processOf(linked))
    const started = new StartedTask<T>(task)
    const limited = Number.isFinite(timeout) && task.reason === null
    const timer = limited ? clock.setTimeout(() => task.signal(null, kill), timeout) : undefined
    task.run(ProcessContext.homeOf(supervisor.ctx as ProcessContext), fn, (end) => {
      state.running -= 1
      if (timer !== undefined) clock.clearTimeout(timer)
      started.settle(end)
    })
    supervisor.tree.scheduler.began(task.reason !== null)
    return started
  }

  #admit(): void {
    const owner = currentOwner()
    if (owner?.fenced === true) {
      this.#actor.tree.afterlife.refused += 1
      throw new RuntimeError('ACTOR_DEAD', `${owner.name} has ended: it starts no task on ${this.ref.name}`)
    }
    if (!this.ref.alive) throw new RuntimeError('NOPROC', `${this.ref.name} has ended`, { retryable: true })
    if (this.running < this.#maxChildren) return
    const message = `${this.ref.name}: ${this.running} tasks are running already`
    throw new RuntimeError('MAX_CHILDREN', message, {
      retryable: true,
      data: { maxChildren: this.#maxChildren },
    })
  }
}

/** The spec of a task supervisor; its start hands out a TaskSupervisor as `extra`. Throws BAD_OPTION. */
export function taskSupervisorSpec(
  options: TaskSupervisorOptions = {},
  overrides: ChildOverrides = {},
): ChildSpec {
  const behaviour = taskSupervisorBehaviour(options)
  const spec = childSpec(behaviour, undefined, overrides)
  return {
    ...spec,
    async start(ctx) {
      const ref = (await spec.start(ctx)) as ActorRef
      return { ref, extra: new TaskSupervisor(ref) }
    },
  }
}

/** A handle of a task supervisor that was started as a child. Throws BAD_OPTION for other processes. */
export function taskSupervisorAt(ref: ProcessRef | undefined): TaskSupervisor {
  const actor = ref instanceof ProcessRef ? (processOf(ref) as Actor) : undefined
  if (actor?.state instanceof TaskSupervisorState) return new TaskSupervisor(actor.ref as ActorRef)
  throw optionError('ref', `taskSupervisorAt: expected the reference of a task supervisor, got ${show(ref)}`)
}

/** Starts a task supervisor as a linked child of the actor. Rejects with BAD_OPTION. */
export function startTaskSupervisor(
  ctx: ActorContext,
  options: TaskSupervisorOptions = {},
): Promise<TaskSupervisor> {
  return handled(startLinked(ctx, options))
}

async function startLinked(ctx: ActorContext, options: TaskSupervisorOptions): Promise<TaskSupervisor> {
  if (!(ctx instanceof ProcessContext)) throw badOption('ctx', 'the context of an actor', ctx)
  return new TaskSupervisor(await ctx.start(taskSupervisorBehaviour(options)))
}

function taskSupervisorBehaviour(options: TaskSupervisorOptions): Behaviour<unknown, undefined> {
  const { name, maxChildren } = readTaskSupervisorOptions(options)
  const init = (): TaskSupervisorState => new TaskSupervisorState(maxChildren)
  const behaviour = behaviourOf({ name, trapExit: true, stray: 'report', init }, 'supervisor')
  return behaviour as Behaviour<unknown, undefined>
}

const taskFields = ['name', 'link', 'timeout', 'report', 'serves', 'about']

function checkTask(
  fn: unknown,
  { name, timeout, report, link, serves, about }: Record<keyof TaskOptions, unknown>,
): void {
  checkFunction(fn, 'fn')
  checkName(name)
  checkMs(timeout, 'timeout')
  if (typeof report !== 'boolean') throw badOption('report', 'a boolean', report)
  if (serves !== undefined && (typeof serves !== 'object' || serves === null))
    throw badOption('serves', 'an object with an id', serves)
  if (about !== undefined) checkFunction(about, 'about')
  if (link !== undefined && !(link instanceof ProcessRef))
    throw badOption('link', 'the reference of a process', link)
}
