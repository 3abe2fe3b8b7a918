import { checkName } from '../base/check.js'
import { RuntimeError, optionError, show } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { handled } from '../base/promise.js'
import { currentOwner } from '../faults/containment.js'
import { checkMs, type Clock, systemClock } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import type { Actor } from './actor.js'
import { refused } from './call.js'
import {
  fence,
  type HeldName,
  type Process,
  type ProcessRef,
  processOf,
  type Slot,
  slotThatDecides,
} from './process.js'
import type { InputOf, Messages, Program, ReplyOf } from './program.js'
import { type ActorRef, type CallOptions, callActor, type MessageArgs, wrongOptions } from './ref.js'

/**
 * What is known of a name: being started (or started again), up, ended for good with the reason, or never
 * heard of.
 */
export type NameState =
  | { readonly state: 'starting' }
  | { readonly state: 'up'; readonly ref: ActorRef }
  | { readonly state: 'ended'; readonly reason: ExitReason }
  | { readonly state: 'unknown' }

/** What a registry knows of a name; whoever holds it has this among its belongings. */
interface NameEntry extends HeldName {
  process: Process | null
  isUp: boolean
  /** Who decides whether the name comes back, while nobody holds it. */
  slot: Slot | null
  ended: ExitReason | null
  readonly waiters: Set<() => void>
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
    const entry = this.claim(name, process)
    if ((process as Actor).phase !== 'starting') entry.rise()
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
    names?.splice(names.indexOf(entry), 1)
    this.#entries.delete(name)
    wake(entry)
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
    if (entry.process === null || !entry.isUp) return { state: 'starting' }
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
  ): B extends Program<infer _S, infer _I, infer Calls, infer Casts> ? NamedRef<Calls, Casts> : NamedRef {
    return new NamedRef<Messages, Messages>(this, name) as never
  }

  /**
   * Resolves with the actor once the name is up. Rejects with NOPROC (no process has or will have it),
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
      entry.waiters.add(look)
      return () => void entry.waiters.delete(look)
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
    checkName(name)
    const entry = this.#entries.get(name)
    if (entry?.process != null) {
      throw new RuntimeError('ALREADY_STARTED', `${show(name)} is the name of a living process already`, {
        data: { ref: entry.process.ref },
      })
    }
  }

  /** For the runtime: a process takes a name while it starts. */
  claim(name: string, process: Process): HeldName {
    this.vacancy(name)
    this.#ended.delete(name)
    const entry = this.#entries.get(name) ?? this.#enter(name)
    Object.assign(entry, { process, isUp: false, slot: null, ended: null })
    process.own.names.push(entry)
    return entry
  }

  #enter(name: string): NameEntry {
    const entry: NameEntry = {
      name,
      process: null,
      isUp: false,
      slot: null,
      ended: null,
      waiters: new Set(),
      rise: () => {
        entry.isUp = true
        wake(entry)
      },
      lost: (reason) => {
        const slot = entry.process && slotThatDecides(entry.process)
        entry.process = null
        entry.isUp = false
        this.#wait(entry, reason, slot)
      },
    }
    this.#entries.set(name, entry)
    return entry
  }

  /** Lets a name wait for what is decided in `slot`; without one, nobody will bring it back. */
  #wait(entry: NameEntry, reason: ExitReason, slot: Slot | null): void {
    entry.slot = slot
    if (slot === null) return this.#end(entry, reason)
    slot.keep(entry, (why, above) => {
      if (entry.process === null && entry.slot === slot) this.#wait(entry, why, above)
    })
  }

  #end(entry: NameEntry, reason: ExitReason): void {
    entry.ended = reason
    wake(entry)
    this.#ended.add(entry.name)
    if (this.#ended.size <= remembered) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      this.#entries.delete(oldest)
      return
    }
  }
}

function wake({ waiters }: NameEntry): void {
  for (const look of [...waiters]) look()
}

/**
 * Reaches whoever holds a name when a message is sent; survives restarts, as an ActorRef does not (OTP: via
 * tuple).
 */
export class NamedRef<
  Calls extends Messages = Record<never, never>,
  Casts extends Messages = Record<never, never>,
> {
  readonly name: string
  readonly #registry: Registry

  constructor(registry: Registry, name: string) {
    this.#registry = registry
    this.name = name
  }

  /** The incarnation that holds the name now, if any. */
  get current(): ActorRef<Calls, Casts> | undefined {
    return this.#registry.whereis(this.name) as ActorRef<Calls, Casts> | undefined
  }

  /**
   * As `ActorRef.call`, with one deadline over waiting for the name and for the reply. Between two
   * incarnations it waits for the next. Rejects with GAVE_UP once the name has ended for good, and NOPROC if
   * no process ever had it.
   */
  call<Name extends keyof Calls & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
  ): Promise<ReplyOf<Calls[Name]>> {
    const [input, options] = args
    return this.#call(name, input, options) as Promise<ReplyOf<Calls[Name]>>
  }

  /** As `ActorRef.cast`: false when nobody holds the name now. */
  cast<Name extends keyof Casts & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Casts[Name]>, never>
  ): boolean {
    return this.current?.cast(name, ...args) ?? false
  }

  /**
   * As `ActorRef.send`, but throws NOPROC or GAVE_UP when nobody holds the name (OTP: a bare send to an
   * unknown name is badarg).
   */
  send(message: unknown): boolean {
    const { current } = this
    if (current === undefined) {
      const known = this.#registry.state(this.name)
      if (known.state === 'starting') return false
      throw goneError(this.name, known)
    }
    return current.send(message)
  }

  #call(name: string, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    const actor = this.#holder()
    if (actor !== undefined) return callActor(actor, name, input, options)
    const wrong = options === undefined ? undefined : wrongOptions(options)
    return wrong === undefined ? handled(this.#callWhenUp(name, input, options ?? {})) : refused(wrong)
  }

  async #callWhenUp(name: string, input: unknown, { timeout = 5_000 }: CallOptions): Promise<unknown> {
    const clock = this.#registry.clockOf(this.name)
    const deadline = clock.now() + timeout
    let left = timeout
    // The one that comes up may be gone again before this goes on: then the wait does, too.
    while (true) {
      await this.#registry.whenUp(this.name, left)
      left = Math.max(0, Math.ceil(deadline - clock.now()))
      const actor = this.#holder()
      if (actor !== undefined) return callActor(actor, name, input, { timeout: left })
    }
  }

  /**
   * Who takes a call now: the actor that is up, or the caller itself while it starts, which is refused as a
   * call to itself.
   */
  #holder(): Actor | undefined {
    const known = this.#registry.state(this.name)
    if (known.state === 'up') return processOf(known.ref) as Actor
    const { current } = this
    const actor = current === undefined ? undefined : (processOf(current) as Actor)
    return actor !== undefined && actor.token === currentOwner() ? actor : undefined
  }
}

/** The error for a name that did not come up in time; nothing was sent. */
export function notUpError(name: string, ms: number): RuntimeError {
  const message = `${show(name)} was not up within ${ms} ms`
  return new RuntimeError('TIMEOUT', message, { retryable: true, data: { name, ms, sent: false } })
}

/** The error for a name that nobody holds: GAVE_UP when it ended for good, NOPROC when it was never there. */
export function goneError(name: string, known: NameState): RuntimeError {
  if (known.state !== 'ended')
    return new RuntimeError('NOPROC', `nobody is called ${show(name)}`, { data: { name, sent: false } })
  const { reason } = known
  return new RuntimeError('GAVE_UP', `${show(name)} has ended for good (${formatReason(reason)})`, {
    data: { name, reason, sent: false },
    ...(reason.type === 'crash' ? { cause: reason.error } : {}),
  })
}
