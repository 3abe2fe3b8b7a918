import { type Behaviour, behaviourOf } from './behaviour.js'
import { type ChildOverrides, type ChildSpec, childSpec } from './child-spec.js'
import type { ActorContext } from './context.js'
import { RuntimeError, show } from './errors.js'
import { kill, shutdown } from './exit.js'
import { link, type Process } from './process.js'
import { type ActorRef, type ProcessRef, processOf } from './ref.js'
import { Task, type TaskContext } from './task.js'

/** What a task supervisor is made of. */
export interface TaskSupervisorOptions {
  /** Shown in trees, reports and errors. Default `task_supervisor`. */
  name?: string
  /** Tasks at once; more are refused with MAX_CHILDREN. Default Infinity. */
  maxChildren?: number
}

/** How one task is started. */
export interface TaskOptions {
  /** Shown in trees and reports. Default `task`. */
  name?: string
  /** A process that shares the task's fate: it crashes with the task, unless it traps exits, and the task ends with it. */
  link?: ProcessRef
  /** Milliseconds the task may take before it is killed. Default: no limit. */
  timeout?: number
  /** Whether an error thrown by the function is reported as a crash. Default true. */
  report?: boolean
}

/** A running task. */
export interface TaskRef<T> {
  readonly ref: ProcessRef
  /**
   * The function's value. Rejects with what the function threw, or with EXITED when the task was ended (`data.reason`). A rejection
   * that nobody awaits is never fatal.
   */
  readonly result: Promise<T>
  /** Ends the task: its signal aborts, what it owns is released, what it still does has no effect. */
  cancel(): void
}

/** Runs functions as supervised processes that are never restarted (Elixir: Task.Supervisor). */
export class TaskSupervisor {
  /** The supervisor as a process. */
  readonly ref: ActorRef
  readonly #maxChildren: number
  readonly #process: Process

  constructor(ref: ActorRef, maxChildren: number) {
    this.ref = ref
    this.#maxChildren = maxChildren
    this.#process = processOf(ref)
  }

  /** How many tasks run. */
  get running(): number {
    return this.#process.links?.size ?? 0
  }

  /** Runs `fn` at once as a task. Throws MAX_CHILDREN, or NOPROC when the supervisor has ended. */
  start<T>(fn: (ctx: TaskContext) => T | Promise<T>, options: TaskOptions = {}): TaskRef<T> {
    const { name = 'task', timeout = Number.POSITIVE_INFINITY, report = true } = options
    const supervisor = this.#process
    if (supervisor.reason !== null) throw new RuntimeError('NOPROC', `${this.ref.name} has ended`, { retryable: true })
    if (this.running >= this.#maxChildren) {
      throw new RuntimeError('MAX_CHILDREN', `${this.ref.name}: ${this.running} tasks are running already`, { retryable: true, data: { maxChildren: this.#maxChildren } })
    }
    const task = new Task(supervisor.tree, supervisor, name, report)
    if (options.link !== undefined) link(task, processOf(options.link))
    const result = new Promise<T>((resolve, reject) => {
      const { clock } = supervisor.tree
      const timer = Number.isFinite(timeout) ? clock.setTimeout(() => task.signal(null, kill), timeout) : undefined
      task.run(fn, (end) => {
        if (timer !== undefined) clock.clearTimeout(timer)
        if (end.type === 'value') resolve(end.value as T)
        else reject(end.error)
      })
    })
    result.catch(() => {})
    return { ref: task.ref, result, cancel: () => task.signal(null, shutdown) }
  }
}

/** The child spec of a task supervisor; its start hands out the TaskSupervisor as `extra`. Throws BAD_OPTION. */
export function taskSupervisorSpec(options: TaskSupervisorOptions = {}, overrides: ChildOverrides = {}): ChildSpec {
  const { maxChildren = Number.POSITIVE_INFINITY } = options
  const spec = childSpec(taskSupervisorBehaviour(options) as Behaviour<unknown, undefined>, undefined, overrides)
  return {
    ...spec,
    async start(ctx) {
      const ref = (await spec.start(ctx)) as ActorRef
      return { ref, extra: new TaskSupervisor(ref, maxChildren) }
    },
  }
}

/** Starts a task supervisor as a linked child of the actor that asks. Rejects with BAD_OPTION. */
export async function startTaskSupervisor(ctx: ActorContext, options: TaskSupervisorOptions = {}): Promise<TaskSupervisor> {
  const { maxChildren = Number.POSITIVE_INFINITY } = options
  return new TaskSupervisor(await ctx.start(taskSupervisorBehaviour(options) as Behaviour<unknown, undefined>), maxChildren)
}

function taskSupervisorBehaviour({ name = 'task_supervisor', maxChildren = Number.POSITIVE_INFINITY }: TaskSupervisorOptions) {
  if (typeof name !== 'string' || name === '') throw new RuntimeError('BAD_OPTION', `name: expected a non-empty string, got ${show(name)}`)
  if (!(typeof maxChildren === 'number' && maxChildren >= 0)) throw new RuntimeError('BAD_OPTION', `maxChildren: expected a number of 0 or more, got ${show(maxChildren)}`)
  return behaviourOf({ name, trapExit: true, stray: 'report', init: () => ({}) }, 'supervisor')
}
