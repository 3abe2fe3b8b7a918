import type { Actor } from '../process/actor.js'
import type { ExitReason } from '../base/exit.js'
import { type ActorRef, callActor, forever, type ProcessRef, processOf } from '../process/ref.js'

/** One child as `children()` lists it. */
export interface ChildInfo {
  readonly id: string
  readonly ref: ProcessRef | undefined
  readonly status: 'running' | 'restarting' | 'stopped'
  readonly type: 'worker' | 'supervisor'
  readonly restarts: number
}

/** How many children there are, by kind: `supervisors` and `workers` count specs, alive or not. */
export interface ChildCount {
  readonly specs: number
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/** What can be asked of a supervisor of either kind while it runs; a handle stands for one incarnation. */
export abstract class SupervisorHandle {
  /** The supervisor as a process: to monitor, link or kill it. */
  readonly ref: ActorRef

  constructor(ref: ActorRef) {
    this.ref = ref
  }

  /** The children: those of a supervisor newest first, those of a dynamic one in no particular order. */
  children(): Promise<ChildInfo[]> {
    return this.request('children')
  }

  /** How many children there are. */
  count(): Promise<ChildCount> {
    return this.request('count')
  }

  /** Stops the children, and then the supervisor itself. Resolves with the reason it ended with. */
  stop(timeout = Number.POSITIVE_INFINITY): Promise<ExitReason> {
    return this.ref.stop({ type: 'shutdown' }, timeout)
  }

  /** Calls `fn` once when the supervisor has ended: stopped, killed, or given up. */
  onExit(fn: (reason: ExitReason) => void): () => void {
    return this.ref.onExit(fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ref.alive) await this.stop()
  }

  /**
   * A request is bounded by the children's own start and shutdown limits, and fails if the supervisor ends.
   */
  protected request<Answer>(name: string, input?: unknown): Promise<Answer> {
    return callActor(processOf(this.ref) as Actor, name, input, forever) as Promise<Answer>
  }
}
