import { setMaxListeners } from 'node:events'
import { badOption, checkFunction } from '../base/check.js'
import { RuntimeError } from '../base/errors.js'
import { checkReason, checkRequest, type ExitReason, type ExitRequest, noproc, normal } from '../base/exit.js'
import { bindTo, guard } from '../faults/containment.js'
import type { Clock } from '../time/clock.js'
import type { World } from '../time/world.js'
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

/** What a process may do, bound to one incarnation. After its end every method throws ACTOR_DEAD. */
export class ProcessContext {
  protected readonly process: Process
  readonly #home: Home

  constructor(process: Process, home: Home) {
    this.process = process
    this.#home = home
  }

  static homeOf(ctx: ProcessContext): Home {
    return ctx.#home
  }

  /** Aborted when this process ends; may be read and passed on after that. */
  get signal(): AbortSignal {
    const { name, reason } = this.process
    if (reason !== null) return AbortSignal.abort(abortReason(name, reason))
    const { own } = this.process
    own.controller ??= newController()
    return own.controller.signal
  }

  /** The registry of this tree. */
  get registry(): Registry {
    return this.#home.registry
  }

  /**
   * Owns a resource until this process ends: released newest first, before a successor. Throws BAD_OPTION.
   */
  own<Resource extends Owned>(resource: Resource): Resource {
    const release = releaseOf(resource)
    // Opened by a handler whose process died meanwhile: released at once.
    if (this.process.reason !== null) void this.process.release([release])
    this.alive().owns(release)
    return resource
  }

  /** Binds a callback, such as a listener on a shared emitter, to this process's scope. Throws BAD_OPTION. */
  bind<Args extends unknown[], R>(fn: (...args: Args) => R): (...args: Args) => R | undefined {
    checkFunction(fn, 'bind')
    return bindTo(this.alive().token, fn)
  }

  /** The tree's clock, bound to this process: its timers die with it, and a throw in one crashes it. */
  get clock(): Clock {
    return this.world
  }

  /** The tree's clock, and what else chance decides: turns, random numbers, ids; bound as `clock` is. */
  get world(): World {
    return boundWorld(this.alive())
  }

  /** Links with another process: if one crashes, so does the other, unless it traps exits (OTP: link). */
  link(other: ProcessRef): void {
    link(this.alive(), processOf(other))
  }

  /** Removes a link (OTP: unlink). */
  unlink(other: ProcessRef): void {
    unlink(this.alive(), processOf(other))
  }

  /** Sends an exit signal to a process, also to itself (OTP: exit/2). Throws BAD_OPTION. */
  exit(other: ProcessRef, request: ExitRequest): void {
    checkRequest(request, 'exit')
    processOf(other).signal(this.alive(), request)
  }

  /** Starts an actor as a linked child, which ends with it (OTP: start_link). Rejects as `startActor`. */
  start<State, Input, Calls extends Messages, Casts extends Messages>(
    behaviour: Program<State, Input, Calls, Casts>,
    ...args: StartArgs<Input>
  ): Promise<ActorRef<Calls, Casts>> {
    const [input, options] = args
    const started = startProcess(this.#home, this.alive(), behaviour, input, options)
    return started as Promise<ActorRef<Calls, Casts>>
  }

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

/** What the handlers of an actor may do. */
export class ActorContext extends ProcessContext {
  /** The reference of this actor (OTP: self). */
  get self(): ActorRef {
    return this.process.ref as ActorRef
  }

  /** Runs `fn` after this handler, before other messages (OTP: handle_continue). Throws BAD_OPTION. */
  continue(fn: () => unknown): void {
    checkFunction(fn, 'continue')
    this.#actor().continueWith(fn)
  }

  /** Defers this call's reply: return the result, settle it later. Throws BAD_MESSAGE outside of a call. */
  defer<T>(): Deferred<T> {
    const actor = this.#actor()
    const deferred = actor.defer()
    if (deferred === undefined)
      throw new RuntimeError('BAD_MESSAGE', `${actor.name}: defer works only while a call is handled`)
    return deferred as unknown as Deferred<T>
  }

  /** Ends after this handler, by default as `normal` (OTP: {stop, Reason, State}). Throws BAD_OPTION. */
  stop(reason: ExitReason = normal): void {
    checkReason(reason, 'stop')
    this.#actor().stopAfter(reason)
  }

  /** Sends `payload` to `info.timer` after `ms` milliseconds (OTP: send_after). Throws BAD_OPTION. */
  sendAfter(ms: number, payload?: unknown): TimerRef {
    return new TimerRef(this.#actor(), ms, payload)
  }

  /** As `sendAfter`; `info.timer` gets `{ timer, payload }`, to tell a stale one (OTP: start_timer). */
  startTimer(ms: number, payload?: unknown): TimerRef {
    return new TimerRef(this.#actor(), ms, payload, true)
  }

  /** Sends `info.timeout` unless a message comes within `ms` (OTP: timeout of a return value). */
  idleAfter(ms: number): void {
    idleAfter(this.#actor(), ms)
  }

  /** Monitors a process: its end is one `info.down`, with `noproc` if it was gone (OTP: monitor). */
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

  /** Removes a monitor: no `info.down` after this (OTP: demonitor with flush). Throws BAD_OPTION. */
  demonitor(monitor: Monitor): void {
    this.alive()
    if (!(monitor instanceof Monitor)) throw badOption('demonitor', 'what monitor returned', monitor)
    monitor.cancel()
  }

  #actor(): Actor {
    return this.alive() as Actor
  }
}

/** Any number of requests may listen to this one signal: that is no leak. */
function newController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** The world of the tree: its timers outlive the process, for what is cleaned up after its end. */
export function lastingWorld(world: World): World {
  return (world as Partial<BoundWorld>)[unbound] ?? world
}

const unbound = Symbol('unbound')

interface BoundWorld extends World {
  readonly [unbound]: World
}

function boundWorld(process: Process): BoundWorld {
  const { world } = process.tree
  return {
    ...world,
    [unbound]: world,
    setTimeout(fn, ms) {
      checkFunction(fn, 'setTimeout')
      const bound = { timer: undefined as unknown, clear: () => world.clearTimeout(bound.timer) }
      if (process.reason !== null) {
        process.tree.afterlife.refused += 1
        return bound
      }
      const { own } = process
      bound.timer = world.setTimeout(() => {
        own.timers.delete(bound)
        guard(process.token, fn)
      }, ms)
      own.keepTimer(bound)
      return bound
    },
    clearTimeout(timer) {
      const bound = timer as { clear?(): void } | undefined
      if (typeof bound?.clear !== 'function') return
      bound.clear()
      process.extras?.timers.delete(bound as { clear(): void })
    },
  }
}
