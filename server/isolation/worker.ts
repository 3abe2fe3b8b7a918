// What runs in the threads and processes of isolated handlers: one call at a time.
import { messageOf } from '../../runtime/base/errors.js'
import { handled } from '../../runtime/base/promise.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Deferred } from '../../runtime/process/program.js'
import type { RefOf } from '../../runtime/process/ref.js'
import { startTaskSupervisor, type TaskRef, type TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import { ToolContext } from '../context/context.js'
import { built } from '../results/builders.js'
import { BorderScope } from './border-scope.js'
import type { deskActor } from './desk.js'
import { badModule, crossingErrors, noHandler } from './errors.js'
import type { CallFacts } from './facts.js'

/** One call of a handler. */
export interface Job {
  /** The number of the lease. */
  readonly id: number
  readonly work: string
  readonly module: string
  readonly args: readonly unknown[]
  readonly facts: CallFacts
  readonly desk: RefOf<typeof deskActor>
}

type WorkerHandler = (...args: unknown[]) => unknown

/** The value of a call, and whether the next call is to have another worker. */
export interface CallOutcome {
  readonly value: unknown
  readonly isSpoilt: boolean
}

/** The handlers that were loaded, by module. */
class Handlers extends Map<string, WorkerHandler> {
  #prototype = prototypeNow()

  /** Whether a call has changed what all objects have: modules may, while they are loaded. */
  get areSpoilt(): boolean {
    const now = prototypeNow()
    return (
      now.length !== this.#prototype.length || now.some((field, at) => !Object.is(field, this.#prototype[at]))
    )
  }

  async warm(module: string): Promise<void> {
    // the first call that needs it reports what is wrong
    await import(module).catch(() => {})
    this.#prototype = prototypeNow()
  }

  async load(module: string): Promise<WorkerHandler> {
    const { default: handler } = await load(module)
    this.#prototype = prototypeNow()
    if (typeof handler !== 'function') throw noHandler(module, handler)
    this.set(module, handler as WorkerHandler)
    return handler as WorkerHandler
  }
}

/** The names on Object.prototype, and what they stand for. */
function prototypeNow(): readonly unknown[] {
  return Reflect.ownKeys(Object.prototype).flatMap((key) => {
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(Object.prototype, key) ?? {}
    return [key, value, get, set]
  })
}

class WorkerCall {
  readonly id: number
  readonly task: TaskRef<unknown>
  /** Resolves when the handler has ended, which may be later than its task. */
  readonly settled: Promise<unknown>
  #scope: BorderScope | undefined

  constructor(job: Job, { tasks, handlers }: { tasks: TaskSupervisor; handlers: Handlers }) {
    this.id = job.id
    let settle = (_settled: unknown): void => {}
    this.settled = new Promise((resolve) => (settle = resolve))
    const perform = (task: TaskContext): Promise<unknown> => {
      const result = this.#perform(job, handlers, task)
      settle(result.catch(() => {}))
      return result
    }
    this.task = tasks.start(perform, { name: job.work, report: false })
  }

  /** Whether nothing of it goes on, once its task has ended. */
  get isLeft(): boolean {
    return this.#scope?.isLeft === true
  }

  async #perform(job: Job, handlers: Handlers, task: TaskContext): Promise<unknown> {
    const { work, module, args, facts, desk } = job
    // awaited in any case: what a handler enters (AsyncLocalStorage) is to end with it
    const handler = await (handlers.get(module) ?? handlers.load(module))
    this.#scope = new BorderScope(work, facts, desk, task)
    return built(await handler(...args, new ToolContext(this.#scope)))
  }
}

const worker = defineActor({
  name: 'worker',
  stray: 'report',
  async init(_nothing: undefined, ctx) {
    const tasks = await startTaskSupervisor(ctx)
    return { tasks, handlers: new Handlers(), run: undefined as WorkerCall | undefined }
  },
  call: {
    /** Loads a module before it is needed. */
    warm: ({ handlers }, module: string, ctx): Deferred<void> => later(ctx, handlers.warm(module)),
    run(state, job: Job, ctx): Deferred<CallOutcome> {
      const { handlers } = state
      state.run = new WorkerCall(job, state)
      const outcome = state.run.task.result.then((value) => ({ value, isSpoilt: handlers.areSpoilt }))
      return later(ctx, outcome)
    },
    /** Ends a call; resolves when its handler has ended, with whether it has spoilt the worker. */
    abort({ run, handlers }, id: number, ctx): Deferred<boolean> {
      if (run?.id !== id) return later(ctx, Promise.resolve(handlers.areSpoilt))
      run.task.cancel()
      const ended = run.isLeft ? Promise.resolve() : run.settled
      return later(
        ctx,
        ended.then(() => handlers.areSpoilt),
      )
    },
  },
})

export { crossingErrors as errors, worker as default }

async function load(module: string): Promise<{ readonly default?: unknown }> {
  try {
    return (await import(module)) as { readonly default?: unknown }
  } catch (cause) {
    throw badModule(module, `it could not be imported: ${messageOf(cause)}`, cause)
  }
}

function later<T>(ctx: ActorContext, promise: Promise<T>): Deferred<T> {
  const reply = ctx.defer<T>()
  handled(promise).then(
    (value) => reply.resolve(value),
    (error) => reply.reject(error),
  )
  return reply
}
