import type { Actor } from './actor.js'
import type { Behaviour, Handlers } from './behaviour.js'
import { type Clock, checkMs, systemClock } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { RuntimeError, show, optionError } from '../base/errors.js'
import type { ExitReason } from '../base/exit.js'
import { goneError, type NameState, NamedRef, notUpError } from './named-ref.js'
import type { Process } from './process.js'
import { handled } from '../base/promise.js'
import { type ActorRef, fence, type ProcessRef, processOf } from './ref.js'
import { type Slot, slotThatDecides } from './slot.js'

interface NameEntry {
  process: Process | null
  up: boolean
  /** Who decides whether the name comes back, while nobody holds it. */
  slot: Slot | null
  ended: ExitReason | null
  waiters: Set<() => void> | null
}

/** How many ended names are remembered with their reason. */
const remembered = 1_000

/**
 * Names of processes, each held by one process at a time (OTP: Registry with unique keys, local names). Names
 * resolve when a message is sent, so they survive restarts; references do not.
 */
export class Registry {
  readonly #entries = new Map<string, NameEntry>()
  readonly #ended = new Set<string>()

  /**
   * Gives a living actor a name, until it ends; up at once, or when its `init` is done. Throws
   * ALREADY_STARTED (`data.ref` has it), NOPROC, BAD_OPTION for what is no actor, or ACTOR_DEAD when a dead
   * incarnation asks.
   */
  register(name: string, ref: ProcessRef): void {
    const process = processOf(ref)
    if (process.kind === 'task')
      throw optionError('ref', `register ${show(name)}: expected a reference to an actor, got a task`)
    if (process.reason !== null)
      throw new RuntimeError('NOPROC', `register ${show(name)}: ${process.name} has ended`)
    fence(process)
    this.claim(name, process)
    if ((process as Actor).phase !== 'starting') this.rise(name, process)
  }

  /**
   * Takes a name back from its living holder: nobody has it then, as if it had never been; unknown names are
   * ignored.
   */
  unregister(name: string): void {
    const entry = this.#entries.get(name)
    if (entry?.process == null) return
    fence(entry.process)
    const names = entry.process.belongings?.names
    names?.splice(names.indexOf(name), 1)
    this.#entries.delete(name)
    this.#wake(entry)
  }

  /** The actor that holds the name now, also while it starts; undefined when there is none (OTP: whereis). */
  whereis(name: string): ActorRef | undefined {
    return this.#entries.get(name)?.process?.ref as ActorRef | undefined
  }

  /** What is known of a name. */
  state(name: string): NameState {
    const entry = this.#entries.get(name)
    if (entry === undefined) return { state: 'unknown' }
    if (entry.ended !== null) return { state: 'ended', reason: entry.ended }
    if (entry.process === null || !entry.up) return { state: 'starting' }
    return { state: 'up', ref: entry.process.ref as ActorRef }
  }

  /** All names that are starting or up. */
  names(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.ended === null).map(([name]) => name)
  }

  /**
   * A reference by name, typed by the behaviour that is expected behind it:
   * `registry.named<typeof counter>('counter')`. It finds the current incarnation at every send, and waits
   * for the next one while that is being started.
   */
  named<B>(
    name: string,
  ): B extends Behaviour<infer _S, infer _I, infer Calls, infer Casts> ? NamedRef<Calls, Casts> : NamedRef {
    return new NamedRef<Handlers<never>, Handlers<never>>(this, name) as never
  }

  /**
   * Resolves with the actor once the name is up. Rejects with NOPROC (nobody has it, nobody starts it),
   * GAVE_UP (it ended for good; `data.reason`) or TIMEOUT after `timeout` ms (default 5000) of the clock of
   * the tree that starts it.
   */
  whenUp(name: string, timeout = 5_000): Promise<ActorRef> {
    const late = (): never => {
      throw notUpError(name, timeout)
    }
    const up = waitWithin<ActorRef>({ clock: this.clockOf(name), ms: timeout, late }, (resolve, reject) => {
      checkMs(timeout, 'timeout')
      const look = (): void => {
        const known = this.state(name)
        if (known.state === 'up') resolve(known.ref)
        else if (known.state !== 'starting') reject(goneError(name, known))
      }
      look()
      const entry = this.#entries.get(name)
      if (entry === undefined || this.state(name).state !== 'starting') return undefined
      entry.waiters ??= new Set()
      entry.waiters.add(look)
      return () => void entry.waiters?.delete(look)
    })
    return handled(up)
  }

  /**
   * For the runtime: the clock of the tree that has a name, or will have it; the machine's when there is
   * none.
   */
  clockOf(name: string): Clock {
    const entry = this.#entries.get(name)
    return (entry?.process ?? entry?.slot?.supervisor)?.tree.clock ?? systemClock
  }

  /** For the runtime: throws unless a process that is about to start could take the name. */
  vacancy(name: string): void {
    if (typeof name !== 'string' || name === '')
      throw optionError('name', `name: expected a non-empty string, got ${show(name)}`)
    const entry = this.#entries.get(name)
    if (entry?.process != null) {
      throw new RuntimeError('ALREADY_STARTED', `${show(name)} is the name of a living process already`, {
        data: { ref: entry.process.ref },
      })
    }
  }

  /** For the runtime: a process takes a name while it starts. */
  claim(name: string, process: Process): void {
    this.vacancy(name)
    const entry = this.#entries.get(name)
    this.#ended.delete(name)
    this.#entries.set(name, { process, up: false, slot: null, ended: null, waiters: entry?.waiters ?? null })
    process.own.names.push(name)
  }

  /** For the runtime: the process behind a name is up. */
  rise(name: string, process: Process): void {
    const entry = this.#entries.get(name)
    if (entry?.process !== process) return
    entry.up = true
    this.#wake(entry)
  }

  /** For the runtime: the holder has ended; its supervisor may bring the name back. */
  release(name: string, process: Process, reason: ExitReason): void {
    const entry = this.#entries.get(name)
    if (entry?.process !== process) return
    const slot = slotThatDecides(process)
    if (slot === null) return this.#end(name, entry, reason)
    entry.process = null
    entry.up = false
    entry.slot = slot
    slot.keep(name)
  }

  /** For the runtime: nobody will bring the name back. */
  abandon(name: string, slot: Slot, reason: ExitReason): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined && entry.process === null && entry.slot === slot) this.#end(name, entry, reason)
  }

  /** For the runtime: somebody further up decides about the name now. */
  moveWait(name: string, from: Slot, to: Slot): void {
    const entry = this.#entries.get(name)
    if (entry === undefined || entry.process !== null || entry.slot !== from) return
    entry.slot = to
    to.keep(name)
  }

  #end(name: string, entry: NameEntry, reason: ExitReason): void {
    entry.process = null
    entry.slot = null
    entry.ended = reason
    this.#wake(entry)
    this.#ended.add(name)
    if (this.#ended.size <= remembered) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      this.#entries.delete(oldest)
      return
    }
  }

  #wake(entry: NameEntry): void {
    if (entry.waiters !== null) for (const look of [...entry.waiters]) look()
  }
}
