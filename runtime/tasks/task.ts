import { exitedError } from '../process/call.js'
import { runIn } from '../faults/containment.js'
import type { WorkFacts } from '../faults/events.js'
import { ProcessContext } from '../process/context.js'
import { crash, type ExitReason, type ExitRequest, normal, shutdown } from '../base/exit.js'
import { link, Process } from '../process/process.js'
import { isPromise } from '../base/promise.js'
import { ProcessRef } from '../process/ref.js'
import type { Home } from '../process/start.js'
import type { Tree } from '../process/tree.js'

/** What a task's function may do; its signal aborts when the task ends. */
export class TaskContext extends ProcessContext {
  /** The reference of this task (OTP: self). */
  get self(): ProcessRef {
    return this.process.ref
  }
}

interface TaskFacts {
  readonly name: string
  readonly report: boolean
  readonly serves: unknown
  readonly about: (() => WorkFacts) | undefined
}

export class Task extends Process {
  readonly ref: ProcessRef
  readonly kind = 'task'
  /** Read by the watchdog, in the paused program. */
  serves: unknown
  readonly #report: boolean
  #about: (() => WorkFacts) | undefined
  #settle: ((settled: TaskEnd) => void) | null = null
  #sharer: Process | null = null

  constructor(tree: Tree, parent: Process, { name, report, serves, about }: TaskFacts) {
    super(tree, parent, name)
    this.ref = new ProcessRef(this)
    this.serves = serves
    this.#report = report
    this.#about = about
  }

  override get about(): WorkFacts | undefined {
    try {
      return this.#about?.()
    } catch {
      return undefined // its report goes out without
    }
  }

  protected get trapsExits(): boolean {
    return false
  }

  protected get strayPolicy(): 'crash' {
    return 'crash'
  }

  protected trapped(): void {}

  /** Links it with the process it works for, whose normal end is the task's end, too. */
  share(other: Process): void {
    this.#sharer = other
    link(this, other)
  }

  override signal(from: Process | null, request: ExitRequest): void {
    const isSharersEnd = request.type === 'normal' && from !== null && from === this.#sharer
    super.signal(from, isSharersEnd ? shutdown : request)
  }

  stopWith(reason: ExitReason): void {
    this.end(reason)
  }

  /** Runs `fn` at once in the task's scope; calls `settle` exactly once. */
  run(home: Home, fn: (ctx: TaskContext) => unknown, settle: (settled: TaskEnd) => void): void {
    // The linked process may have ended before.
    if (this.reason !== null) return settle(this.#ended(this.reason))
    this.#settle = settle
    try {
      const result = runIn(this.token, fn, new TaskContext(this, home), null)
      if (isPromise(result))
        result.then(
          (value) => this.#done(value),
          (error) => this.#threw(error),
        )
      else this.#done(result)
    } catch (error) {
      this.#threw(error)
    }
  }

  protected onEnd(reason: ExitReason): void {
    const settle = this.#settle
    this.#settle = null
    // References may be kept for long after the end.
    this.serves = this.#about = undefined
    if (settle !== null) settle(this.#ended(reason))
  }

  #done(value: unknown): void {
    const settle = this.#settle
    if (this.reason !== null || settle === null) return
    this.#settle = null
    settle({ type: 'value', value })
    this.end(normal)
  }

  #threw(error: unknown): void {
    if (this.reason !== null) return
    if (this.#report) this.reportCrash(crash(error), 'task')
    this.end(crash(error))
  }

  #ended(reason: ExitReason): TaskEnd {
    return {
      type: 'ended',
      error: reason.type === 'crash' ? reason.error : exitedError('EXITED', this.name, 'result', reason),
    }
  }
}

export type TaskEnd =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'ended'; readonly error: unknown }
