import { backoff } from '../../runtime/time/backoff.js'
import type { Clock } from '../../runtime/time/clock.js'
import { crash, type ExitReason } from '../../runtime/base/exit.js'
import type { Deferred } from '../../runtime/process/program.js'
import { processOf, type RefOf } from '../../runtime/process/ref.js'
import { Places } from '../../transports/base/places.js'
import { WaitingLine } from '../base/waiting-line.js'
import type { RequestFacts } from '../context/request-facts.js'
import { notLoadedInTime } from './errors.js'
import type { PoolSettings } from './options.js'
import type worker from './worker.js'

export type WorkerRef = RefOf<typeof worker>

/** A worker that is one call's for as long as it takes. */
export interface WorkerLease {
  readonly id: number
  readonly worker: WorkerRef
}

/** A call that has a worker, or waits for one. */
export interface Order {
  readonly id: number
  readonly work: string
  /** Of its handler. */
  readonly module: string
  readonly client: string
  readonly request: Pick<RequestFacts, 'params'>
  readonly reply: Deferred<WorkerLease>
}

/** What a pool has done for it. */
export interface PoolHost {
  readonly clock: Clock
  /** Whether the server has no use for workers any more. */
  readonly isOver: boolean
  start(): Promise<WorkerRef>
  /** Puts into the log that a worker has ended. */
  report(reason: ExitReason, during: string): void
}

interface Worker {
  ref: WorkerRef | undefined
  /** A worker keeps its place until all of it is gone. */
  phase: 'starting' | 'warming' | 'idle' | 'busy' | 'ending'
  order: Order | undefined
  /** The modules that it has loaded, or tried to. */
  readonly loaded: Set<string>
  /** The module that it loads ahead, while it is `warming`. */
  loading: string | undefined
  /** Whether that has taken long. */
  isSlow: boolean
  /** When it was given to a call last, as a number; 0: never. */
  used: number
  timer: unknown
}

/** Milliseconds that a handler has to end when its signal is aborted. */
const grace = 100
/** Milliseconds that loading one module ahead may take. */
const warmTime = 10_000
/** Milliseconds after which it is given up where calls of other modules have no other worker. */
const slowTime = 1_000
/** Milliseconds between starts after one that failed; doubled with each. */
const pauses = { first: 100, longest: 10_000 }

/** The threads, or the processes, of one server. */
export class Pool {
  readonly #settings: PoolSettings
  readonly #host: PoolHost
  readonly #workers = new Set<Worker>()
  readonly #busy = new Map<number, Worker>()
  readonly #places: Places
  readonly #waiting: WaitingLine<Order>
  readonly #orders = new Map<number, Order>()
  #gifts = 0
  #failures = 0
  #pause: unknown
  /** Modules that came to an end when they were loaded ahead. */
  readonly #proven = new Set<string>()
  /** Modules that did not, and are loaded by their own calls. */
  readonly #skipped = new Set<string>()

  constructor(settings: PoolSettings, host: PoolHost) {
    this.#settings = settings
    this.#host = host
    this.#places = new Places(settings.size)
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
    const idle = this.#mayGo(order.client) ? this.#idle(order.module) : undefined
    if (idle !== undefined) this.#give(idle, order)
    else if (this.#waiting.add(order, order.request, order.client)) this.#orders.set(order.id, order)
    else return false
    this.#fill()
    return true
  }

  /** The call has its answer. */
  giveBack(id: number, isSpoilt: boolean): void {
    const worker = this.#busy.get(id)
    if (worker === undefined || worker.phase !== 'busy' || this.#host.isOver) return
    this.#failures = 0
    this.#release(worker)
    if (isSpoilt) this.#kill(worker)
    else this.#next(worker)
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
      (isSpoilt) => this.giveBack(id, isSpoilt),
      () => this.#host.isOver || this.#kill(worker),
    )
  }

  /** Ends all workers, whatever they do. */
  stop(): void {
    for (const worker of this.#workers) this.#kill(worker)
  }

  /**
   * One that has the module; of these, the one that was used last: one call after another finds what the call
   * before it left.
   */
  #idle(module: string): Worker | undefined {
    const idle = [...this.#workers].filter(({ phase }) => phase === 'idle')
    const ready = idle.filter(({ loaded }) => loaded.has(module))
    return (ready.length > 0 ? ready : idle).sort((a, b) => b.used - a.used)[0]
  }

  #give(worker: Worker, order: Order): void {
    this.#stopTimer(worker)
    this.#gifts += 1
    worker.used = this.#gifts
    worker.phase = 'busy'
    worker.order = order
    worker.loaded.add(order.module)
    this.#busy.set(order.id, worker)
    this.#places.take(order.client)
    order.reply.resolve({ id: order.id, worker: worker.ref as WorkerRef })
  }

  /** Its call is over. */
  #release(worker: Worker): void {
    const { order } = worker
    if (order === undefined) return
    worker.order = undefined
    this.#busy.delete(order.id)
    this.#places.giveBack(order.client)
  }

  #mayGo(client: string): boolean {
    return !this.#places.hasItsShare(client)
  }

  #next(worker: Worker): void {
    const order = this.#waiting.take(
      ({ module }) => worker.loaded.has(module) || !this.#isTried(module),
      (client) => this.#mayGo(client),
    )
    if (order !== undefined) {
      this.#orders.delete(order.id)
      this.#give(worker, order)
      return this.#fill()
    }
    const module = this.#settings.modules.find((one) => this.#isToWarm(worker, one))
    if (module !== undefined) return this.#warm(worker, module)
    worker.phase = 'idle'
    if (this.#count('idle') <= this.#settings.spares) return
    worker.timer = this.#host.clock.setTimeout(() => this.#retire(worker), this.#settings.idleTimeout)
  }

  #retire(worker: Worker): void {
    if (worker.phase === 'idle' && this.#count('idle') > this.#settings.spares) this.#kill(worker)
  }

  /**
   * Starts workers for the calls that wait, and the spares. A module that is slow to load holds up only its
   * own.
   */
  #fill(): void {
    if (this.#pause !== undefined || this.#host.isOver) return
    const { size, spares } = this.#settings
    const coming = this.#count('starting') + this.#count('idle')
    const held = [...this.#orders.values()].filter(
      ({ module, client }) => !this.#isTried(module) && this.#mayGo(client),
    ).length
    // a worker would have nothing to do for those of callers that have their share
    const able = this.#waiting.countAble((client) => this.#places.leftOf(client))
    const wanted = Math.max(held, able + spares - this.#count('warming')) - coming
    const room = size - this.#workers.size
    for (let left = Math.min(wanted, room); left > 0; left -= 1) this.#start()
    if (held > 0 && coming === 0 && room <= 0) this.#stopSlow()
  }

  #stopSlow(): void {
    for (const worker of this.#workers) {
      const { phase, isSlow, loading } = worker
      if (phase !== 'warming' || !isSlow || loading === undefined) continue
      return this.#giveUp(worker, loading, slowTime)
    }
  }

  /** Its calls load it from now on. */
  #giveUp(worker: Worker, module: string, ms: number): void {
    this.#skipped.add(module)
    this.#host.report(crash(notLoadedInTime(module, ms)), 'loading a module ahead')
    this.#kill(worker)
  }

  /** Calls that waited for a module that was loaded ahead are anybody's now. */
  #offer(): void {
    for (const worker of this.#workers) {
      if (worker.phase !== 'idle' || this.#waiting.size === 0) continue
      this.#stopTimer(worker)
      this.#next(worker)
    }
    this.#fill()
  }

  /** Whether a worker loads it ahead right now: its calls wait for that one. */
  #isTried(module: string): boolean {
    for (const { phase, loading } of this.#workers) if (phase === 'warming' && loading === module) return true
    return false
  }

  #isToWarm({ loaded }: Worker, module: string): boolean {
    if (loaded.has(module) || this.#skipped.has(module)) return false
    return this.#proven.has(module) || !this.#isTried(module)
  }

  #start(): void {
    const worker: Worker = {
      ref: undefined,
      phase: 'starting',
      order: undefined,
      loaded: new Set(),
      loading: undefined,
      isSlow: false,
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
    this.#next(worker)
  }

  /** Loads modules one after the other, between calls: a bad module must not break calls of others. */
  #warm(worker: Worker, module: string): void {
    worker.phase = 'warming'
    worker.loading = module
    worker.loaded.add(module)
    worker.timer = this.#host.clock.setTimeout(() => {
      worker.isSlow = true
      this.#fill()
    }, slowTime)
    const isAtIt = (): boolean =>
      worker.phase === 'warming' && worker.loading === module && !this.#host.isOver
    worker.ref?.call('warm', module, { timeout: warmTime }).then(
      () => isAtIt() && this.#warmed(worker, module),
      () => isAtIt() && this.#notWarmed(worker, module),
    )
  }

  #warmed(worker: Worker, module: string): void {
    this.#stopTimer(worker)
    this.#proven.add(module)
    worker.loading = undefined
    worker.isSlow = false
    this.#next(worker)
    this.#offer()
  }

  /** A module ends what loads it (`#ended` tells of that), or does not come to an end. */
  #notWarmed(worker: Worker, module: string): void {
    if (worker.ref?.alive === true) this.#giveUp(worker, module, warmTime)
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
    const { phase, order, ref, loading } = worker
    this.#release(worker)
    worker.phase = 'ending'
    this.#stopTimer(worker)
    if (phase === 'warming' && loading !== undefined) this.#skipped.add(loading)
    if (phase !== 'ending') this.#host.report(reason, order?.work ?? phase)
    if (phase === 'idle') this.#rest()
    this.#offer()
    const gone = ref === undefined ? null : processOf(ref).released
    void Promise.resolve(gone).then(() => {
      this.#workers.delete(worker)
      this.#fill()
    })
  }

  /** Starts no worker for a while, longer with each failure. */
  #rest(): void {
    const ms = backoff(pauses, this.#failures)
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
