import type { Actor } from '../process/actor.js'
import { checkMs } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { RuntimeError, optionError } from '../base/errors.js'
import { formatReason } from '../base/exit.js'
import { checkFunction } from '../base/check.js'
import { handled } from '../base/promise.js'
import { fence, type ProcessRef, processOf } from '../process/process.js'

/** A message before (`in`) or after (`out`) it is handled. */
export interface TraceEvent {
  readonly what: 'in' | 'out'
  /** `call`, `cast`, `info`, or `system` for stops and continuations. */
  readonly kind: string
  readonly name: string
  readonly input: unknown
}

/** What an actor is doing, without its state being read. */
export interface ActorStatus {
  readonly name: string
  readonly phase: string
  readonly mailbox: number
  /** The result of `formatStatus`; undefined without one. */
  readonly status: unknown
}

/** What an actor has counted. */
export interface Statistics {
  /** Milliseconds since counting began. */
  readonly forMs: number
  readonly messagesIn: number
  readonly messagesOut: number
}

/**
 * Reads an actor's state between two messages, for debugging (OTP: sys:get_state). Resolves with what `fn`
 * returns, by default the state itself: no copy, so neither keep nor change it. Rejects with what `fn`
 * throws, NOPROC, EXITED, BAD_OPTION, or TIMEOUT after `timeout` ms (default 5000).
 */
export function getState<T = unknown>(
  ref: ProcessRef,
  fn: (state: unknown) => T = (state) => state as T,
  timeout = 5_000,
): Promise<T> {
  const read = (actor: Actor): T => fn(actor.state)
  return handled(between(() => looked(ref, fn), read, timeout))
}

/**
 * Replaces an actor's state between two messages (OTP: sys:replace_state). If `fn` throws, the old state
 * stays. Rejects as `getState` does, and with ACTOR_DEAD when a dead incarnation asks.
 */
export function replaceState<State>(
  ref: ProcessRef,
  fn: (state: State) => State,
  timeout = 5_000,
): Promise<State> {
  const replace = (actor: Actor): State => {
    const next = fn(actor.state as State)
    actor.state = next
    return next
  }
  return handled(between(() => changed(looked(ref, fn)), replace, timeout))
}

/**
 * Suspends an actor except for stop, kill and looks (OTP: sys:suspend). What was asked of it before is met
 * first: after a `stop` it does nothing. Throws NOPROC, BAD_OPTION, ACTOR_DEAD.
 */
export function suspend(ref: ProcessRef): void {
  changed(living(ref)).suspend(true)
}

/** Resumes a suspended actor (OTP: sys:resume). Throws as `suspend` does. */
export function resume(ref: ProcessRef): void {
  changed(living(ref)).suspend(false)
}

/** Shows the state only through `formatStatus` (OTP: sys:get_status). Throws NOPROC, BAD_OPTION. */
export function getStatus(ref: ProcessRef): ActorStatus {
  const { name, phase, backlog, status } = living(ref)
  return { name, phase, mailbox: backlog, status }
}

/**
 * Calls `fn` for each message of an actor until the returned function is called (OTP: sys:trace). `fn` delays
 * the actor: keep it short. Its errors are reported without an owner. Throws as `suspend` does.
 */
export function trace(ref: ProcessRef, fn: (event: TraceEvent) => void): () => void {
  checkFunction(fn, 'trace')
  const extras = changed(living(ref)).actorExtras()
  const { world } = processOf(ref).tree
  const observer = (what: 'in' | 'out', kind: string, name: string, input: unknown): void => {
    try {
      fn({ what, kind, name, input })
    } catch (error) {
      // Thrown in a turn of its own, where no actor is the owner.
      world.setImmediate(() => {
        throw error
      })
    }
  }
  extras.observers ??= new Set()
  extras.observers.add(observer)
  return () => {
    if (extras.observers?.delete(observer) && extras.observers.size === 0) extras.observers = null
  }
}

/**
 * Counts an actor's messages from now on (OTP: sys:statistics). The returned function reads the counters; its
 * `stop` ends counting. Throws as `suspend` does.
 */
export function statistics(ref: ProcessRef): { (): Statistics; stop(): void } {
  const { clock } = processOf(ref).tree
  const start = clock.now()
  const counts = { in: 0, out: 0 }
  const stop = trace(ref, ({ what }) => {
    counts[what] += 1
  })
  const read = (): Statistics => ({
    forMs: clock.now() - start,
    messagesIn: counts.in,
    messagesOut: counts.out,
  })
  return Object.assign(read, { stop })
}

async function between<T>(find: () => Actor, fn: (actor: Actor) => T, timeout: number): Promise<T> {
  checkMs(timeout, 'timeout')
  const actor = find()
  const { ref } = actor
  const late = (): never => {
    const message = `${ref.name}: not between two messages within ${timeout} ms`
    throw new RuntimeError('TIMEOUT', message, { retryable: true })
  }
  return waitWithin<T>({ clock: actor.tree.clock, ms: timeout, late }, (resolve, reject) => {
    const unwatch = ref.onExit((reason) => {
      const message = `${ref.name} ended first (${formatReason(reason)})`
      reject(new RuntimeError('EXITED', message, { data: { reason } }))
    })
    const run = (): void => {
      try {
        resolve(fn(actor))
      } catch (error) {
        reject(error)
      }
    }
    if (actor.idle) run()
    else actor.request('continue', run)
    return unwatch
  })
}

function looked(ref: ProcessRef, fn: unknown): Actor {
  checkFunction(fn, 'fn')
  return living(ref)
}

function changed(actor: Actor): Actor {
  fence(actor)
  return actor
}

function living(ref: ProcessRef): Actor {
  const process = processOf(ref)
  if (process.kind === 'task')
    throw optionError('ref', `${ref.name}: expected an actor or a supervisor, got a task`)
  if (process.reason !== null)
    throw new RuntimeError('NOPROC', `${ref.name} has ended (${formatReason(process.reason)})`)
  return process as Actor
}
