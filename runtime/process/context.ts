import { setMaxListeners } from 'node:events'
import { badOption, checkFunction } from '../base/check.js'
import { RuntimeError } from '../base/errors.js'
import { checkReason, checkRequest, type ExitReason, type ExitRequest, noproc, normal } from '../base/exit.js'
import { bindTo, guard } from '../faults/containment.js'
import type { Clock } from '../time/clock.js'
import type { Actor } from './actor.js'
import { type Owned, releaseOf } from './owned.js'
import {
  abortReason,
  link,
  Monitor,
  monitor,
  type Process,
  type ProcessRef,
  processOf,
  unlink,
} from './process.js'
import type { Deferred, Messages, Program } from './program.js'
import type { ActorRef } from './ref.js'
import type { Registry } from './registry.js'
import { type Home, type StartArgs, startProcess } from './start.js'
import { idleAfter, TimerRef } from './timers.js'

/**
 * What a process may do, bound to one incarnation. After its end every method throws ACTOR_DEAD: a handler
 * that still runs unwinds at its next step.
 */
export class ProcessContext {
  /** The process itself; for the runtime. */
  protected readonly process: Process
  readonly #home: Home

  constructor(process: Process, home: Home) {
    this.process = process
    this.#home = home
  }

  /** What its tree shares; for the runtime itself. */
  static homeOf(ctx: ProcessContext): Home {
    return ctx.#home
  }

  /**
   * Aborted when this process ends, whatever way; code that outlives it may still look, and pass an aborted
   * one on.
   */
  get signal(): AbortSignal {
    const { name, reason } = this.process
    if (reason !== null) return AbortSignal.abort(abortReason(name, reason))
    const { own } = this.process
    own.controller ??= newController()
    return own.controller.signal
  }

  /** The names of this tree. */
  get registry(): Registry {
    return this.#home.registry
  }

  /**
   * Makes this process the owner of a resource: released when it ends, newest first, before a successor
   * starts.
   */
  own<Resource extends Owned>(resource: Resource): Resource {
    const release = releaseOf(resource)
    // Opened by a handler whose process died meanwhile, it would be nobody's: it is released at once.
    if (this.process.reason !== null) void this.process.release([release])
    this.alive().own.owned.push(release)
    return resource
  }

  /**
   * Carries this process's scope into a callback that others will call, such as a listener on a shared
   * emitter. Throws BAD_OPTION.
   */
  bind<Args extends unknown[], R>(fn: (...args: Args) => R): (...args: Args) => R | undefined {
    checkFunction(fn, 'bind')
    return bindTo(this.alive().token, fn)
  }

  /**
   * The clock of the tree, bound to this process: its timers die with it, and a throw in one is this
   * process's crash.
   */
  get clock(): Clock {
    return boundClock(this.alive())
  }

  /** Links with another process: if one crashes, so does the other, unless it traps exits (OTP: link). */
  link(other: ProcessRef): void {
    link(this.alive(), processOf(other))
  }

  /** Takes a link away. */
  unlink(other: ProcessRef): void {
    unlink(this.alive(), processOf(other))
  }

  /** Sends an exit signal to another process, or to itself (OTP: exit/2). */
  exit(other: ProcessRef, request: ExitRequest): void {
    checkRequest(request, 'exit')
    processOf(other).signal(this.alive(), request)
  }

  /**
   * Starts an actor as a linked child (OTP: start_link): it ends when this one does. Rejects as `startActor`
   * does.
   */
  start<State, Input, Calls extends Messages, Casts extends Messages>(
    behaviour: Program<State, Input, Calls, Casts>,
    ...args: StartArgs<Input>
  ): Promise<ActorRef<Calls, Casts>> {
    const [input, options] = args
    const started = startProcess(this.#home, this.alive(), behaviour, input, options)
    return started as Promise<ActorRef<Calls, Casts>>
  }

  /** The process, if it still lives. */
  protected alive(): Process {
    const { process } = this
    if (process.reason === null) return process
    process.tree.afterlife.refused += 1
    throw new RuntimeError(
      'ACTOR_DEAD',
      `${process.name} has ended (${process.reason.type}): this is a dead incarnation of it`,
    )
  }
}

/** What an actor's handlers may do. */
export class ActorContext extends ProcessContext {
  /** The reference others know this actor by. */
  get self(): ActorRef {
    return this.process.ref as ActorRef
  }

  /** Runs `fn` right after this handler (or `init`), before any message that waits (OTP: handle_continue). */
  continue(fn: () => unknown): void {
    checkFunction(fn, 'continue')
    this.#actor().continueWith(fn)
  }

  /**
   * Takes over the reply of the call that is being handled: return what this gives, and settle it whenever.
   */
  defer<T>(): Deferred<T> {
    const actor = this.#actor()
    const deferred = actor.defer()
    if (deferred === undefined)
      throw new RuntimeError('BAD_MESSAGE', `${actor.name}: defer works only while a call is handled`)
    return deferred as unknown as Deferred<T>
  }

  /**
   * Ends this actor after the handler that runs, with that reason (OTP: {stop, Reason, State}). Default
   * `normal`.
   */
  stop(reason: ExitReason = normal): void {
    checkReason(reason, 'stop')
    this.#actor().stopAfter(reason)
  }

  /**
   * Delivers `payload` to `info.timer` after `ms` milliseconds, unless cancelled or dead by then (OTP:
   * send_after).
   */
  sendAfter(ms: number, payload?: unknown): TimerRef {
    return new TimerRef(this.#actor(), ms, payload)
  }

  /**
   * As `sendAfter`, but `info.timer` is given `{ timer, payload }`, so that a stale one can be told apart
   * (OTP: start_timer).
   */
  startTimer(ms: number, payload?: unknown): TimerRef {
    return new TimerRef(this.#actor(), ms, payload, true)
  }

  /**
   * Delivers `info.timeout` unless a message comes within `ms` milliseconds of now (OTP: the timeout of a
   * return value).
   */
  idleAfter(ms: number): void {
    idleAfter(this.#actor(), ms)
  }

  /**
   * Watches another process: its end arrives once as `info.down`, at once with `noproc` if it is gone (OTP:
   * monitor).
   */
  monitor(target: ProcessRef): Monitor {
    const actor = this.#actor()
    const process = processOf(target)
    const tell = (reason: ExitReason, watch: Monitor): void =>
      actor.inform('down', { monitor: watch, process: target, reason })
    if (process.reason === null) return monitor(process, actor, tell)
    const watch = new Monitor(process, actor, tell)
    watch.fire(noproc)
    return watch
  }

  /** Takes a watch back: no `info.down` for it after this (OTP: demonitor with flush). */
  demonitor(monitor: Monitor): void {
    this.alive()
    if (!(monitor instanceof Monitor)) throw badOption('demonitor', 'what monitor returned', monitor)
    monitor.cancel()
  }

  #actor(): Actor {
    return this.alive() as Actor
  }
}

/** An actor may have any number of requests in flight that listen to its one signal: that is no leak. */
function newController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

function boundClock(process: Process): Clock {
  const { clock } = process.tree
  return {
    grain: clock.grain ?? 0,
    now: () => clock.now(),
    setTimeout(fn, ms) {
      checkFunction(fn, 'setTimeout')
      const bound = { timer: undefined as unknown, clear: () => clock.clearTimeout(bound.timer) }
      if (process.reason !== null) {
        process.tree.afterlife.refused += 1
        return bound
      }
      const { timers } = process.own
      bound.timer = clock.setTimeout(() => {
        timers.delete(bound)
        guard(process.token, fn)
      }, ms)
      timers.add(bound)
      return bound
    },
    clearTimeout(timer) {
      const bound = timer as { clear?(): void } | undefined
      if (typeof bound?.clear !== 'function') return
      bound.clear()
      process.belongings?.timers.delete(bound as { clear(): void })
    },
  }
}
