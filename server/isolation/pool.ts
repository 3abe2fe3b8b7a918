import type { Clock } from '../../runtime/time/clock.js'
import { crash, type ExitReason } from '../../runtime/base/exit.js'
import type { Deferred } from '../../runtime/process/program.js'
import { processOf, type RefOf } from '../../runtime/process/ref.js'
import { WaitingLine } from '../base/waiting-line.js'
import type { RequestFacts } from '../context/request-facts.js'
import { notLoadedInTime } from './errors.js'
import type { PoolSettings } from './options.js'
import type worker from './worker.js'

export type WorkerRef = RefOf<typeof worker>

/** A worker that is one call's for as long as it takes. */
export interface Lease {
  readonly id: number
  readonly worker: WorkerRef
}

/** A call that has a worker, or waits for one. */
export interface Order {
  readonly id: number
  readonly work: string
  readonly client: string
  readonly request: Pick<RequestFacts, 'params'>
  readonly reply: Deferred<Lease>
}

/** What a pool has done for it. */
export interface PoolHost {
  readonly clock: Clock
  /** Whether the server has no use for workers any more. */
  readonly isOver: boolean
  /** Starts a worker. */
  start(): Promise<WorkerRef>
  /** Puts into the log that a worker has ended. */
  report(reason: ExitReason, during: string): void
}

interface Worker {
  ref: WorkerRef | undefined
  /** A worker keeps its place until all of it is gone. */
  phase: 'starting' | 'idle' | 'busy' | 'ending'
  order: Order | undefined
  /** When it was given to a call last, as a number; 0: never. */
  used: number
  timer: unknown
}

/** Milliseconds that a handler has to end when its signal is aborted. */
const grace = 100
/** Milliseconds that loading modules ahead may take. */
const warmTime = 10_000
/** Milliseconds between starts after one that failed; doubled with each. */
const firstPause = 100
const longestPause = 10_000

/** The threads, or the processes, of one server. */
export class Pool {
  readonly #settings: PoolSettings
  readonly #host: PoolHost
  readonly #workers = new Set<Worker>()
  readonly #busy = new Map<number, Worker>()
  readonly #waiting: WaitingLine<Order>
  readonly #orders = new Map<number, Order>()
  #gifts = 0
  #failures = 0
  #pause: unknown
  /** Off once a worker could not load its modules ahead. */
  #warmsUp = true

  constructor(settings: PoolSettings, host: PoolHost) {
    this.#settings = settings
    this.#host = host
    this.#waiting = new WaitingLine(settings.maxWaiting, { bytes: 0 })
    if (settings.modules.length > 0) this.#fill()
  }

  /** In a few words: `threads: 2, 1 at work, 0 calls wait`. */
  get about(): string {
    const { size } = this.#workers
    const kind = this.#settings.kind === 'thread' ? 'threads' : 'processes'
    return `${kind}: ${size}, ${this.#count('busy')} at work, ${this.#waiting.size} calls wait`
  }

  /** Gives a worker, now or later; false when too many wait. */
  take(order: Order): boolean {
    const idle = this.#idle()
    if (idle !== undefined) this.#give(idle, order)
    else if (this.#waiting.add(order, order.request, order.client)) this.#orders.set(order.id, order)
    else return false
    this.#fill()
    return true
  }

  /** The call has its answer. */
  giveBack(id: number): void {
    const worker = this.#busy.get(id)
    if (worker === undefined || worker.phase !== 'busy' || this.#host.isOver) return
    this.#busy.delete(id)
    this.#failures = 0
    worker.order = undefined
    this.#next(worker)
  }

  /** Nobody waits for the call any more: it ends soon, or its worker does. */
  abandon(id: number): void {
    const order = this.#orders.get(id)
    if (order !== undefined) {
      this.#orders.delete(id)
      this.#waiting.delete(order, order.client)
      return
    }
    const worker = this.#busy.get(id)
    if (worker?.ref === undefined || worker.phase !== 'busy') return
    worker.ref.call('abort', id, { timeout: grace }).then(
      () => this.giveBack(id),
      () => this.#host.isOver || this.#kill(worker),
    )
  }

  /** Ends all workers, whatever they do. */
  stop(): void {
    for (const worker of this.#workers) this.#kill(worker)
  }

  /** The one that was used last: one call after another finds what the call before it left. */
  #idle(): Worker | undefined {
    let found: Worker | undefined
    for (const worker of this.#workers)
      if (worker.phase === 'idle' && (found === undefined || worker.used > found.used)) found = worker
    return found
  }

  #give(worker: Worker, order: Order): void {
    this.#stopTimer(worker)
    this.#gifts += 1
    worker.used = this.#gifts
    worker.phase = 'busy'
    worker.order = order
    this.#busy.set(order.id, worker)
    order.reply.resolve({ id: order.id, worker: worker.ref as WorkerRef })
  }

  #next(worker: Worker): void {
    const order = this.#waiting.take()
    if (order !== undefined) {
      this.#orders.delete(order.id)
      this.#give(worker, order)
      return this.#fill()
    }
    worker.phase = 'idle'
    if (this.#count('idle') <= this.#settings.spares) return
    worker.timer = this.#host.clock.setTimeout(() => this.#retire(worker), this.#settings.idleTimeout)
  }

  #retire(worker: Worker): void {
    if (worker.phase === 'idle' && this.#count('idle') > this.#settings.spares) this.#kill(worker)
  }

  /** Starts workers for the calls that wait, and the spares. */
  #fill(): void {
    if (this.#pause !== undefined || this.#host.isOver) return
    const { size, spares } = this.#settings
    const wanted = this.#waiting.size + spares - this.#count('starting') - this.#count('idle')
    for (let left = Math.min(wanted, size - this.#workers.size); left > 0; left -= 1) this.#start()
  }

  #start(): void {
    const worker: Worker = {
      ref: undefined,
      phase: 'starting',
      order: undefined,
      used: 0,
      timer: undefined,
    }
    this.#workers.add(worker)
    this.#host.start().then(
      (ref) => this.#started(worker, ref),
      (error) => this.#failed(worker, error),
    )
  }

  #started(worker: Worker, ref: WorkerRef): void {
    if (this.#host.isOver) return
    worker.ref = ref
    ref.onExit((reason) => this.#ended(worker, reason))
    if (worker.phase === 'ending') return ref.kill()
    if (!this.#warmsUp) return this.#next(worker)
    // nobody's call is to share the fate of another's module
    ref.call('warm', this.#settings.modules, { timeout: warmTime }).then(
      () => worker.phase === 'starting' && !this.#host.isOver && this.#next(worker),
      () => this.#host.isOver || this.#notWarmed(worker),
    )
  }

  /** A module ends what loads it (`#ended` tells of that), or does not come to an end. */
  #notWarmed(worker: Worker): void {
    this.#warmsUp = false
    if (worker.phase !== 'starting' || worker.ref?.alive !== true) return
    this.#host.report(crash(notLoadedInTime(this.#settings.modules, warmTime)), 'loading modules ahead')
    this.#kill(worker)
  }

  /** Calls that wait are told, if no other worker can take them. */
  #failed(worker: Worker, error: unknown): void {
    this.#workers.delete(worker)
    if (this.#host.isOver) return
    this.#rest()
    if ([...this.#workers].some(({ phase }) => phase !== 'ending')) return
    for (let order = this.#waiting.take(); order !== undefined; order = this.#waiting.take()) {
      this.#orders.delete(order.id)
      order.reply.reject(error)
    }
  }

  #ended(worker: Worker, reason: ExitReason): void {
    if (this.#host.isOver) return
    const { phase, order, ref } = worker
    worker.phase = 'ending'
    this.#stopTimer(worker)
    if (order !== undefined) this.#busy.delete(order.id)
    if (phase !== 'ending') this.#host.report(reason, order?.work ?? phase)
    if (phase === 'starting') this.#warmsUp = false
    else if (phase === 'idle') this.#rest()
    const gone = ref === undefined ? null : processOf(ref).released
    void Promise.resolve(gone).then(() => {
      this.#workers.delete(worker)
      this.#fill()
    })
  }

  /** Starts no worker for a while, longer with each failure. */
  #rest(): void {
    const ms = Math.min(longestPause, firstPause * 2 ** this.#failures)
    this.#failures += 1
    this.#pause ??= this.#host.clock.setTimeout(() => {
      this.#pause = undefined
      this.#fill()
    }, ms)
  }

  #kill(worker: Worker): void {
    this.#stopTimer(worker)
    worker.phase = 'ending'
    worker.ref?.kill()
  }

  #stopTimer(worker: Worker): void {
    if (worker.timer !== undefined) this.#host.clock.clearTimeout(worker.timer)
    worker.timer = undefined
  }

  #count(phase: Worker['phase']): number {
    let count = 0
    for (const worker of this.#workers) if (worker.phase === phase) count += 1
    return count
  }
}
