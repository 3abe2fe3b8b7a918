import { McpError } from '../../protocol/wire/errors.js'
import { crash } from '../../runtime/base/exit.js'
import { defineActor, type Down } from '../../runtime/process/behaviour.js'
import type { Actor } from '../../runtime/process/actor.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Monitor } from '../../runtime/process/process.js'
import type { Deferred } from '../../runtime/process/program.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import { describe } from '../../runtime/watch/inspect.js'
import { definePeer } from '../../runtime/peers/peer.js'
import { tooManyRequests } from '../base/errors.js'
import type { IsolatedHandler } from '../context/isolated.js'
import { crossingErrors } from './errors.js'
import { type IsolationSettings, type PoolSettings, workerModule } from './options.js'
import { type WorkerLease, type Order, Pool, type PoolHost, type WorkerRef } from './pool.js'
import type worker from './worker.js'

/** What a call says that wants a worker. */
export interface Wanted extends Pick<Order, 'work' | 'module' | 'client' | 'request'> {
  readonly kind: IsolatedHandler['kind']
  /** Whose end is the end of the call. */
  readonly task: ProcessRef
}

interface GivenBack {
  readonly id: number
  /** False after an error: a stray one ends the call while its handler goes on. */
  readonly isDone: boolean
  /** The next call is to have another worker. */
  readonly isSpoilt: boolean
}

/** The threads and processes of one server. It runs no handler, and touches no value of one. */
export const poolActor = defineActor({
  name: 'isolation',
  trapExit: true,
  stray: 'report',
  init: (settings: IsolationSettings, ctx) => new Pools(settings, ctx),
  call: {
    lease: (pools, wanted: Wanted, ctx): Deferred<WorkerLease> => pools.lease(wanted, ctx),
  },
  cast: {
    giveBack: (pools, given: GivenBack, ctx) => pools.giveBack(given, ctx),
  },
  info: {
    down: (pools, { monitor }: Down) => pools.abandon(monitor),
    exit() {},
  },
  terminate: (pools) => pools.stop(),
})

class Pools {
  readonly #pools: Readonly<Record<IsolatedHandler['kind'], Pool>>
  readonly #calls = new Map<number, { readonly pool: Pool; readonly monitor: Monitor }>()
  readonly #watched = new Map<Monitor, number>()
  #last = 0

  constructor(settings: IsolationSettings, ctx: ActorContext) {
    const pool = (kind: IsolatedHandler['kind']) => new Pool(settings[kind], hostOf(settings[kind], ctx))
    this.#pools = { thread: pool('thread'), process: pool('process') }
  }

  [describe](): string {
    return Object.values(this.#pools)
      .map(({ about }) => about)
      .join('; ')
  }

  lease({ kind, task, ...wanted }: Wanted, ctx: ActorContext): Deferred<WorkerLease> {
    this.#last += 1
    const id = this.#last
    const pool = this.#pools[kind]
    const reply = ctx.defer<WorkerLease>()
    if (!pool.take({ ...wanted, id, reply })) {
      reply.reject(noRoom(wanted.work))
      return reply
    }
    const monitor = ctx.monitor(task)
    this.#calls.set(id, { pool, monitor })
    this.#watched.set(monitor, id)
    return reply
  }

  giveBack({ id, isDone, isSpoilt }: GivenBack, ctx: ActorContext): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    ctx.demonitor(call.monitor)
    this.#forget(id, call.monitor)
    if (isDone) call.pool.giveBack(id, isSpoilt)
    else call.pool.abandon(id)
  }

  abandon(monitor: Monitor): void {
    const id = this.#watched.get(monitor)
    const call = id === undefined ? undefined : this.#calls.get(id)
    if (id === undefined || call === undefined) return
    this.#forget(id, monitor)
    call.pool.abandon(id)
  }

  stop(): void {
    for (const pool of Object.values(this.#pools)) pool.stop()
  }

  #forget(id: number, monitor: Monitor): void {
    this.#calls.delete(id)
    this.#watched.delete(monitor)
  }
}

function hostOf({ kind, memory, maxResultBytes }: PoolSettings, ctx: ActorContext): PoolHost {
  const behaviour = definePeer<typeof worker>({
    kind,
    module: workerModule,
    name: `${kind} of handlers`,
    errors: crossingErrors,
    memory,
    maxMessageBytes: maxResultBytes,
    // what bounds a handler is the time of its call
    blockedTimeout: Number.POSITIVE_INFINITY,
  })
  return {
    clock: ctx.clock,
    get isOver() {
      const { reason, phase } = processOf(ctx.self) as Actor
      return reason !== null || phase === 'stopping'
    },
    start: () => ctx.start(behaviour, undefined, { startTimeout: 30_000 }) as Promise<WorkerRef>,
    report: (reason, during) =>
      processOf(ctx.self).reportCrash(reason.type === 'crash' ? reason : crash(errorOf(reason)), during),
  }
}

function errorOf(reason: object): unknown {
  return 'error' in reason ? reason.error : new Error(`a worker ended: ${JSON.stringify(reason)}`)
}

function noRoom(work: string): McpError {
  const problem = `${work}: too many calls wait for a thread or process: try again later`
  return new McpError(tooManyRequests, problem, { data: { retryable: true }, retryable: true })
}
