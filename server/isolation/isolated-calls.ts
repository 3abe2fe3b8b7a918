import { callerOf } from '../../transports/contract/caller.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { RequestScope } from '../context/context.js'
import type { Isolation, IsolatedHandler } from '../context/isolated.js'
import { deskActor } from './desk.js'
import { endedError, notCopied } from './errors.js'
import { factsOfCall } from './facts.js'
import type { WorkerLease } from './pool.js'
import type { poolActor } from './pool-actor.js'

type PoolRef = RefOf<typeof poolActor>

/** Calls of isolated handlers, in the tasks of their requests. */
export class IsolatedCalls implements Isolation {
  readonly #registry: Registry
  readonly #pool: string

  /** `pool` is the name of the pool's actor. */
  constructor(registry: Registry, pool: string) {
    this.#registry = registry
    this.#pool = pool
  }

  async run(handler: IsolatedHandler, args: readonly unknown[], scope: RequestScope): Promise<unknown> {
    const { work, task, request } = scope
    const pool = this.#registry.whereis(this.#pool) as PoolRef | undefined
    if (pool === undefined) throw notBegun()
    const desk = await task.start(deskActor, scope)
    const wanted = {
      kind: handler.kind,
      module: handler.module,
      task: task.self,
      work,
      client: callerOf(scope.peer, scope.session.id),
      request,
    }
    const lease = await pool.call('lease', wanted, forever).catch(poolEnded)
    let how = { isDone: false, isSpoilt: false }
    try {
      const job = { id: lease.id, work, module: handler.module, args, facts: factsOfCall(scope), desk }
      const { value, isSpoilt } = await lease.worker.call('run', job, forever)
      how = { isDone: true, isSpoilt }
      return value
    } catch (error) {
      throw failure(error, work, handler, lease)
    } finally {
      pool.cast('giveBack', { id: lease.id, ...how })
      // the answer does not overtake what the handler has told: on a busy machine that still waits for its turn
      await desk.call('heard', undefined, forever).catch(deskEnded)
    }
  }
}

function failure(error: unknown, work: string, handler: IsolatedHandler, { worker }: WorkerLease): unknown {
  if (!(error instanceof RuntimeError)) return error
  if (!worker.alive) return endedError(work, handler, worker.reason, error.code !== 'NOPROC')
  return error.code === 'NOT_CLONEABLE' ? notCopied(work, handler, error) : error
}

/** The pool starts again: a call that waited for a worker may be made once more. */
function poolEnded(error: unknown): never {
  if (error instanceof RuntimeError && ['NOPROC', 'EXITED'].includes(error.code)) throw notBegun()
  throw error
}

/** The call is over: nobody hears of it any more. */
function deskEnded(error: unknown): void {
  if (!(error instanceof RuntimeError)) throw error
}

function notBegun(): McpError {
  const problem = 'Internal error: the handlers of the server start again: try once more'
  return new McpError(errorCodes.internalError, problem, { data: { retryable: true } })
}
